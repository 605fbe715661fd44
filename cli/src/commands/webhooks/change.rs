//! `licctl webhooks create`, `update`, `enable`, `disable` and `roll`.

use common::{
    CreateWebhook, EventPattern, Line, OverlapSeconds, RollKey, UpdateWebhook, WebhookField,
    WebhookSecret, WebhookUrl,
};

use super::WebhookArg;
use crate::client::{CreatedWebhook, Webhook};
use crate::commands::keys::overlap;
use crate::commands::prelude::*;
use crate::noun::{Edit, cleared, is_empty};

/// Send events to an address, and print the secret that signs them once
///
/// The receiver verifies signatures with the secret, by Standard Webhooks. Events from now on are
/// sent. A replay sends earlier ones.
#[derive(Args)]
pub struct CreateArgs {
    /// https URL to which events are sent
    #[arg(long, value_name = "ADDRESS")]
    url: Option<WebhookUrl>,
    /// Send only events of this type, such as seat.taken or license.* (repeatable, or
    /// comma-separated) [default: all]
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<EventPattern>,
    /// Description of the webhook, one line
    #[arg(long, value_name = "TEXT")]
    description: Option<Line>,
    /// Use a secret that the receiver has already, from a prompt or stdin
    #[arg(long)]
    existing_secret: bool,
}

#[derive(Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    webhook: WebhookArg,
    /// New https URL
    #[arg(long, value_name = "ADDRESS")]
    url: Option<WebhookUrl>,
    /// Send only events of this type instead (repeatable, or comma-separated); all for every type
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<Types>,
    /// New description, or none
    #[arg(long, value_name = "TEXT or none")]
    description: Option<Edit<Line>>,
}

/// Replace the secret of a webhook, and print the new one once
///
/// The old secret signs too during the overlap, so that you can update the receiver.
#[derive(Args)]
pub struct RollArgs {
    #[command(flatten)]
    webhook: WebhookArg,
    /// Time for which the old secret signs too, up to 30d; 0 ends all old secrets immediately
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = overlap)]
    overlap: OverlapSeconds,
}

#[derive(Clone)]
enum Types {
    All,
    One(EventPattern),
}

impl std::str::FromStr for Types {
    type Err = common::Invalid;

    fn from_str(text: &str) -> std::result::Result<Self, common::Invalid> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

pub async fn create(ctx: &Context, args: CreateArgs) -> Result<View> {
    ctx.prompts.require(&[("--url", args.url.is_some())])?;
    let url = ctx.prompts.given_or_text(args.url, "URL of the receiver", "--url")?;
    let secret = if args.existing_secret { Some(read_secret(ctx).await?) } else { None };
    let is_made = secret.is_none();
    let types = (!args.types.is_empty()).then_some(args.types);
    let body = CreateWebhook { url, description: args.description, types, secret };
    let made = ctx.client().await?.webhooks().create(&body).await;
    let Some(made) = made.map_err(lost)? else { return Ok(View::planned()) };
    let id = made.data.record.id;
    let done = match is_made {
        true => format!("Created webhook {id}. Save the secret now; it is not shown again."),
        false => format!("Created webhook {id}."),
    };
    Ok(shown(&made.data, done)?.next(format!("licctl webhooks test {id}")))
}

async fn read_secret(ctx: &Context) -> Result<WebhookSecret> {
    let text = ctx.read_secret("Secret").await?;
    text.trim().parse().map_err(|error| Error::usage(format!("The secret {error}.")))
}

/// The view of a new secret. `-q` prints only the secret.
fn shown(made: &ApiRecord<CreatedWebhook>, done: String) -> Result<View> {
    let (id, secret) = (made.record.id, made.secret.expose().to_string());
    let view = View::new(made, vec![secret.clone()])?.line(TextCell::word(secret.clone(), secret));
    let view = view.fields(&[ApiRecord::<Webhook>::FIELDS, "secret"]);
    let failed = format!("Webhook {id} sends, but its secret is lost.");
    Ok(view.changed(done).on_print_failure(failed, format!("licctl webhooks roll {id}")))
}

/// Adds what a request without a response may have done: a secret is shown only once.
fn lost(error: Error) -> Error {
    if error.had_no_effect() {
        return error;
    }
    error
        .because("The secret may have been made, and is lost.")
        .fix("run licctl webhooks list, and roll the newest one")
}

pub async fn update(ctx: &Context, args: UpdateArgs) -> Result<View> {
    let clears_types = args.types.iter().any(|it| matches!(it, Types::All));
    let types: Vec<EventPattern> = args.types.into_iter().filter_map(Types::one).collect();
    if clears_types && !types.is_empty() {
        return Err(Error::usage("--type all cannot be combined with others."));
    }
    let body = UpdateWebhook {
        url: args.url,
        description: Edit::value(&args.description),
        types: (!types.is_empty()).then_some(types),
        enabled: None,
        clear: cleared([
            Edit::clears(&args.description, WebhookField::Description),
            clears_types.then_some(WebhookField::Types),
        ]),
    };
    if is_empty(&body) {
        return Err(Error::usage("Nothing to change.").fix("use --url, --type or --description"));
    }
    let webhook = args.webhook.find(ctx, Purpose::Write).await?;
    let webhooks = ctx.client().await?.webhooks();
    let updated = webhooks.update(webhook.id, &body, ctx.seen(webhook.updated_at)).await?;
    noun::written(ctx, updated, |view, now| view.changed(format!("Updated webhook {}.", now.id)))
        .await
}

impl Types {
    fn one(self) -> Option<EventPattern> {
        match self {
            Self::All => None,
            Self::One(pattern) => Some(pattern),
        }
    }
}

pub async fn switch(ctx: &Context, webhook: &WebhookArg, on: bool) -> Result<View> {
    let webhook = webhook.find(ctx, Purpose::Write).await?;
    let body = UpdateWebhook { enabled: Some(on), ..UpdateWebhook::default() };
    let updated = ctx.client().await?.webhooks().update(webhook.id, &body, None).await?;
    noun::written(ctx, updated, |view, now| match on {
        true => view.changed(format!("Enabled webhook {}. It gets what it missed.", now.id)),
        false => view.changed(format!("Disabled webhook {}.", now.id)),
    })
    .await
}

pub async fn roll(ctx: &Context, args: RollArgs) -> Result<View> {
    let id = args.webhook.find(ctx, Purpose::Write).await?.id;
    if args.overlap.get() == 0 {
        let question =
            "Replace the secret immediately? The receiver refuses events until it has the new one.";
        ctx.confirm_loss(question).await?;
    }
    let body = RollKey { overlap_seconds: Some(args.overlap) };
    let rolled = ctx.client().await?.webhooks().roll(id, &body).await;
    let Some(rolled) = rolled.map_err(lost)? else { return Ok(View::planned()) };
    shown(&rolled.data, format!("Rolled webhook {id}. Save the secret now; it is not shown again."))
}

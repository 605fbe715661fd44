//! `licctl webhooks`: where events are sent, how that goes, and what to do about it. The secret of a
//! new one is shown once, on stdout, and nowhere else.

mod change;
mod listen;
mod send;

use common::{DisabledReason, Line, Open, WebhookFailure, WebhookState};

use crate::client::Webhook;
use crate::commands::prelude::*;
use crate::noun::{Card, ListFlags};

impl Named for ApiRecord<Webhook> {
    const NOUN: &str = "webhook";
    fn id(&self) -> String {
        self.id.to_string()
    }
    fn name(&self) -> &str {
        self.description.as_ref().map_or("", Line::as_str)
    }
    fn about(&self) -> String {
        self.url.clone()
    }
    fn label(&self) -> String {
        format!("{} {} {}", self.id, self.url, self.name()).trim_end().to_owned()
    }
    fn is_also(&self, given: &str) -> bool {
        self.url == given
    }
}

impl Shown for ApiRecord<Webhook> {
    const CELLS: Cells<Self> = &[
        (Column::new("ID", 0), |it, _, _| TextCell::of(it.id)),
        (Column::flexible("URL", 1), |it, _, _| TextCell::text(&it.url)),
        (Column::kept("STATE"), |it, _, _| state(it)),
        (Column::new("PENDING", 2), |it, _, _| TextCell::of(it.pending)),
        (Column::new("HELD", 3), |it, _, _| TextCell::of(it.held)),
        (Column::new("GIVEN UP", 2), |it, _, _| given_up(it)),
        (Column::new("LAST SUCCESS", 4), |it, ctx, _| {
            TextCell::time_or("never", it.last_success_at, ctx.now)
        }),
        (Column::extra("DESCRIPTION"), |it, _, _| TextCell::maybe(it.description.as_ref())),
    ];
    const FIELDS: &'static str = "id url description types state disabledReason secretMissing \
        sequence pending held givenUp firstGivenUp failingSince nextAttemptAt lastSuccessAt \
        lastStatus oldSecretUntil createdAt updatedAt";
    const CREATE: &'static str = "licctl webhooks create --url URL";

    fn card(&self, ctx: &Context, _: &NameIndex) -> Card {
        let types = self.types.as_ref().map_or_else(|| "all".to_owned(), |types| types.join(", "));
        let time = |time| TextCell::time_or("", time, ctx.now);
        vec![
            ("webhook", TextCell::of(self.id)),
            ("url", TextCell::text(&self.url)),
            ("description", TextCell::maybe(self.description.as_ref())),
            ("types", TextCell::text(types)),
            ("state", state(self)),
            ("pending events", TextCell::of(self.pending)),
            ("held subjects", TextCell::of(self.held)),
            ("events given up", given_up(self)),
            ("failing since", time(self.failing_since)),
            ("next attempt", time(self.next_attempt_at)),
            ("last success", TextCell::time_or("never", self.last_success_at, ctx.now)),
            ("last status", TextCell::maybe(self.last_status)),
            ("old secret until", time(self.old_secret_until)),
            ("created", TextCell::past(self.created_at, ctx.now)),
        ]
    }
}

fn state(webhook: &Webhook) -> TextCell {
    if webhook.secret_missing {
        return TextCell::text("secret missing").toned(Tone::Bad);
    }
    let (word, tone) = match (&webhook.state, &webhook.disabled_reason) {
        (Open::Known(WebhookState::Healthy), _) => ("healthy".to_owned(), Tone::Good),
        (Open::Known(WebhookState::Failing), _) => ("failing".to_owned(), Tone::Bad),
        (_, Some(Open::Known(DisabledReason::ByHand))) => ("disabled".to_owned(), Tone::Warning),
        (state, Some(reason)) => (format!("{state} ({reason})"), Tone::Bad),
        (state, None) => (state.to_string(), Tone::Warning),
    };
    TextCell::text(word).toned(tone)
}

fn given_up(webhook: &Webhook) -> TextCell {
    let cell = TextCell::of(webhook.given_up);
    if webhook.given_up > 0 { cell.toned(Tone::Bad) } else { cell }
}

impl Named for ApiRecord<WebhookFailure> {
    const NOUN: &str = "failure";
    fn id(&self) -> String {
        self.id.to_string()
    }
}

impl Shown for ApiRecord<WebhookFailure> {
    const CELLS: Cells<Self> = &[
        (Column::new("AT", 0), |it, ctx, _| TextCell::past(it.at, ctx.now)),
        (Column::new("SEQUENCE", 0), |it, _, _| TextCell::of(it.sequence)),
        (Column::new("EVENT", 3), |it, _, _| TextCell::maybe(it.event)),
        (Column::new("ATTEMPT", 2), |it, _, _| TextCell::of(it.attempt)),
        (Column::new("ERROR", 0), |it, _, _| TextCell::of(&it.error).toned(Tone::Bad)),
        (Column::new("STATUS", 1), |it, _, _| TextCell::maybe(it.status)),
        (Column::new("GIVEN UP", 1), |it, _, _| {
            TextCell::text(if it.gave_up { "yes" } else { "" })
        }),
        (Column::flexible("ANSWER", 4), |it, _, _| TextCell::maybe(it.response.as_ref())),
    ];
    const FIELDS: &'static str =
        "id event sequence attempt gaveUp error status response durationMs at";
}

#[derive(Subcommand)]
pub enum Verb {
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show a webhook
    #[command(visible_alias = "show")]
    Get(WebhookArg),
    #[command(visible_alias = "new")]
    Create(change::CreateArgs),
    /// Change where events are sent, or which
    Update(change::UpdateArgs),
    /// Send again, with what was missed
    Enable(WebhookArg),
    /// Send nothing until it is enabled again
    Disable(WebhookArg),
    /// Delete a webhook
    Delete(WebhookArg),
    Roll(change::RollArgs),
    /// Send a test event, and show the answer
    Test(WebhookArg),
    Resend(send::ResendArgs),
    Replay(send::ReplayArgs),
    /// Send the events that were given up again, and what followed them
    Retry(WebhookArg),
    Failures(FailuresArgs),
    Listen(listen::ListenArgs),
}

/// List webhooks, and how they do
#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    flags: ListFlags,
    /// Exit with 10 if one is failing, disabled, or gave events up
    #[arg(long)]
    check: bool,
}

#[derive(Args)]
pub struct WebhookArg {
    /// Webhook id, URL or description
    webhook: Option<String>,
}

impl WebhookArg {
    async fn find(&self, ctx: &Context, purpose: Purpose) -> Result<ApiRecord<Webhook>> {
        noun::given_or_chosen::<Webhook>(ctx, self.webhook.as_deref(), purpose).await
    }
}

/// List the attempts that failed, newest first
#[derive(Args)]
pub struct FailuresArgs {
    #[command(flatten)]
    webhook: WebhookArg,
    #[command(flatten)]
    flags: ListFlags,
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(args) => list(ctx, &args).await,
        Verb::Get(it) => noun::get::<Webhook>(ctx, it.webhook.as_deref()).await,
        Verb::Create(args) => change::create(ctx, args).await,
        Verb::Update(args) => change::update(ctx, args).await,
        Verb::Enable(it) => change::switch(ctx, &it, true).await,
        Verb::Disable(it) => change::switch(ctx, &it, false).await,
        Verb::Delete(it) => noun::delete::<Webhook>(ctx, it.webhook.as_deref()).await,
        Verb::Roll(args) => change::roll(ctx, args).await,
        Verb::Test(it) => send::test(ctx, &it).await,
        Verb::Resend(args) => send::resend(ctx, args).await,
        Verb::Replay(args) => send::replay(ctx, args).await,
        Verb::Retry(it) => send::retry(ctx, &it).await,
        Verb::Failures(args) => failures(ctx, args).await,
        Verb::Listen(args) => listen::run(ctx, args).await,
    }
}

async fn list(ctx: &Context, args: &ListArgs) -> Result<View> {
    if !args.check {
        return noun::list_all::<Webhook>(ctx, &args.flags).await;
    }
    let all = noun::all::<Webhook>(ctx).await?;
    let view = noun::several(ctx, &all, &NameIndex::default())?;
    let is_fine = !all.iter().any(|webhook| webhook.needs_attention());
    Ok(if is_fine { view } else { view.exit(Exit::Negative) })
}

async fn failures(ctx: &Context, args: FailuresArgs) -> Result<View> {
    let webhook = args.webhook.find(ctx, Purpose::Read).await?;
    let pages = ctx.client().await?.webhooks().failures(webhook.id, args.flags.limit());
    noun::list(ctx, &args.flags, false, pages, "No failures in the last 30 days.").await
}

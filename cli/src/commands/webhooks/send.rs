//! `licctl webhooks test`, `resend`, `replay` and `retry`.

use common::{Delivery, EventId, Open, ReplayWebhook, ResendEvent, WebhookError, WebhookId};

use super::WebhookArg;
use crate::client::Written;
use crate::commands::prelude::*;
use crate::output::Span;

/// Send a recorded event again, and show the answer
#[derive(Args)]
pub struct ResendArgs {
    /// Webhook id, URL or description
    webhook: String,
    /// Event id
    event: EventId,
}

/// Send all events after a sequence, or of a period, again
///
/// With --latest nothing of what was missed is sent.
#[derive(Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    webhook: WebhookArg,
    #[command(flatten)]
    from: From,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct From {
    /// Begin with the event after this sequence
    #[arg(long, value_name = "SEQUENCE")]
    after: Option<i64>,
    /// Begin this long ago, such as 2h or 3d
    #[arg(long, value_name = "SPAN")]
    since: Option<Span>,
    /// Skip missed events
    #[arg(long)]
    latest: bool,
}

pub async fn test(ctx: &Context, webhook: &WebhookArg) -> Result<View> {
    let id = webhook.find(ctx, Purpose::Write).await?.id;
    let sent = ctx.client().await?.webhooks().test(id).await?;
    answered(sent, id, "a test event")
}

pub async fn resend(ctx: &Context, args: ResendArgs) -> Result<View> {
    let webhook = WebhookArg { webhook: Some(args.webhook) };
    let id = webhook.find(ctx, Purpose::Write).await?.id;
    let body = ResendEvent { event: args.event };
    let sent = ctx.client().await?.webhooks().resend(id, &body).await?;
    answered(sent, id, &args.event.to_string())
}

/// Shows the response to a test delivery. Exits with 10 if the event was not accepted.
fn answered(sent: Option<Written<ApiRecord<Delivery>>>, id: WebhookId, what: &str) -> Result<View> {
    let Some(Written { data, .. }) = sent else { return Ok(View::planned()) };
    let status = data.status.map_or_else(String::new, |status| format!(" {status}"));
    let (word, tone) = match &data.error {
        None => (format!("delivered:{status}"), Tone::Good),
        Some(error) => (format!("not delivered: {error}{status}"), Tone::Bad),
    };
    let is_redirect = data.error == Some(Open::Known(WebhookError::Redirect));
    let target = data.response.as_ref().filter(|_| is_redirect);
    let target = target.map_or_else(String::new, |target| format!(": it {target}"));
    let word = format!("{word} ({} ms){target}", data.duration_ms);
    let view = View::new(&data, vec![word.clone()])?;
    let view = view.fields(&["delivered event error status response durationMs"]);
    let view = view.line(TextCell::text(word).toned(tone));
    Ok(match data.delivered {
        true => view.changed(format!("Sent {what} to webhook {id}.")),
        false => view.exit(Exit::Negative).next(format!("licctl webhooks get {id}")),
    })
}

pub async fn replay(ctx: &Context, args: ReplayArgs) -> Result<View> {
    let webhook = args.webhook.find(ctx, Purpose::Write).await?;
    let From { after, since, latest } = args.from;
    let last = webhook.sequence + webhook.pending;
    let body = ReplayWebhook {
        after: after.or(latest.then_some(last)),
        since: since.map(|span| ctx.now.plus(-span.delta())),
    };
    if latest {
        let pending = webhook.pending;
        ctx.confirm_loss(&format!("Skip the {pending} events that it has not been sent?")).await?;
    }
    let replayed = ctx.client().await?.webhooks().replay(webhook.id, &body).await?;
    noun::written(ctx, replayed, |view, now| {
        view.changed(format!("Webhook {} goes on after event {}.", now.id, now.sequence))
    })
    .await
}

pub async fn retry(ctx: &Context, webhook: &WebhookArg) -> Result<View> {
    let id = webhook.find(ctx, Purpose::Write).await?.id;
    let retried = ctx.client().await?.webhooks().retry(id).await?;
    let Some(Written { data, .. }) = retried else { return Ok(View::planned()) };
    let done = match data.subjects {
        0 => "Nothing was given up.".to_owned(),
        1 => "The events of 1 subject are sent again.".to_owned(),
        many => format!("The events of {many} subjects are sent again."),
    };
    let view = View::new(&data, vec![data.subjects.to_string()])?.fields(&["subjects"]);
    Ok(view.line(TextCell::text(done)).next(format!("licctl webhooks get {id}")))
}

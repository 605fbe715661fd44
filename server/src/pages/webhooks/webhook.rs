//! The page of a webhook: how it does, what was not taken, and the forms for what to do about it.

use askama::Template;
use axum::response::Response;
use chrono::TimeDelta;
use common::{
    Delivery, EventId, Line, OverlapSeconds, ReplayWebhook, RollKey, Timestamp, UpdateWebhook,
    Webhook, WebhookFailure, WebhookField, WebhookId,
};
use serde::{Deserialize, Serialize};

use super::{WebhookForm, elsewhere, shown, state, types};
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::http::idempotency::Idempotency;
use crate::ops::outcome::{Changed, Created};
use crate::ops::webhooks;
use crate::pages::{
    Done, Editor, FormError, FormState, Layout, Notice, OVERLAPS, Stop, Viewer, Visitor, cleared,
    counted, filters, once, page, required,
};
use crate::store::Page;

/// Number of failures that the page shows.
const FAILURES: i64 = 20;
/// The choices for what is sent again: the value in the form, in hours, and the label.
const RANGES: [(&str, &str); 3] =
    [("1", "of the last hour"), ("24", "of the last 24 hours"), ("168", "of the last 7 days")];

#[derive(Template)]
#[template(path = "webhook.html")]
struct WebhookPage {
    layout: Layout,
    webhook: Webhook,
    failures: Vec<WebhookFailure>,
    form: FormState<WebhookForm>,
    once: String,
}

pub async fn get(Viewer(visitor): Viewer, Id(id): Id<WebhookId>) -> Result<Response, Error> {
    show(visitor, id, None, FormError::default()).await
}

/// Shows the webhook; `sent` is the form for it, if that was refused.
async fn show(
    visitor: Visitor,
    id: WebhookId,
    sent: Option<WebhookForm>,
    error: FormError,
) -> Result<Response, Error> {
    let view = visitor.view();
    let webhook = webhooks::get(view.clone(), &visitor.app.secrets, visitor.key.role, id).await?;
    let newest = Page::newest_first(None, FAILURES);
    let failures = webhooks::failures(view, id, newest).await?.records;
    let fields = sent.unwrap_or_else(|| WebhookForm::of(&webhook));
    let form = FormState { fields, error };
    let (layout, once, status) = (visitor.layout, once(), form.error.status());
    page(status, &WebhookPage { layout, webhook, failures, form, once })
}

impl WebhookForm {
    fn of(webhook: &Webhook) -> Self {
        Self {
            url: webhook.url.clone(),
            types: webhook.types.as_ref().map_or_else(String::new, |types| types.join(", ")),
            description: webhook.description.as_ref().map_or("", Line::as_str).to_owned(),
        }
    }

    fn update(&self) -> Result<UpdateWebhook, Error> {
        let new = self.read()?;
        let clear = cleared(WebhookField::ALL, &new);
        let (types, description) = (new.types, new.description);
        Ok(UpdateWebhook { url: Some(new.url), types, description, enabled: None, clear })
    }
}

pub async fn update(
    Editor(visitor): Editor,
    Id(id): Id<WebhookId>,
    Form { fields, seen, .. }: Form<WebhookForm>,
) -> Result<Response, Error> {
    let update = async |visitor: &Visitor, fields: &WebhookForm| {
        let (update, sender) = (fields.update()?, &visitor.app.webhooks);
        let change = visitor.change(seen).await?;
        let Changed(now) = webhooks::update(change, sender, id, update).await?;
        let notice = Notice::WebhookUpdated.unless(Some(now.updated_at) == seen);
        Ok(visitor.redirect(&format!("/webhooks/{id}"), notice))
    };
    let again = |visitor, form: FormState<_>| show(visitor, id, Some(form.fields), form.error);
    visitor.submit(fields, update, again).await
}

/// Action of a button.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Enable,
    Disable,
    Test,
    Resend,
    Retry,
    Replay,
    Skip,
    Roll,
}

/// The form of a button, with the fields that some of them have.
#[derive(Deserialize, Serialize)]
pub struct ActForm {
    act: Act,
    #[serde(default)]
    event: String,
    /// One of [`RANGES`].
    #[serde(default)]
    range: String,
    /// The sequence of the last event that is skipped.
    #[serde(default)]
    after: String,
    /// Time for which the old secret signs too: one of [`OVERLAPS`].
    #[serde(default)]
    overlap: String,
}

pub async fn act(
    Editor(visitor): Editor,
    Id(id): Id<WebhookId>,
    Form { fields, idempotency, .. }: Form<ActForm>,
) -> Result<Response, Error> {
    let act = async |visitor: &Visitor, fields: &ActForm| {
        let done = match fields.act {
            Act::Roll => return roll(visitor, id, (fields, idempotency)).await,
            Act::Enable => switch(visitor, id, true).await?,
            Act::Disable => switch(visitor, id, false).await?,
            Act::Test => send(visitor, id, None).await?,
            Act::Resend => {
                let event = fields.event.parse().map_err(|_| Error::unknown("event", "event"))?;
                send(visitor, id, Some(event)).await?
            }
            Act::Retry => {
                let Changed(_) = webhooks::retry(visitor.change(None).await?, id).await?;
                Notice::WebhookRetried.into()
            }
            Act::Replay => replay(visitor, id, &fields.range).await?,
            Act::Skip => skip(visitor, id, &fields.after).await?,
        };
        Ok(visitor.redirect(&format!("/webhooks/{id}"), done))
    };
    let again = |visitor, form: FormState<_>| show(visitor, id, None, form.error);
    visitor.submit(fields, act, again).await
}

async fn switch(visitor: &Visitor, id: WebhookId, enabled: bool) -> Result<Done, Error> {
    let update = UpdateWebhook { enabled: Some(enabled), ..UpdateWebhook::default() };
    let change = visitor.change(None).await?;
    let Changed(_) = webhooks::update(change, &visitor.app.webhooks, id, update).await?;
    Ok(if enabled { Notice::WebhookEnabled } else { Notice::WebhookDisabled }.into())
}

async fn send(visitor: &Visitor, id: WebhookId, event: Option<EventId>) -> Result<Done, Error> {
    let Delivery { delivered, error, status, .. } =
        webhooks::send(&visitor.app.ops, &visitor.app.webhooks, visitor.origin(), id, event)
            .await?;
    let status = status.map(|status| status.to_string());
    let words = error.map(|error| error.to_string()).into_iter().chain(status);
    let notice = if delivered { Notice::WebhookDelivered } else { Notice::WebhookNotDelivered };
    Ok(notice.with("", words.collect::<Vec<_>>().join(" ")))
}

async fn replay(visitor: &Visitor, id: WebhookId, range: &str) -> Result<Done, Error> {
    let hours = range.parse().ok().filter(|hours| (1..=168).contains(hours));
    let hours = hours.ok_or_else(|| Error::invalid("range", "The range must be one listed."))?;
    let since = Some(Timestamp::now().plus(-TimeDelta::hours(hours)));
    start_replay(visitor, id, ReplayWebhook { after: None, since }).await?;
    Ok(Notice::WebhookReplayed.into())
}

/// Skips the events up to the one that was the last when the visitor saw their number.
async fn skip(visitor: &Visitor, id: WebhookId, after: &str) -> Result<Done, Error> {
    let after = after.parse().ok().filter(|after| *after >= 0);
    let after = after.ok_or_else(|| Error::invalid("after", "The event must be a number."))?;
    start_replay(visitor, id, ReplayWebhook { after: Some(after), since: None }).await?;
    Ok(Notice::WebhookSkipped.into())
}

async fn start_replay(visitor: &Visitor, id: WebhookId, from: ReplayWebhook) -> Result<(), Error> {
    let change = visitor.change(None).await?;
    webhooks::replay(change, &visitor.app.secrets, id, from).await.map(drop)
}

/// The response is the only one that ever shows the new secret.
async fn roll(
    visitor: &Visitor,
    id: WebhookId,
    (form, idempotency): (&ActForm, Idempotency),
) -> Result<Response, Stop> {
    let overlap = required::<OverlapSeconds>("overlap", "The overlap", &form.overlap)?;
    let (roll, keys) = (RollKey { overlap_seconds: Some(overlap) }, &visitor.app.secrets);
    let roll = |change| webhooks::roll(change, keys, id, roll);
    let Created(created) = visitor.secret(idempotency, form, elsewhere, roll).await?;
    shown(visitor, created, true)
}

//! Webhooks.

use axum::extract::State;
use common::{
    CreateWebhook, CreatedWebhook, Delivery, List, ReplayWebhook, ResendEvent, Retried, Role,
    RollKey, UpdateWebhook, Webhook, WebhookFailure, WebhookFailureId, WebhookId,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Unfiltered;
use crate::error::Error;
use crate::http::App;
use crate::http::answer::{Data, ListParams, Single, Streamed};
use crate::http::credentials::{Admin, ReadCaller, Reader};
use crate::http::extract::{Id, Json, Limit, NoQuery, Query};
use crate::http::if_match::IfMatch;
use crate::http::newest_first::DescendingPage;
use crate::http::writer::Writer;
use crate::ops::idempotency::Idempotent;
use crate::ops::outcome::{Changed, Created};
use crate::ops::webhooks;

pub async fn create(
    State(app): State<App>,
    writer: Writer,
    Json(body): Json<CreateWebhook>,
) -> Result<Idempotent<Created<CreatedWebhook>>, Error> {
    writer.once(body, |change, body| webhooks::create(change, &app.webhooks, body)).await
}

pub async fn list(
    State(app): State<App>,
    ReadCaller(caller): ReadCaller,
    Query(query): Query<Unfiltered<WebhookId>>,
) -> Result<Streamed<List<Webhook>>, Error> {
    let (view, keys, role) = (app.ops.view(caller.scope), app.secrets.clone(), caller.key.role);
    let params = ListParams::new(query.after, query.limit);
    let read = move |page| {
        let (view, keys) = (view.clone(), keys.clone());
        async move { webhooks::page(view, &keys, role, page).await }
    };
    Streamed::list(params, read).await
}

pub async fn get(
    State(app): State<App>,
    ReadCaller(caller): ReadCaller,
    Id(id): Id<WebhookId>,
    _: NoQuery,
) -> Result<Single<Webhook>, Error> {
    webhooks::get(app.ops.view(caller.scope), &app.secrets, caller.key.role, id).await.map(Single)
}

pub async fn update(
    State(app): State<App>,
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<WebhookId>,
    Json(body): Json<UpdateWebhook>,
) -> Result<Idempotent<Changed<Webhook>>, Error> {
    writer
        .expecting(expected)
        .once(body, |change, body| webhooks::update(change, &app.webhooks, id, body))
        .await
}

pub async fn delete(
    State(app): State<App>,
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<WebhookId>,
    _: NoQuery,
) -> Result<Idempotent<Changed<Webhook>>, Error> {
    writer
        .expecting(expected)
        .once((), |change, ()| webhooks::delete(change, &app.secrets, id))
        .await
}

pub async fn roll(
    State(app): State<App>,
    writer: Writer,
    Id(id): Id<WebhookId>,
    Json(body): Json<RollKey>,
) -> Result<Idempotent<Created<CreatedWebhook>>, Error> {
    writer.once(body, |change, body| webhooks::roll(change, &app.secrets, id, body)).await
}

pub async fn replay(
    State(app): State<App>,
    writer: Writer,
    Id(id): Id<WebhookId>,
    Json(body): Json<ReplayWebhook>,
) -> Result<Idempotent<Changed<Webhook>>, Error> {
    writer.once(body, |change, body| webhooks::replay(change, &app.secrets, id, body)).await
}

pub async fn retry(
    writer: Writer,
    Id(id): Id<WebhookId>,
    _: NoQuery,
) -> Result<Idempotent<Changed<Retried>>, Error> {
    writer.once((), |change, ()| webhooks::retry(change, id)).await
}

/// The query of the list of a webhook's failures.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct ListFailures {
    limit: Option<Limit>,
    /// Only failures before the one with this id: the `nextCursor` of the page before.
    after: Option<WebhookFailureId>,
}

pub async fn failures(
    State(app): State<App>,
    Reader(view): Reader,
    Id(id): Id<WebhookId>,
    Query(query): Query<ListFailures>,
) -> Result<DescendingPage<WebhookFailure>, Error> {
    webhooks::get(view.clone(), &app.secrets, Role::Read, id).await?;
    let params = ListParams::new(query.after, query.limit);
    DescendingPage::list(params, move |page| webhooks::failures(view, id, page)).await
}

/// Sends an event that was made for it.
pub async fn test(
    State(app): State<App>,
    Admin(caller): Admin,
    Id(id): Id<WebhookId>,
    _: NoQuery,
) -> Result<Data<Delivery>, Error> {
    webhooks::send(&app.ops, &app.webhooks, caller.origin(), id, None).await.map(Data)
}

pub async fn resend(
    State(app): State<App>,
    Admin(caller): Admin,
    Id(id): Id<WebhookId>,
    Json(body): Json<ResendEvent>,
) -> Result<Data<Delivery>, Error> {
    webhooks::send(&app.ops, &app.webhooks, caller.origin(), id, Some(body.event)).await.map(Data)
}

//! Webhooks.

use axum::extract::State;
use common::{
    ActorType, CreateWebhook, CreatedWebhook, Delivery, Event, EventActor, EventData, EventId,
    EventSubject, List, Open, RelatedRecords, ReplayWebhook, ResendEvent, Retried, RollKey,
    SubjectType, Timestamp, UpdateWebhook, Webhook, WebhookFailure, WebhookFailureId, WebhookId,
    WebhookUrl,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::Unfiltered;
use crate::delivery::message;
use crate::delivery::sender::open_secrets;
use crate::error::Error;
use crate::http::App;
use crate::http::answer::{Data, ListParams, Single, Streamed};
use crate::http::credentials::{Admin, Caller, Reader};
use crate::http::extract::{Id, Json, Limit, NoQuery, Query};
use crate::http::idempotency::Idempotency;
use crate::http::if_match::IfMatch;
use crate::http::newest_first::DescendingPage;
use crate::ops::change::Change;
use crate::ops::idempotency::Once;
use crate::ops::outcome::{Changed, Created};
use crate::ops::webhooks;

/// Refuses an address that webhooks may not reach.
fn check(app: &App, url: &WebhookUrl) -> Result<(), Error> {
    if app.webhooks.client().allows(url) {
        return Ok(());
    }
    let rule = "url must be https and a public address: webhooks may not reach this one, unless the \
                operator of licd names it in LICD_WEBHOOK_ALLOW_NETS";
    Err(Error::invalid("url", rule))
}

pub async fn create(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    Json(body): Json<CreateWebhook>,
) -> Result<Once<Created<CreatedWebhook>>, Error> {
    check(&app, &body.url)?;
    let (key, keys) = (idempotency.of(&body)?, &app.webhooks.secrets);
    app.ops.once(caller.origin(), key, |change| webhooks::create(change, keys, body)).await
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<Unfiltered<WebhookId>>,
) -> Result<Streamed<List<Webhook>>, Error> {
    let (view, keys) = (app.ops.view(caller.scope), app.webhooks.secrets.clone());
    let params = ListParams::new(query.after, query.limit);
    let read = move |page| {
        let (view, keys) = (view.clone(), keys.clone());
        async move { webhooks::page(view, &keys, page).await }
    };
    Streamed::list(params, read).await
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<WebhookId>,
    _: NoQuery,
) -> Result<Single<Webhook>, Error> {
    webhooks::get(app.ops.view(caller.scope), &app.webhooks.secrets, id).await.map(Single)
}

pub async fn update(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    IfMatch(expected): IfMatch,
    Id(id): Id<WebhookId>,
    Json(body): Json<UpdateWebhook>,
) -> Result<Once<Changed<Webhook>>, Error> {
    body.url.as_ref().map_or(Ok(()), |url| check(&app, url))?;
    let (key, keys) = (idempotency.of(&body)?, &app.webhooks.secrets);
    let update = |change: Change| webhooks::update(change.expecting(expected), keys, id, body);
    app.ops.once(caller.origin(), key, update).await
}

pub async fn delete(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    IfMatch(expected): IfMatch,
    Id(id): Id<WebhookId>,
    _: NoQuery,
) -> Result<Once<Changed<Webhook>>, Error> {
    let (key, keys) = (idempotency.of(&())?, &app.webhooks.secrets);
    let delete = |change: Change| webhooks::delete(change.expecting(expected), keys, id);
    app.ops.once(caller.origin(), key, delete).await
}

pub async fn roll(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    Id(id): Id<WebhookId>,
    Json(body): Json<RollKey>,
) -> Result<Once<Created<CreatedWebhook>>, Error> {
    let (key, keys) = (idempotency.of(&body)?, &app.webhooks.secrets);
    app.ops.once(caller.origin(), key, |change| webhooks::roll(change, keys, id, &body)).await
}

pub async fn replay(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    Id(id): Id<WebhookId>,
    Json(body): Json<ReplayWebhook>,
) -> Result<Once<Changed<Webhook>>, Error> {
    let (key, keys) = (idempotency.of(&body)?, &app.webhooks.secrets);
    app.ops.once(caller.origin(), key, |change| webhooks::replay(change, keys, id, &body)).await
}

pub async fn retry(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    Id(id): Id<WebhookId>,
    _: NoQuery,
) -> Result<Once<Changed<Retried>>, Error> {
    let key = idempotency.of(&())?;
    app.ops.once(caller.origin(), key, |change| webhooks::retry(change, id)).await
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
    Reader(caller): Reader,
    Id(id): Id<WebhookId>,
    Query(query): Query<ListFailures>,
) -> Result<DescendingPage<WebhookFailure>, Error> {
    let view = app.ops.view(caller.scope);
    webhooks::get(view.clone(), &app.webhooks.secrets, id).await?;
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
    deliver(&app, caller, id, None).await.map(Data)
}

pub async fn resend(
    State(app): State<App>,
    Admin(caller): Admin,
    Id(id): Id<WebhookId>,
    Json(body): Json<ResendEvent>,
) -> Result<Data<Delivery>, Error> {
    deliver(&app, caller, id, Some(body.event)).await.map(Data)
}

/// Sends one event by the way that all go, and says how it went. It holds no turn while it sends.
async fn deliver(
    app: &App,
    caller: Caller,
    id: WebhookId,
    event: Option<EventId>,
) -> Result<Delivery, Error> {
    if app.webhooks_are_off {
        return Err(Error::WebhooksOff);
    }
    let (view, scope, now) = (app.ops.view(caller.scope), caller.scope, Timestamp::now());
    let (webhook, recorded) = webhooks::to_send(&view, id, event).await?;
    let secrets = open_secrets(&app.webhooks.secrets, scope, &webhook, now).await?;
    let url: WebhookUrl = webhook.url.parse().map_err(|_| Error::Internal)?;
    let event = recorded.unwrap_or_else(|| test_event(id, &caller, now));
    let trial = app.webhooks.trials.begin(scope.tenant, id)?;
    let attempt = app.webhooks.client().try_out(&url, &secrets, &message(&event, scope)).await;
    drop(trial);
    if attempt.is_delivered() {
        let change = app.ops.change(caller.origin()).await?;
        webhooks::was_sent(change, id, event.sequence).await?;
    }
    Ok(Delivery {
        delivered: attempt.is_delivered(),
        event: event.id,
        error: attempt.error.map(Open::Known),
        status: attempt.status.map(i32::from),
        duration_ms: attempt.millis(),
        response: attempt.response,
    })
}

/// An event that is in no list.
fn test_event(id: WebhookId, caller: &Caller, now: Timestamp) -> Event {
    let object = json!({ "id": id });
    Event {
        id: EventId::new(now),
        sequence: 0,
        kind: Open::Unknown("webhook.test".to_owned()),
        time: now,
        actor: EventActor {
            kind: Open::Known(ActorType::Key),
            id: Some(caller.key.id.to_string()),
            name: None,
            key_id: Some(caller.key.id),
        },
        subject: EventSubject { kind: Open::Known(SubjectType::Webhook), id: id.to_string() },
        related: RelatedRecords::default(),
        data: EventData {
            object: object.as_object().cloned().unwrap_or_default(),
            previous: None,
            reason: None,
        },
        request_id: Some(caller.context.id.to_string()),
    }
}

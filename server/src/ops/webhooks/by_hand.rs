//! Test deliveries: an administrator sends a test event or a recorded event, and sees the response.
//! They use the same client as all deliveries. No permit or transaction is held in the meantime.

use common::{
    Delivery, Event, EventData, EventId, EventSubject, Open, RelatedRecords, SubjectType,
    Timestamp, WebhookId, WebhookUrl,
};
use serde_json::json;

use super::{NOT_FOUND, end_backoff};
use crate::delivery::message;
use crate::delivery::sender::{Sender, open_secrets};
use crate::error::Error;
use crate::events::Origin;
use crate::ops::Operations;
use crate::ops::change::{Change, Events};
use crate::ops::outcome::Changed;
use crate::ops::view::View;
use crate::store::webhooks::StoredWebhook;
use crate::store::{events, webhooks};

/// Sends a recorded event, or a test event if `event` is `None`, and returns the result.
pub async fn send(
    ops: &Operations,
    sender: &Sender,
    origin: Origin,
    id: WebhookId,
    event: Option<EventId>,
) -> Result<Delivery, Error> {
    if sender.is_off {
        return Err(Error::WebhooksOff);
    }
    let (scope, now) = (origin.scope, Timestamp::now());
    let (webhook, recorded) = find(&ops.view(scope), id, event).await?;
    let secrets = open_secrets(&sender.secrets, scope, &webhook, now).await?;
    let url: WebhookUrl = webhook.url.parse().map_err(|_| Error::Internal)?;
    let event = recorded.unwrap_or_else(|| test_event(id, &origin, now));
    let test = sender.test_deliveries.begin(scope.tenant, id)?;
    let attempt = sender.client().send_test(&url, &secrets, &message(&event, scope)).await;
    drop(test);
    if attempt.is_delivered() {
        record_success(ops.change(origin).await?, id, event.sequence).await?;
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

async fn find(
    view: &View,
    id: WebhookId,
    event: Option<EventId>,
) -> Result<(StoredWebhook, Option<Event>), Error> {
    let mut conn = view.read().await?;
    let found = webhooks::find(&mut conn, view.scope, id).await?.ok_or(NOT_FOUND)?;
    let event = match event {
        None => None,
        Some(event) => {
            let recorded = events::find(&mut conn, view.scope, event).await?;
            Some(recorded.ok_or_else(|| Error::unknown("event", "event"))?)
        }
    };
    Ok((found.stored, event))
}

/// Creates a test event, which is not recorded.
fn test_event(id: WebhookId, origin: &Origin, now: Timestamp) -> Event {
    let object = json!({ "id": id });
    Event {
        id: EventId::new(now),
        sequence: 0,
        kind: Open::Unknown("webhook.test".to_owned()),
        time: now,
        actor: (&origin.actor).into(),
        subject: EventSubject { kind: Open::Known(SubjectType::Webhook), id: id.to_string() },
        related: RelatedRecords::default(),
        data: EventData {
            object: object.as_object().cloned().unwrap_or_default(),
            previous: None,
            reason: None,
        },
        request_id: origin.request_id.as_ref().map(ToString::to_string),
    }
}

/// Records a success: the event does not count as given up any more, and the receiver is up.
async fn record_success(mut change: Change, id: WebhookId, sequence: i64) -> Result<(), Error> {
    let scope = change.scope();
    let Some(mut stored) = webhooks::lock(&mut change, scope, id).await? else { return Ok(()) };
    webhooks::forget_given_up(&mut change, scope, id, &[sequence]).await?;
    if stored.state.failing_since.is_some() {
        end_backoff(&mut stored);
        webhooks::update(&mut change, scope, &stored).await?;
    }
    change.commit(Changed(()), Events::none()).await?;
    Ok(())
}

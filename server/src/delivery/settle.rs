//! The one place that writes how turns went. What many turns have to write is gathered, so that a
//! burst costs the database a few transactions a second.

use std::time::Duration;

use common::{
    EventType, Open, Timestamp, WebhookError, WebhookFailure, WebhookFailureId, WebhookUrl,
};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::schedule::{Failure, Settlement, State};
use crate::db::{self, Db, Tx};
use crate::events::{self, Actor, NewEvent, Origin, WebhookFacts};
use crate::metrics::Metrics;
use crate::store::Scope;
use crate::store::webhooks::sending;
use crate::store::webhooks::{self, StoredWebhook};

/// How many settlements one transaction writes at most.
const MOST: usize = 64;
/// How long the next one waits.
const PAUSE: Duration = Duration::from_millis(100);
/// How long it waits for one.
const IDLE: Duration = Duration::from_secs(60);

/// How a part of a turn ended.
pub struct Settled {
    pub scope: Scope,
    /// As it was before.
    pub webhook: StoredWebhook,
    pub claim: i64,
    pub settlements: Vec<Settlement>,
    pub state: State,
    /// The events after the first sequence and before the second were deleted before they could be
    /// sent.
    pub expired: Option<(i64, i64)>,
    pub has_given_up: bool,
    /// The claim ends with it.
    pub is_last: bool,
    pub now: Timestamp,
}

type Waiting = (Settled, oneshot::Sender<bool>);

/// Settlements that wait to be written.
pub struct Settlements {
    sender: mpsc::Sender<Waiting>,
    waiting: Mutex<mpsc::Receiver<Waiting>>,
}

impl Default for Settlements {
    fn default() -> Self {
        let (sender, waiting) = mpsc::channel(MOST);
        Self { sender, waiting: Mutex::new(waiting) }
    }
}

impl Settlements {
    /// Whether it was written, and the claim still holds.
    pub async fn write(&self, settled: Settled) -> bool {
        let (tell, told) = oneshot::channel();
        self.sender.send((settled, tell)).await.is_ok() && told.await.unwrap_or(false)
    }

    /// Writes what waits, for ever.
    pub async fn run(&self, db: &Db, metrics: &Metrics) {
        let mut waiting = self.waiting.lock().await;
        let mut batch = Vec::with_capacity(MOST);
        // After a while without any it writes none, so that it is known to work.
        while timeout(IDLE, waiting.recv_many(&mut batch, MOST)).await != Ok(0) {
            // In one order on all nodes, as each webhook is locked.
            batch.sort_by_key(|(settled, _)| settled.webhook.id);
            let written = write(db, batch.iter().map(|(settled, _)| settled)).await;
            metrics.task_ran("webhook_results", &written);
            let held = written.unwrap_or_default();
            let settled = batch.iter().zip(&held).filter(|(_, holds)| **holds);
            metrics.webhook_given_up.inc_by(settled.map(|((it, _), _)| it.given_up()).sum());
            for (at, (_, tell)) in batch.drain(..).enumerate() {
                // Who does not wait any more was stopped.
                let _ = tell.send(held.get(at).copied().unwrap_or(false));
            }
            sleep(PAUSE).await;
        }
    }
}

/// Returns for each whether its claim still holds. If it does not, nothing of it is written: the
/// webhook was changed, or another node sends.
async fn write<'a>(db: &Db, batch: impl Iterator<Item = &'a Settled>) -> db::Result<Vec<bool>> {
    let mut tx = db.begin().await?;
    let (mut held, mut events) = (Vec::new(), Vec::new());
    let mut now = Timestamp::now();
    for settled in batch {
        now = settled.now.max(now);
        held.push(settled.write(&mut tx, &mut events).await?);
    }
    events::record(&mut tx, &events, now).await?;
    tx.commit().await?;
    Ok(held)
}

impl Settled {
    /// Returns the number of events that were given up. A range that expired counts as one.
    fn given_up(&self) -> u64 {
        let failures = self.settlements.iter().flat_map(|it| &it.failures);
        failures.filter(|it| it.gave_up).count() as u64 + u64::from(self.expired.is_some())
    }

    async fn write(&self, tx: &mut Tx, events: &mut Vec<(Origin, NewEvent)>) -> db::Result<bool> {
        let (scope, id, state) = (self.scope, self.webhook.id, self.state);
        let after = with_state(self.webhook.clone(), state, self.now);
        let until = (self.now, self.is_last);
        if !sending::settle(tx, scope, &after, self.claim, until).await? {
            return Ok(false);
        }
        for settlement in &self.settlements {
            for held in &settlement.held {
                sending::hold(tx, scope, id, held).await?;
            }
            for subject in &settlement.released {
                sending::release(tx, scope, id, subject).await?;
            }
            for failure in &settlement.failures {
                sending::fail(tx, scope, id, &stored(failure, self.now)).await?;
            }
            if self.has_given_up && !settlement.delivered.is_empty() {
                webhooks::forget_given_up(tx, scope, id, &settlement.delivered).await?;
            }
        }
        if let Some((after, before)) = self.expired {
            sending::fail(tx, scope, id, &expired(before - 1, self.now)).await?;
            let facts = WebhookFacts { after: Some(after), before: Some(before), ..self.facts() };
            events.push(self.event(EventType::WebhookEventsExpired, &facts));
        }
        if self.settlements.iter().any(|it| !it.failures.is_empty()) {
            sending::forget_many(tx, scope, id).await?;
        }
        if state.disabled.is_some() {
            let facts = WebhookFacts { disabled_reason: state.disabled, ..self.facts() };
            events.push(self.event(EventType::WebhookDisabled, &facts));
        }
        Ok(true)
    }

    fn facts(&self) -> WebhookFacts<'_> {
        facts(&self.webhook)
    }

    fn event(&self, kind: EventType, facts: &WebhookFacts<'_>) -> (Origin, NewEvent) {
        let origin = Origin { actor: Actor::System, scope: self.scope, request_id: None };
        (origin, NewEvent::of_webhook(kind, self.webhook.id, facts))
    }
}

/// What events tell of a webhook.
pub fn facts(webhook: &StoredWebhook) -> WebhookFacts<'_> {
    let url = webhook.url.parse::<WebhookUrl>();
    WebhookFacts {
        id: webhook.id,
        url: url.map_or_else(|_| String::new(), |url| url.origin()),
        description: webhook.description.as_ref(),
        types: webhook.event_types.as_ref().map(|types| &*types.0),
        ..WebhookFacts::default()
    }
}

fn with_state(webhook: StoredWebhook, state: State, now: Timestamp) -> StoredWebhook {
    StoredWebhook {
        sequence: state.sequence,
        failing_since: state.failing_since,
        attempts: state.attempts,
        next_attempt_at: state.next_attempt_at,
        last_success_at: state.last_success_at,
        last_status: state.last_status,
        disabled_at: state.disabled.map(|_| now),
        disabled_reason: state.disabled.map(Open::Known),
        ..webhook
    }
}

fn stored(failure: &Failure, now: Timestamp) -> WebhookFailure {
    let attempt = &failure.attempt;
    WebhookFailure {
        event: Some(failure.event),
        attempt: failure.number,
        gave_up: failure.gave_up,
        error: Open::from(attempt.error.map_or_else(String::new, |error| error.to_string())),
        status: attempt.status.map(i32::from),
        response: attempt.response.clone(),
        duration_ms: attempt.millis(),
        ..expired(failure.sequence, now)
    }
}

/// The events up to this one were deleted before they could be sent.
fn expired(sequence: i64, now: Timestamp) -> WebhookFailure {
    WebhookFailure {
        id: WebhookFailureId::new(now),
        event: None,
        sequence,
        attempt: 0,
        gave_up: true,
        error: Open::Known(WebhookError::Expired),
        status: None,
        response: None,
        duration_ms: 0,
        at: now,
    }
}

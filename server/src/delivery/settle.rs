//! Writes the results of deliveries. Results of many deliveries are written in one transaction, so a
//! burst costs the database about ten transactions a second.

use std::time::Duration;

use common::{
    EventType, Open, Timestamp, WebhookError, WebhookFailure, WebhookFailureId, WebhookUrl,
};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::schedule::{Failure, Settlement};
use crate::db::{self, Db, Tx};
use crate::events::{self, Actor, NewEvent, Origin, WebhookFacts};
use crate::metrics::Metrics;
use crate::store::Scope;
use crate::store::webhooks::sending;
use crate::store::webhooks::{self, DeliveryState, StoredWebhook};

/// Maximum number of settlements in a transaction.
const MAX_SETTLEMENTS: usize = 64;
/// Pause between transactions.
const PAUSE: Duration = Duration::from_millis(100);
/// Time without settlements after which an empty transaction is written.
const IDLE: Duration = Duration::from_secs(60);

/// Result of a batch.
pub struct BatchResult {
    pub scope: Scope,
    /// The webhook as it was when the delivery began.
    pub webhook: StoredWebhook,
    pub claim: i64,
    pub settlements: Vec<Settlement>,
    pub state: DeliveryState,
    /// Range of events that were deleted before licd could send them: those after the first sequence
    /// and before the second.
    pub expired: Option<(i64, i64)>,
    pub has_given_up: bool,
    /// Whether the claim ends with this result.
    pub is_last: bool,
    pub now: Timestamp,
}

type PendingSettlement = (BatchResult, oneshot::Sender<bool>);

/// Settlements that wait to be written.
pub struct Settlements {
    sender: mpsc::Sender<PendingSettlement>,
    waiting: Mutex<mpsc::Receiver<PendingSettlement>>,
}

impl Default for Settlements {
    fn default() -> Self {
        let (sender, waiting) = mpsc::channel(MAX_SETTLEMENTS);
        Self { sender, waiting: Mutex::new(waiting) }
    }
}

impl Settlements {
    /// Writes a result. Returns whether it was written, which requires that the claim is still valid.
    pub async fn write(&self, settled: BatchResult) -> bool {
        let (respond, response) = oneshot::channel();
        self.sender.send((settled, respond)).await.is_ok() && response.await.unwrap_or(false)
    }

    /// Writes results as they come, and does not return.
    pub async fn run(&self, db: &Db, metrics: &Metrics) {
        let mut waiting = self.waiting.lock().await;
        let mut batch = Vec::with_capacity(MAX_SETTLEMENTS);
        // Without results, an empty transaction shows the metrics that this task works.
        while timeout(IDLE, waiting.recv_many(&mut batch, MAX_SETTLEMENTS)).await != Ok(0) {
            // All nodes lock webhooks in the order of ids, so they cannot deadlock.
            batch.sort_by_key(|(settled, _)| settled.webhook.id);
            let written = write(db, batch.iter().map(|(settled, _)| settled)).await;
            metrics.task_ran("webhook_results", &written);
            let valid = written.unwrap_or_default();
            let settled = batch.iter().zip(&valid).filter(|(_, blocked)| **blocked);
            metrics.webhook_given_up.inc_by(settled.map(|((it, _), _)| it.given_up()).sum());
            for (at, (_, respond)) in batch.drain(..).enumerate() {
                // The receiver is gone if the delivery was stopped.
                let _ = respond.send(valid.get(at).copied().unwrap_or(false));
            }
            sleep(PAUSE).await;
        }
    }
}

/// Writes results. Returns for each whether its claim is still valid. If not, nothing of that
/// result is written, because the webhook was changed or another node has claimed it.
async fn write<'a>(db: &Db, batch: impl Iterator<Item = &'a BatchResult>) -> db::Result<Vec<bool>> {
    let mut tx = db.begin().await?;
    let (mut valid, mut events) = (Vec::new(), Vec::new());
    let mut now = Timestamp::now();
    for settled in batch {
        now = settled.now.max(now);
        valid.push(settled.write(&mut tx, &mut events).await?);
    }
    events::commit(tx, &events, now).await?;
    Ok(valid)
}

impl BatchResult {
    /// Returns the number of events that were given up. A range that expired counts as one.
    fn given_up(&self) -> u64 {
        let failures = self.settlements.iter().flat_map(|it| &it.failures);
        failures.filter(|it| it.gave_up).count() as u64 + u64::from(self.expired.is_some())
    }

    async fn write(&self, tx: &mut Tx, events: &mut Vec<(Origin, NewEvent)>) -> db::Result<bool> {
        let (scope, id, state) = (self.scope, self.webhook.id, self.state);
        let until = (self.now, self.is_last);
        if !sending::settle(tx, scope, id, &state, self.claim, until).await? {
            return Ok(false);
        }
        for settlement in &self.settlements {
            for subject in &settlement.blocked {
                sending::block(tx, scope, id, subject).await?;
            }
            for subject in &settlement.unblocked {
                sending::unblock(tx, scope, id, subject).await?;
            }
            for failure in &settlement.failures {
                sending::insert_failure(tx, scope, id, &stored(failure, self.now)).await?;
            }
            if self.has_given_up && !settlement.delivered.is_empty() {
                webhooks::forget_given_up(tx, scope, id, &settlement.delivered).await?;
            }
        }
        if let Some((after, before)) = self.expired {
            sending::insert_failure(tx, scope, id, &expired(before - 1, self.now)).await?;
            let facts = WebhookFacts { after: Some(after), before: Some(before), ..self.facts() };
            events.push(self.event(EventType::WebhookEventsExpired, &facts));
        }
        if self.settlements.iter().any(|it| !it.failures.is_empty()) {
            sending::delete_excess_failures(tx, scope, id).await?;
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

/// Returns what events show of a webhook.
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

/// Returns the record for events up to `sequence` that were deleted before licd could send them.
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

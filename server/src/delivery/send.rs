//! A delivery to one webhook, for at most ten seconds. Events of one subject are sent one after
//! another, and subjects in parallel.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Event, TenantId, Timestamp, WebhookEvent, WebhookSecret, WebhookUrl};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::batch::{Batch, PROBES, blocked, has_due_blocked};
use super::client::{Client, DeliveryAttempt, Message, ReceiverConnection};
use super::schedule::{EventResult, settle_blocked, settle_page};
use super::settle::{BatchResult, Settlements};
use crate::db::{self, Conn, Db};
use crate::fair::FairSemaphore;
use crate::metrics::Metrics;
use crate::store::Scope;
use crate::store::webhooks::DeliveryState;
use crate::store::webhooks::sending::{self, BlockedSubject, DueWebhook};

/// Time in which a delivery may start requests. The last one ends before the claim does.
const MAX_DURATION: Duration = Duration::from_secs(10);
/// Maximum number of simultaneous requests to a receiver that responds within [`PROMPT`].
const MAX_REQUESTS: usize = 8;
const PROMPT: Duration = Duration::from_secs(1);

/// Progress of a delivery, for the sender.
pub struct Progress {
    /// Time of the last response, or of the start.
    responded_at: Mutex<Instant>,
}

impl Progress {
    pub fn new() -> Self {
        Self { responded_at: Mutex::new(Instant::now()) }
    }

    pub fn is_slow(&self) -> bool {
        self.responded_at.lock().elapsed() > PROMPT
    }

    fn note(&self) {
        *self.responded_at.lock() = Instant::now();
    }
}

/// Resources that all deliveries of a node share.
pub struct SenderShared {
    pub db: Db,
    pub client: Client,
    pub metrics: Arc<Metrics>,
    pub settlements: Settlements,
    /// Permits for requests in addition to the first of each delivery.
    pub extra_requests: Arc<Semaphore>,
    /// One database connection reads for all deliveries.
    pub reads: FairSemaphore,
    pub is_stopping: AtomicBool,
}

impl SenderShared {
    async fn read(&self, tenant: TenantId) -> db::Result<Conn> {
        let permit = self.reads.acquire_for(tenant).await.map_err(|_| sqlx::Error::PoolTimedOut)?;
        Ok(self.db.read().await?.with_permit(permit))
    }
}

pub struct Delivery {
    pub shared: Arc<SenderShared>,
    pub due: DueWebhook,
    pub claim: i64,
    /// Time before the claim was requested.
    pub began: Instant,
    pub url: WebhookUrl,
    pub secrets: Vec<WebhookSecret>,
    pub progress: Arc<Progress>,
}

/// State that the lanes of a batch share.
struct LaneState {
    connections: Mutex<Vec<ReceiverConnection>>,
    /// Whether an attempt showed that the receiver accepts nothing now.
    is_stopped: AtomicBool,
    is_prompt: AtomicBool,
    attempts: Mutex<BTreeMap<i64, DeliveryAttempt>>,
}

impl Delivery {
    pub async fn run(self) {
        // After an error the claim expires, and the webhook is polled again.
        self.shared.metrics.task_ran("webhooks", &self.send_all().await);
    }

    async fn send_all(&self) -> db::Result<()> {
        let scope = self.due.scope;
        let mut state = DeliveryState { next_attempt_at: None, ..self.due.webhook.state };
        let mut blocked = blocked(&mut self.shared.read(scope.tenant).await?, &self.due).await?;
        let mut prefers_blocked = true;
        loop {
            let batch = self.read_batch(&state, &blocked, prefers_blocked).await?;
            let Some(batch) = batch else { return Ok(()) };
            prefers_blocked = batch.blocked.is_empty();
            let is_stuck = batch.is_empty(state.sequence);
            if let Some((_, before)) = batch.expired {
                state.sequence = before - 1;
            }
            let attempts = self.send(&batch).await;
            let now = Timestamp::now();
            let mut settlements = Vec::new();
            let page = results(&batch.page, &attempts);
            let page = settle_page(state, &page, batch.end, now, fastrand::f64());
            state = page.state;
            settlements.push(page);
            for lane in &batch.blocked {
                let lane_results = results(&lane.events, &attempts);
                let chance = fastrand::f64();
                let settled =
                    settle_blocked(state, &lane.subject, &lane_results, lane.further, now, chance);
                state = settled.state;
                settlements.push(settled);
            }
            for settled in &settlements {
                settled.unblocked.iter().for_each(|subject| drop(blocked.remove(subject)));
                let new =
                    settled.blocked.iter().map(|subject| (subject.id.clone(), subject.clone()));
                blocked.extend(new);
            }
            let is_waiting = state.failing_since.is_some()
                || state.next_attempt_at.is_some()
                || state.disabled.is_some();
            let is_done = state.sequence >= self.due.last && !has_due_blocked(&blocked, now);
            let is_last = is_waiting || is_done || is_stuck || self.is_over();
            let settled = BatchResult {
                scope,
                webhook: self.due.webhook.clone(),
                claim: self.claim,
                settlements,
                state,
                expired: batch.expired,
                has_given_up: self.due.has_given_up,
                is_last,
                now,
            };
            if !self.shared.settlements.write(settled).await || is_last {
                return Ok(());
            }
        }
    }

    /// Reads the next batch. `None` if a change of the webhook has ended the claim. This is checked
    /// after the events are read, so that none is sent to a URL, or with a secret, that was replaced
    /// before the event happened.
    async fn read_batch(
        &self,
        state: &DeliveryState,
        blocked: &BTreeMap<String, BlockedSubject>,
        prefers_blocked: bool,
    ) -> db::Result<Option<Batch>> {
        let mut conn = self.shared.read(self.due.scope.tenant).await?;
        let batch = Batch::read(&mut conn, &self.due, state, blocked, prefers_blocked).await?;
        let (scope, id) = (self.due.scope, self.due.webhook.id);
        let is_claimed = sending::is_claimed(&mut conn, scope, id, self.claim).await?;
        Ok(is_claimed.then_some(batch))
    }

    fn is_over(&self) -> bool {
        self.began.elapsed() >= MAX_DURATION || self.shared.is_stopping.load(Ordering::Relaxed)
    }

    /// Sends a batch in lanes, and returns the attempts by sequence. A receiver gets one request at
    /// a time until it has responded to one promptly.
    async fn send(&self, batch: &Batch) -> BTreeMap<i64, DeliveryAttempt> {
        let shared = LaneState {
            connections: Mutex::default(),
            is_stopped: AtomicBool::new(false),
            is_prompt: AtomicBool::new(false),
            attempts: Mutex::default(),
        };
        let mut lanes: Vec<Vec<&Event>> = Vec::new();
        lanes.extend(batch.blocked.iter().map(|lane| lane.events.iter().collect()));
        let mut by_subject: BTreeMap<&str, usize> = BTreeMap::new();
        for event in &batch.page {
            let lane = *by_subject.entry(&event.subject.id).or_insert_with(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push(event);
        }
        let is_probing = batch.blocked.is_empty() && by_subject.len() <= PROBES;
        let mut waiting = lanes.into_iter().peekable();
        let mut running = FuturesUnordered::new();
        loop {
            while waiting.peek().is_some() {
                let permit = match running.len() {
                    0 => None,
                    n if n >= MAX_REQUESTS || !shared.is_prompt.load(Ordering::Relaxed) => break,
                    _ => match self.shared.extra_requests.clone().try_acquire_owned() {
                        Ok(permit) => Some(permit),
                        Err(_) => break,
                    },
                };
                let lane = waiting.next().unwrap_or_default();
                let sending = self.send_lane(lane, &shared, is_probing);
                running.push(async move {
                    sending.await;
                    drop(permit);
                });
            }
            if running.next().await.is_none() {
                break;
            }
        }
        drop(running);
        shared.attempts.into_inner()
    }

    /// Sends the events of a subject until one is not accepted.
    async fn send_lane(&self, lane: Vec<&Event>, shared: &LaneState, is_probing: bool) {
        for event in lane {
            if shared.is_stopped.load(Ordering::Relaxed) || self.is_over() {
                return;
            }
            let attempt = self.send_one(event, shared).await;
            self.note(event, &attempt);
            let is_delivered = attempt.is_delivered();
            if attempt.duration < PROMPT && (is_delivered || attempt.is_refusal()) {
                shared.is_prompt.store(true, Ordering::Relaxed);
            }
            if !is_delivered && !attempt.is_refusal() && !is_probing {
                shared.is_stopped.store(true, Ordering::Relaxed);
            }
            let mut attempts = shared.attempts.lock();
            attempts.insert(event.sequence, attempt);
            if !is_delivered {
                return;
            }
        }
    }

    async fn send_one(&self, event: &Event, shared: &LaneState) -> DeliveryAttempt {
        let lock = || shared.connections.lock();
        let mut connection = lock().pop();
        let message = message(event, self.due.scope);
        let attempt =
            self.shared.client.send(&mut connection, &self.url, &self.secrets, &message).await;
        self.progress.note();
        lock().extend(connection);
        attempt
    }

    fn note(&self, event: &Event, attempt: &DeliveryAttempt) {
        self.shared.metrics.note_delivery(attempt.error);
        let (webhook, status) = (self.due.webhook.id, attempt.status);
        let (receiver, sequence, millis) = (self.url.origin(), event.sequence, attempt.millis());
        match attempt.error {
            None => tracing::debug!(%webhook, receiver, sequence, status, millis, "sent an event"),
            Some(error) => {
                tracing::info!(%webhook, receiver, sequence, %error, status, millis, "an event was not delivered");
            }
        }
    }
}

fn results(events: &[Event], attempts: &BTreeMap<i64, DeliveryAttempt>) -> Vec<EventResult> {
    let result = |event: &Event| EventResult {
        sequence: event.sequence,
        event: event.id,
        subject: event.subject.id.clone(),
        attempt: attempts.get(&event.sequence).cloned(),
    };
    events.iter().map(result).collect()
}

/// Returns the message for an event. Its bytes are the same in each attempt.
pub fn message(event: &Event, scope: Scope) -> Message {
    let (mode, tenant_id) = (scope.mode, scope.tenant);
    let body = WebhookEvent { event: event.clone(), timestamp: event.time, mode, tenant_id };
    let body = serde_json::to_vec(&body).unwrap_or_default();
    Message { tenant: scope.tenant, id: event.id.to_string(), body: body.into() }
}

//! A turn: one webhook, for ten seconds at most. It sends what is due, in lanes: the events of one
//! subject are sent one after the other, and subjects side by side.

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

use super::client::{Attempt, Client, Connection, Message};
use super::portion::{PROBES, Portion, has_due, holds};
use super::schedule::{State, Tried, settle_hold, settle_page};
use super::settle::{Settled, Settlements};
use crate::db::{self, Conn, Db};
use crate::fair::Turns;
use crate::metrics::Metrics;
use crate::store::Scope;
use crate::store::webhooks::sending::DueWebhook;

/// How long a turn may start requests. It is over before its claim is, whatever the last one takes.
const TURN: Duration = Duration::from_secs(10);
/// How many requests a receiver has at the same time that answers within [`PROMPT`].
const WIDTH: usize = 8;
const PROMPT: Duration = Duration::from_secs(1);

/// What the sender sees of a turn that runs.
pub struct Progress {
    /// When a receiver last answered, or the turn began.
    answered_at: Mutex<Instant>,
}

impl Progress {
    pub fn new() -> Self {
        Self { answered_at: Mutex::new(Instant::now()) }
    }

    pub fn is_slow(&self) -> bool {
        self.answered_at.lock().elapsed() > PROMPT
    }

    fn note(&self) {
        *self.answered_at.lock() = Instant::now();
    }
}

/// What all turns of a node share.
pub struct Shared {
    pub db: Db,
    pub client: Client,
    pub metrics: Arc<Metrics>,
    pub settlements: Settlements,
    /// Requests beside the first of each turn.
    pub wide: Arc<Semaphore>,
    /// One connection reads for all turns.
    pub reads: Turns,
    pub is_stopping: AtomicBool,
}

impl Shared {
    async fn read(&self, tenant: TenantId) -> db::Result<Conn> {
        let turn = self.reads.take(tenant).await.map_err(|_| sqlx::Error::PoolTimedOut)?;
        Ok(self.db.read().await?.with_turn(turn))
    }
}

pub struct Turn {
    pub shared: Arc<Shared>,
    pub due: DueWebhook,
    pub claim: i64,
    /// Before the claim was asked for.
    pub began: Instant,
    pub url: WebhookUrl,
    pub secrets: Vec<WebhookSecret>,
    pub progress: Arc<Progress>,
}

/// What the lanes of a portion share.
struct Lanes {
    connections: Mutex<Vec<Connection>>,
    /// Something says that the receiver takes nothing now.
    is_stopped: AtomicBool,
    is_prompt: AtomicBool,
    attempts: Mutex<BTreeMap<i64, Attempt>>,
}

impl Turn {
    pub async fn run(self) {
        // If it fails, the claim ends by itself, and the webhook is looked at again.
        self.shared.metrics.task_ran("webhooks", &self.send_all().await);
    }

    async fn send_all(&self) -> db::Result<()> {
        let scope = self.due.scope;
        let mut state = state_of(&self.due);
        let mut holds = holds(&mut self.shared.read(scope.tenant).await?, &self.due).await?;
        let mut prefers_held = true;
        loop {
            let portion = {
                let mut conn = self.shared.read(scope.tenant).await?;
                Portion::read(&mut conn, &self.due, &state, &holds, prefers_held).await?
            };
            prefers_held = portion.holds.is_empty();
            let is_stuck = portion.is_empty(state.sequence);
            if let Some((_, before)) = portion.expired {
                state.sequence = before - 1;
            }
            let attempts = self.send(&portion).await;
            let now = Timestamp::now();
            let mut settlements = Vec::new();
            let page = tried(&portion.page, &attempts);
            let page = settle_page(state, &page, portion.end, now, fastrand::f64());
            state = page.state;
            settlements.push(page);
            for lane in &portion.holds {
                let events = tried(&lane.events, &attempts);
                let chance = fastrand::f64();
                let settled = settle_hold(state, &lane.hold, &events, lane.further, now, chance);
                state = settled.state;
                settlements.push(settled);
            }
            for settled in &settlements {
                settled.released.iter().for_each(|subject| drop(holds.remove(subject)));
                let held = settled.held.iter().map(|hold| (hold.subject.clone(), hold.clone()));
                holds.extend(held);
            }
            let is_waiting = state.failing_since.is_some()
                || state.next_attempt_at.is_some()
                || state.disabled.is_some();
            let is_done = state.sequence >= self.due.last && !has_due(&holds, now);
            let is_last = is_waiting || is_done || is_stuck || self.is_over();
            let settled = Settled {
                scope,
                webhook: self.due.webhook.clone(),
                claim: self.claim,
                settlements,
                state,
                expired: portion.expired,
                has_given_up: self.due.has_given_up,
                is_last,
                now,
            };
            if !self.shared.settlements.write(settled).await || is_last {
                return Ok(());
            }
        }
    }

    fn is_over(&self) -> bool {
        self.began.elapsed() >= TURN || self.shared.is_stopping.load(Ordering::Relaxed)
    }

    /// Sends in lanes, and returns the attempts by their sequences. One receiver has one request at a
    /// time until it answered one promptly.
    async fn send(&self, portion: &Portion) -> BTreeMap<i64, Attempt> {
        let shared = Lanes {
            connections: Mutex::default(),
            is_stopped: AtomicBool::new(false),
            is_prompt: AtomicBool::new(false),
            attempts: Mutex::default(),
        };
        let mut lanes: Vec<Vec<&Event>> = Vec::new();
        lanes.extend(portion.holds.iter().map(|lane| lane.events.iter().collect()));
        let mut by_subject: BTreeMap<&str, usize> = BTreeMap::new();
        for event in &portion.page {
            let lane = *by_subject.entry(&event.subject.id).or_insert_with(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push(event);
        }
        let is_probing = portion.holds.is_empty() && by_subject.len() <= PROBES;
        let mut waiting = lanes.into_iter().peekable();
        let mut running = FuturesUnordered::new();
        loop {
            while waiting.peek().is_some() {
                let permit = match running.len() {
                    0 => None,
                    n if n >= WIDTH || !shared.is_prompt.load(Ordering::Relaxed) => break,
                    _ => match self.shared.wide.clone().try_acquire_owned() {
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

    /// Sends the events of a subject until one is not taken.
    async fn send_lane(&self, lane: Vec<&Event>, shared: &Lanes, is_probing: bool) {
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

    async fn send_one(&self, event: &Event, shared: &Lanes) -> Attempt {
        let lock = || shared.connections.lock();
        let mut connection = lock().pop();
        let message = message(event, self.due.scope);
        let attempt =
            self.shared.client.send(&mut connection, &self.url, &self.secrets, &message).await;
        self.progress.note();
        lock().extend(connection);
        attempt
    }

    fn note(&self, event: &Event, attempt: &Attempt) {
        self.shared.metrics.note_delivery(attempt.error);
        let (webhook, status) = (self.due.webhook.id, attempt.status);
        let (receiver, sequence, millis) = (self.url.origin(), event.sequence, attempt.millis());
        match attempt.error {
            None => tracing::debug!(%webhook, receiver, sequence, status, millis, "sent an event"),
            Some(error) => {
                tracing::info!(%webhook, receiver, sequence, %error, status, millis, "an event was not taken");
            }
        }
    }
}

fn state_of(due: &DueWebhook) -> State {
    let webhook = &due.webhook;
    State {
        sequence: webhook.sequence,
        failing_since: webhook.failing_since,
        attempts: webhook.attempts,
        next_attempt_at: None,
        last_success_at: webhook.last_success_at,
        last_status: webhook.last_status,
        disabled: None,
    }
}

fn tried(events: &[Event], attempts: &BTreeMap<i64, Attempt>) -> Vec<Tried> {
    let tried = |event: &Event| Tried {
        sequence: event.sequence,
        event: event.id,
        subject: event.subject.id.clone(),
        attempt: attempts.get(&event.sequence).cloned(),
    };
    events.iter().map(tried).collect()
}

/// What is sent of an event: the same bytes in each attempt.
pub fn message(event: &Event, scope: Scope) -> Message {
    let (mode, tenant_id) = (scope.mode, scope.tenant);
    let body = WebhookEvent { event: event.clone(), timestamp: event.time, mode, tenant_id };
    let body = serde_json::to_vec(&body).unwrap_or_default();
    Message { tenant: scope.tenant, id: event.id.to_string(), body: body.into() }
}

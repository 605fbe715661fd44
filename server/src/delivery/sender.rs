//! Polls for webhooks with events to send, claims them, and starts a delivery for each. It polls as
//! soon as this node has recorded an event, and twice a second for those of other nodes.
//!
//! A claim ensures that one node at a time sends to a webhook. It expires after 30 s, in case the
//! node crashes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chrono::TimeDelta;
use common::{TenantId, Timestamp, WebhookId, WebhookSecret};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::client::Client;
use super::send::{Delivery, Progress, SenderShared};
use super::settle::Settlements;
use super::test_deliveries::TestDeliveries;
use crate::db::{self, Db};
use crate::error::LineLimit;
use crate::events;
use crate::fair::FairSemaphore;
use crate::metrics::{Metrics, StateLabel};
use crate::secrets::{SealContext, SecretError, SecretKeys};
use crate::store::Scope;
use crate::store::webhooks::StoredWebhook;
use crate::store::webhooks::sending::{self, DueWebhook};

/// Maximum interval between polls for due webhooks, and on a sharded PostgreSQL, where each asks all
/// shards.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const SHARDED_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Minimum pause between polls while events are recorded all the time, and in durations of the last
/// poll.
const POLL_PAUSE: Duration = Duration::from_millis(50);
const POLL_PAUSE_FACTOR: u32 = 4;
/// Maximum number of webhooks per poll.
const POLL_LIMIT: i64 = 2000;
/// Duration of a claim: longer than a delivery with its last request and its settlement.
const CLAIM: TimeDelta = TimeDelta::seconds(30);
/// Maximum number of simultaneous deliveries, and of those whose receivers respond promptly.
const MAX_DELIVERIES: usize = 768;
const MAX_PROMPT_DELIVERIES: usize = 512;
/// Maximum number of simultaneous deliveries to failing receivers.
const MAX_FAILING_DELIVERIES: usize = 256;
/// Maximum number of simultaneous deliveries of a tenant.
const MAX_TENANT_DELIVERIES: usize = 32;
/// Maximum number of simultaneous requests in addition to the first of each delivery.
const MAX_EXTRA_REQUESTS: usize = 256;

/// A delivery under way.
struct RunningDelivery {
    tenant: TenantId,
    is_failing: bool,
    progress: Arc<Progress>,
}

pub struct Sender {
    shared: Arc<SenderShared>,
    pub secrets: SecretKeys,
    pub test_deliveries: TestDeliveries,
    /// Whether this node sends nothing.
    pub is_off: bool,
    running: Mutex<HashMap<WebhookId, RunningDelivery>>,
    ended: Notify,
}

/// Removes a delivery from those under way when this is dropped.
struct DeliveryGuard {
    sender: Arc<Sender>,
    webhook: WebhookId,
}

impl Drop for DeliveryGuard {
    fn drop(&mut self) {
        self.sender.running.lock().remove(&self.webhook);
        self.sender.ended.notify_waiters();
    }
}

/// Returns the context of the sealed secrets of a webhook.
pub fn seal_context(scope: Scope, webhook: WebhookId) -> SealContext {
    let (world, row) = (scope.world.number(), webhook.uuid());
    SealContext { table: "webhooks", column: "secrets", world, row }
}

/// Opens the secrets that sign now. Skips old secrets that cannot be opened.
pub async fn open_secrets(
    keys: &SecretKeys,
    scope: Scope,
    webhook: &StoredWebhook,
    now: Timestamp,
) -> Result<Vec<WebhookSecret>, SecretError> {
    let context = seal_context(scope, webhook.id);
    let mut opened = Vec::new();
    for (number, secret) in webhook.secrets.0.iter().enumerate() {
        if secret.until.is_some_and(|until| until <= now) {
            continue;
        }
        let sealed = STANDARD_NO_PAD.decode(&secret.sealed).map_err(|_| SecretError::Damaged)?;
        match keys.open(&sealed, &context).await {
            Ok(bytes) => opened.push(WebhookSecret::from_bytes(bytes)),
            Err(error) if number == 0 => return Err(error),
            Err(_) => {}
        }
    }
    Ok(opened)
}

impl Sender {
    pub fn new(
        db: Db,
        secrets: SecretKeys,
        client: Client,
        metrics: Arc<Metrics>,
        is_off: bool,
    ) -> Self {
        let shared = SenderShared {
            db,
            client,
            metrics,
            settlements: Settlements::default(),
            extra_requests: Arc::new(Semaphore::new(MAX_EXTRA_REQUESTS)),
            reads: FairSemaphore::new(1),
            is_stopping: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
            secrets,
            test_deliveries: TestDeliveries::default(),
            is_off,
            running: Mutex::default(),
            ended: Notify::new(),
        }
    }

    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    fn is_stopping(&self) -> bool {
        self.shared.is_stopping.load(Ordering::Relaxed)
    }

    /// Writes the results of deliveries, and does not return.
    pub async fn settle(self: Arc<Self>) {
        self.shared.settlements.run(&self.shared.db, &self.shared.metrics).await;
    }

    /// Counts the webhooks of all tenants by state, for the metrics.
    pub async fn show_states(&self) -> db::Result<()> {
        let (metrics, now) = (&self.shared.metrics, Timestamp::now());
        let found = sending::states(&mut self.shared.db.read().await?).await?;
        let healthy = found.webhooks - found.failing - found.disabled;
        let states =
            [("healthy", healthy), ("failing", found.failing), ("disabled", found.disabled)];
        for (state, count) in states {
            metrics.webhooks.get_or_create(&StateLabel { state }).set(count);
        }
        let longest = found.failing_since.map_or(0, |since| now.since(since).num_seconds());
        metrics.webhook_failing_seconds.set(longest.max(0));
        Ok(())
    }

    /// Polls and sends, and does not return.
    pub async fn run(self: Arc<Self>) {
        let (mut recorded, mut deliveries) = (events::recorded(), JoinSet::new());
        let is_sharded = self.shared.db.is_sharded();
        let interval = if is_sharded { SHARDED_POLL_INTERVAL } else { POLL_INTERVAL };
        self.shared.metrics.task_ran("webhooks", &self.free_old_claims().await);
        loop {
            // The error is the timeout.
            drop(timeout(interval, recorded.changed()).await);
            while deliveries.try_join_next().is_some() {}
            if self.is_stopping() {
                continue;
            }
            let began = Instant::now();
            let polled = self.poll(&mut deliveries).await;
            self.shared.metrics.task_ran("webhooks", &polled);
            sleep(POLL_PAUSE.max(began.elapsed() * POLL_PAUSE_FACTOR)).await;
        }
    }

    /// Stops starting requests, and waits until those under way are settled.
    pub async fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::Relaxed);
        loop {
            let ended = self.ended.notified();
            if self.running.lock().is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// Frees claims of a crashed process on SQLite, which only one process uses.
    async fn free_old_claims(&self) -> db::Result<()> {
        match &self.shared.db {
            Db::Sqlite(_) => sending::free_claims(&mut self.shared.db.write().await?).await,
            Db::Postgres { .. } => Ok(()),
        }
    }

    async fn poll(self: &Arc<Self>, deliveries: &mut JoinSet<()>) -> db::Result<()> {
        let now = Timestamp::now();
        let due = sending::due(&mut self.shared.db.read().await?, now, POLL_LIMIT).await?;
        let pending = due.iter().map(|it| it.last - it.webhook.state.sequence).max().unwrap_or(0);
        self.shared.metrics.webhook_pending.set(pending);
        // Webhooks whose secrets this node cannot open are left to the other nodes.
        let mut ids = Vec::new();
        for due in self.choose(due) {
            if self.open(&due, now).await.is_some() {
                ids.push((due.scope.world, due.webhook.id));
            }
        }
        if ids.is_empty() {
            return Ok(());
        }
        let (began, claim) = (Instant::now(), fastrand::i64(..));
        let mut tx = self.shared.db.begin().await?;
        let claimed = sending::claim(&mut tx, &ids, (claim, now, now.plus(CLAIM))).await?;
        tx.commit().await?;
        for due in claimed {
            if let Some(secrets) = self.open(&due, now).await {
                self.begin(deliveries, due, secrets, claim, began);
            }
        }
        Ok(())
    }

    /// Returns the secrets of a webhook. `None`, with a line in the log, if this node cannot open
    /// them. Another node may be able to.
    async fn open(&self, due: &DueWebhook, now: Timestamp) -> Option<Vec<WebhookSecret>> {
        static LINES: LineLimit = LineLimit::new();
        let opened = open_secrets(&self.secrets, due.scope, &due.webhook, now).await;
        opened
            .inspect_err(|error| {
                LINES.write(|left_out| {
                    tracing::warn!(
                        webhook = %due.webhook.id, %error, left_out,
                        "the secret of a webhook cannot be opened"
                    );
                });
            })
            .ok()
    }

    /// Selects the webhooks that the limits allow. Slow receivers do not count against prompt ones.
    fn choose(&self, due: Vec<DueWebhook>) -> Vec<DueWebhook> {
        let running = self.running.lock();
        let mut of_tenant: HashMap<TenantId, usize> = HashMap::new();
        let (mut all, mut prompt, mut failing) = (running.len(), 0, 0);
        for other in running.values() {
            *of_tenant.entry(other.tenant).or_default() += 1;
            failing += usize::from(other.is_failing);
            prompt += usize::from(!other.progress.is_slow());
        }
        let mut chosen = Vec::new();
        for due in due {
            let is_failing = due.webhook.state.failing_since.is_some();
            let own = of_tenant.entry(due.scope.tenant).or_default();
            let has_room = all < MAX_DELIVERIES
                && prompt < MAX_PROMPT_DELIVERIES
                && *own < MAX_TENANT_DELIVERIES
                && (!is_failing || failing < MAX_FAILING_DELIVERIES);
            if !has_room || running.contains_key(&due.webhook.id) {
                continue;
            }
            (all, prompt, *own) = (all + 1, prompt + 1, *own + 1);
            failing += usize::from(is_failing);
            chosen.push(due);
        }
        chosen
    }

    fn begin(
        self: &Arc<Self>,
        deliveries: &mut JoinSet<()>,
        due: DueWebhook,
        secrets: Vec<WebhookSecret>,
        claim: i64,
        began: Instant,
    ) {
        let webhook = due.webhook.id;
        let Ok(url) = due.webhook.url.parse() else { return };
        let progress = Arc::new(Progress::new());
        let is_failing = due.webhook.state.failing_since.is_some();
        let running =
            RunningDelivery { tenant: due.scope.tenant, is_failing, progress: progress.clone() };
        self.running.lock().insert(webhook, running);
        let guard = DeliveryGuard { sender: self.clone(), webhook };
        let delivery =
            Delivery { shared: self.shared.clone(), due, claim, began, url, secrets, progress };
        deliveries.spawn(async move {
            delivery.run().await;
            drop(guard);
        });
    }
}

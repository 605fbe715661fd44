//! Looks for webhooks that have something to send, claims them, and gives each a turn. A claim makes
//! one node send at a time; what a node has claimed and does not settle is free again after half a
//! minute.

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
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::client::Client;
use super::settle::Settlements;
use super::trials::Trials;
use super::turn::{Progress, Shared, Turn};
use crate::db::{self, Db};
use crate::error::LineLimit;
use crate::fair::Turns;
use crate::metrics::{Metrics, StateLabel};
use crate::secrets::{Place, SecretError, SecretKeys};
use crate::store::Scope;
use crate::store::webhooks::StoredWebhook;
use crate::store::webhooks::sending::{self, DueWebhook};

/// How often it is looked for something to send.
const LOOK: Duration = Duration::from_millis(500);
/// How many webhooks one look reads.
const LOOKED_AT: i64 = 2000;
/// How long a claim lasts: longer than a turn, its last request and its settlement.
const CLAIM: TimeDelta = TimeDelta::seconds(30);
/// How many turns run at the same time, and how many of those whose receivers answer promptly.
const TURNS: usize = 768;
const PROMPT_TURNS: usize = 512;
/// How many of them are for receivers that took nothing lately.
const FAILING_TURNS: usize = 256;
/// How many of them are one tenant's.
const TENANT_TURNS: usize = 32;
/// How many requests there are beside the first of each turn.
const WIDE: usize = 256;

/// A turn that runs.
struct Running {
    tenant: TenantId,
    is_failing: bool,
    progress: Arc<Progress>,
}

pub struct Sender {
    shared: Arc<Shared>,
    pub secrets: SecretKeys,
    pub trials: Trials,
    /// Whether this node sends nothing.
    pub is_off: bool,
    running: Mutex<HashMap<WebhookId, Running>>,
    ended: Notify,
}

/// Ends a turn, however it ends.
struct Ending {
    sender: Arc<Sender>,
    webhook: WebhookId,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.sender.running.lock().remove(&self.webhook);
        self.sender.ended.notify_waiters();
    }
}

/// Where the secrets of a webhook stand.
pub fn place(scope: Scope, webhook: WebhookId) -> Place {
    let (world, row) = (scope.world.number(), webhook.uuid());
    Place { table: "webhooks", column: "secrets", world, row }
}

/// The secrets that sign now. Old ones that cannot be opened are left out.
pub async fn open_secrets(
    keys: &SecretKeys,
    scope: Scope,
    webhook: &StoredWebhook,
    now: Timestamp,
) -> Result<Vec<WebhookSecret>, SecretError> {
    let place = place(scope, webhook.id);
    let mut opened = Vec::new();
    for (number, secret) in webhook.secrets.0.iter().enumerate() {
        if secret.until.is_some_and(|until| until <= now) {
            continue;
        }
        let sealed = STANDARD_NO_PAD.decode(&secret.sealed).map_err(|_| SecretError::Damaged)?;
        match keys.open(&sealed, &place).await {
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
        let shared = Shared {
            db,
            client,
            metrics,
            settlements: Settlements::default(),
            wide: Arc::new(Semaphore::new(WIDE)),
            reads: Turns::new(1),
            is_stopping: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
            secrets,
            trials: Trials::default(),
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

    /// Writes how turns went, for ever.
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

    /// Sends, for ever.
    pub async fn run(self: Arc<Self>) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut turns = JoinSet::new();
        self.shared.metrics.task_ran("webhooks", &self.free_old_claims().await);
        loop {
            ticks.tick().await;
            while turns.try_join_next().is_some() {}
            if self.is_stopping() {
                continue;
            }
            let looked = self.look(&mut turns).await;
            self.shared.metrics.task_ran("webhooks", &looked);
        }
    }

    /// Begins no more requests, and waits until those under way are settled.
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

    /// SQLite has one process, so claims are those of a process that crashed.
    async fn free_old_claims(&self) -> db::Result<()> {
        match &self.shared.db {
            Db::Sqlite(_) => sending::free_claims(&mut self.shared.db.write().await?).await,
            Db::Postgres { .. } => Ok(()),
        }
    }

    async fn look(self: &Arc<Self>, turns: &mut JoinSet<()>) -> db::Result<()> {
        let now = Timestamp::now();
        let due = sending::due(&mut self.shared.db.read().await?, now, LOOKED_AT).await?;
        let pending = due.iter().map(|it| it.last - it.webhook.sequence).max().unwrap_or(0);
        self.shared.metrics.webhook_pending.set(pending);
        let mut chosen = Vec::new();
        for due in self.choose(due) {
            match open_secrets(&self.secrets, due.scope, &due.webhook, now).await {
                Ok(secrets) => chosen.push((due, secrets)),
                Err(error) => {
                    let webhook = due.webhook.id;
                    static LINES: LineLimit = LineLimit::new();
                    LINES.write(|left_out| {
                        tracing::warn!(
                            %webhook, %error, left_out, "the secret of a webhook cannot be opened"
                        );
                    });
                }
            }
        }
        if chosen.is_empty() {
            return Ok(());
        }
        let (began, claim) = (Instant::now(), fastrand::i64(..));
        let ids: Vec<_> = chosen.iter().map(|(due, _)| due.webhook.id).collect();
        let mut tx = self.shared.db.begin().await?;
        let claimed = sending::claim(&mut tx, &ids, (claim, now, now.plus(CLAIM))).await?;
        tx.commit().await?;
        for (due, secrets) in chosen {
            if claimed.contains(&due.webhook.id) {
                self.begin(turns, due, secrets, claim, began);
            }
        }
        Ok(())
    }

    /// Those for which there is room. Slow receivers take none from prompt ones.
    fn choose(&self, due: Vec<DueWebhook>) -> Vec<DueWebhook> {
        let running = self.running.lock();
        let mut of_tenant: HashMap<TenantId, usize> = HashMap::new();
        let (mut all, mut prompt, mut failing) = (running.len(), 0, 0);
        for turn in running.values() {
            *of_tenant.entry(turn.tenant).or_default() += 1;
            failing += usize::from(turn.is_failing);
            prompt += usize::from(!turn.progress.is_slow());
        }
        let mut chosen = Vec::new();
        for due in due {
            let is_failing = due.webhook.failing_since.is_some();
            let own = of_tenant.entry(due.scope.tenant).or_default();
            let has_room = all < TURNS
                && prompt < PROMPT_TURNS
                && *own < TENANT_TURNS
                && (!is_failing || failing < FAILING_TURNS);
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
        turns: &mut JoinSet<()>,
        due: DueWebhook,
        secrets: Vec<WebhookSecret>,
        claim: i64,
        began: Instant,
    ) {
        let webhook = due.webhook.id;
        let Ok(url) = due.webhook.url.parse() else { return };
        let progress = Arc::new(Progress::new());
        let is_failing = due.webhook.failing_since.is_some();
        let running = Running { tenant: due.scope.tenant, is_failing, progress: progress.clone() };
        self.running.lock().insert(webhook, running);
        let ending = Ending { sender: self.clone(), webhook };
        let turn = Turn { shared: self.shared.clone(), due, claim, began, url, secrets, progress };
        turns.spawn(async move {
            turn.run().await;
            drop(ending);
        });
    }
}

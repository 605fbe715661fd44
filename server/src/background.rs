//! Background tasks. They write the uses of keys, the outcomes of validations and the last checks
//! of seats, send webhooks, record notices about ends of licenses, copy SQLite's log into its file,
//! drop idle rate limits, and delete old idempotency keys, uses, events and outcomes. A task that
//! panics is restarted.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use common::Timestamp;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep, timeout};

use crate::auth::gate::KeyGate;
use crate::auth::last_uses;
use crate::db::{self, Db};
use crate::delivery::sender::Sender;
use crate::http::App;
use crate::http::context::{report_omitted, report_validations};
use crate::metrics::Metrics;
use crate::ops::events::{self, Retention};
use crate::ops::nodes::Node;
use crate::ops::notices::{self, ExpiryNotices};
use crate::ops::{idempotency, numbers, sessions, webhooks};
use crate::supervise::supervise;
use crate::validation::{LastChecks, OutcomeCounts, idle, outcome_counts};

/// Interval between runs of a task.
const INTERVAL: Duration = Duration::from_secs(2);
/// Interval between deletions of old rows on a sharded PostgreSQL, where each asks all shards.
const SHARDED_RETENTION_INTERVAL: Duration = Duration::from_secs(60);
/// Interval between records of uptime, which follow the write of all checks.
const UPTIME_INTERVAL: Duration = Duration::from_secs(30);
/// Interval between searches for licenses that have ended or will end soon.
const NOTICES_INTERVAL: Duration = Duration::from_secs(10);
/// Minimum and maximum interval between counts of the numbers of plans, and how many times as long as
/// a count took the interval is.
const NUMBERS_INTERVAL: Duration = Duration::from_secs(60);
const MAX_NUMBERS_INTERVAL: Duration = Duration::from_secs(3600);
const NUMBERS_PAUSE: u32 = 360;
/// Interval between counts of the webhooks by state.
const WEBHOOK_STATES_INTERVAL: Duration = Duration::from_secs(30);
/// Minimum interval between log lines about dropped checks, and between those that count validations.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// Timeout of the last requests to the receivers of webhooks.
const WEBHOOKS_TIMEOUT: Duration = Duration::from_secs(16);
/// Timeout of each of the last writes.
const FINISH_TIMEOUT: Duration = Duration::from_secs(6);

/// The background tasks, which end when this is dropped.
pub struct Tasks {
    work: Work,
    running: JoinSet<()>,
}

/// Resources of the tasks.
#[derive(Clone)]
struct Work {
    db: Db,
    gate: Arc<KeyGate>,
    outcomes: Arc<OutcomeCounts>,
    last_checks: Arc<LastChecks>,
    metrics: Arc<Metrics>,
    webhooks: Arc<Sender>,
    node: Node,
    events_kept: Retention,
    expiry_notices: ExpiryNotices,
}

impl Tasks {
    /// Starts the tasks. Tasks that may write much are separate from the others.
    pub fn start(app: &App, events_kept: Retention, expiry_notices: ExpiryNotices) -> Self {
        let work = Work {
            db: app.db.clone(),
            gate: app.gate.clone(),
            outcomes: app.outcomes.clone(),
            last_checks: app.last_checks.clone(),
            metrics: app.metrics.clone(),
            webhooks: app.webhooks.clone(),
            node: app.node.clone(),
            events_kept,
            expiry_notices,
        };
        let mut tasks = Self { work, running: JoinSet::new() };
        tasks.spawn("maintenance", Work::maintain);
        tasks.spawn("retention", Work::forget_old);
        tasks.spawn("outcomes", Work::write_outcomes);
        tasks.spawn("last_checks", Work::write_last_checks);
        tasks.spawn("notices", Work::give_notices);
        tasks.spawn("numbers", Work::count_numbers);
        tasks.spawn("webhook_states", Work::show_webhooks);
        if !app.webhooks.is_off {
            tasks.spawn("webhooks", |work| work.webhooks.run());
            tasks.spawn("webhook_results", |work| work.webhooks.settle());
        }
        if matches!(app.db, Db::Sqlite(_)) {
            tasks.spawn("checkpoints", Work::checkpoint);
        }
        tasks
    }

    fn spawn<R>(&mut self, name: &'static str, task: fn(Work) -> R)
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let work = self.work.clone();
        let metrics = work.metrics.clone();
        self.running.spawn(supervise(name, metrics, move || task(work.clone())));
    }

    /// Writes the data that is only in memory, and ends the tasks. Each write waits for the write
    /// of its task, because an interrupted batch would be lost or counted twice.
    pub async fn finish(self) {
        let Work { db, gate, outcomes, last_checks, webhooks, node, .. } = &self.work;
        finish("key_uses", gate.last_uses.write(db)).await;
        finish("outcomes", outcomes.flush(db)).await;
        finish("last_checks", last_checks.write(db)).await;
        finish("node", node.leave(db)).await;
        report_validations();
        // Interrupted deliveries are sent again.
        drop(timeout(WEBHOOKS_TIMEOUT, webhooks.stop()).await);
    }
}

async fn finish(task: &'static str, write: impl Future<Output = db::Result<()>>) {
    match timeout(FINISH_TIMEOUT, write).await {
        Ok(Ok(())) => {}
        failed => tracing::warn!(task, ?failed, "the last writes of a background task failed"),
    }
}

impl Work {
    async fn maintain(self) {
        let Self { db, gate, .. } = &self;
        let mut ticks = ticks();
        let mut reported_at = Instant::now();
        loop {
            ticks.tick().await;
            gate.forget_idle();
            report_omitted();
            if reported_at.elapsed() >= REPORT_INTERVAL {
                reported_at = Instant::now();
                report_validations();
            }
            self.run("key_uses", gate.last_uses.write(db)).await;
        }
    }

    async fn forget_old(self) {
        let db = &self.db;
        let is_sharded = db.is_sharded();
        let mut ticks = ticks_each(if is_sharded { SHARDED_RETENTION_INTERVAL } else { INTERVAL });
        loop {
            ticks.tick().await;
            let now = Timestamp::now();
            self.run("key_uses_retention", last_uses::forget_old(db, now)).await;
            self.run("idempotency_retention", idempotency::forget_old(db, now)).await;
            self.run("sessions_retention", sessions::forget_ended(db, now)).await;
            self.run("webhook_failures_retention", webhooks::forget_old_failures(db, now)).await;
            self.run("events_retention", events::forget_old(db, self.events_kept, now)).await;
            self.run("outcomes_retention", outcome_counts::forget_old(db, now)).await;
            self.run("numbers_retention", numbers::forget_old(db, now)).await;
        }
    }

    async fn write_outcomes(self) {
        let Self { db, outcomes, .. } = &self;
        let mut ticks = ticks();
        loop {
            ticks.tick().await;
            self.run("outcomes", outcomes.flush(db)).await;
        }
    }

    async fn write_last_checks(self) {
        let Self { db, last_checks, .. } = &self;
        let mut ticks = ticks();
        let (mut reported, mut reported_at) = (0, None::<Instant>);
        let mut noted_at = Instant::now();
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = last_checks.half_full() => {}
            }
            if !self.run("last_checks", last_checks.write(db)).await {
                // A check that is recorded in the meantime would start the next attempt immediately.
                ticks.tick().await;
            } else if noted_at.elapsed() >= UPTIME_INTERVAL {
                noted_at = Instant::now();
                let noted = async {
                    let offset = idle::record_uptime(db).await?;
                    self.node.record(db).await?;
                    self.metrics.set_clock_offset(offset.unwrap_or_default());
                    Ok(())
                };
                self.run("uptime", noted).await;
            }
            let (_, dropped) = last_checks.unwritten_and_dropped();
            if dropped > reported && reported_at.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
                let checks = dropped - reported;
                tracing::warn!(checks, "too many seats were checked: some times were not kept");
                (reported, reported_at) = (dropped, Some(Instant::now()));
            }
        }
    }

    async fn give_notices(self) {
        let mut ticks = ticks_each(NOTICES_INTERVAL);
        loop {
            ticks.tick().await;
            let given = notices::give(&self.db, &self.expiry_notices, Timestamp::now());
            self.run("notices", given).await;
        }
    }

    /// Counts more often than hourly where that takes little time.
    async fn count_numbers(self) {
        loop {
            let begun = Instant::now();
            self.run("numbers", numbers::count(&self.db, Timestamp::now())).await;
            let pause = begun.elapsed() * NUMBERS_PAUSE;
            sleep(pause.clamp(NUMBERS_INTERVAL, MAX_NUMBERS_INTERVAL)).await;
        }
    }

    async fn show_webhooks(self) {
        let mut ticks = ticks_each(WEBHOOK_STATES_INTERVAL);
        loop {
            ticks.tick().await;
            self.run("webhook_states", self.webhooks.show_states()).await;
        }
    }

    async fn checkpoint(self) {
        let mut ticks = ticks();
        loop {
            ticks.tick().await;
            self.run("checkpoints", self.db.checkpoint()).await;
        }
    }

    /// Runs a task once and notes how that ended; the task is tried again with the next tick.
    async fn run(&self, task: &'static str, work: impl Future<Output = db::Result<()>>) -> bool {
        let done = work.await;
        self.metrics.task_ran(task, &done);
        done.is_ok()
    }
}

fn ticks() -> Interval {
    ticks_each(INTERVAL)
}

fn ticks_each(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

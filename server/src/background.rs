//! The tasks beside the requests: the uses of keys, the outcomes of validations and the last checks
//! of seats are written, SQLite's log is copied into its file, idle rate limits are forgotten, old
//! idempotency keys, uses, events and outcomes deleted. A task that breaks off is started anew.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use common::Timestamp;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};

use crate::App;
use crate::db::{self, Db};
use crate::http::context::report_omitted;
use crate::metrics::Metrics;
use crate::ops::events::{self, Retention};
use crate::ops::{idempotency, sessions};
use crate::supervise::supervise;
use crate::validation::gate::KeyGate;
use crate::validation::{LastChecks, OutcomeCounts, last_uses, outcome_counts};

/// How often each task runs.
const INTERVAL: Duration = Duration::from_secs(2);
/// How often it is logged at most that checks were dropped.
const REPORT: Duration = Duration::from_secs(60);
/// How long each of the last writes may take.
const FINISH_TIMEOUT: Duration = Duration::from_secs(6);

/// The tasks, which end when this is dropped.
pub struct Tasks {
    work: Work,
    running: JoinSet<()>,
}

/// What the tasks work on.
#[derive(Clone)]
struct Work {
    db: Db,
    gate: Arc<KeyGate>,
    outcomes: Arc<OutcomeCounts>,
    last_checks: Arc<LastChecks>,
    metrics: Arc<Metrics>,
    events_kept: Retention,
}

impl Tasks {
    /// Starts the tasks. Those that may have much to write are apart from the others.
    pub fn start(app: &App, events_kept: Retention) -> Self {
        let work = Work {
            db: app.db.clone(),
            gate: app.gate.clone(),
            outcomes: app.outcomes.clone(),
            last_checks: app.last_checks.clone(),
            metrics: app.metrics.clone(),
            events_kept,
        };
        let mut tasks = Self { work, running: JoinSet::new() };
        tasks.run("maintenance", Work::maintain);
        tasks.run("outcomes", Work::write_outcomes);
        tasks.run("last_checks", Work::write_last_checks);
        tasks.run("checkpoints", Work::checkpoint);
        tasks
    }

    fn run<R>(&mut self, name: &'static str, task: fn(Work) -> R)
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let work = self.work.clone();
        let metrics = work.metrics.clone();
        self.running.spawn(supervise(name, metrics, move || task(work.clone())));
    }

    /// Writes what is in memory alone, and ends the tasks. Each write waits for the same of its task:
    /// a portion that was cut off would be lost, or counted twice.
    pub async fn finish(self) {
        let Work { db, gate, outcomes, last_checks, .. } = &self.work;
        finish("uses of keys", gate.last_uses.write(db)).await;
        finish("outcomes", outcomes.flush(db)).await;
        finish("checks of seats", last_checks.write(db)).await;
    }
}

async fn finish(what: &str, write: impl Future<Output = db::Result<()>>) {
    match timeout(FINISH_TIMEOUT, write).await {
        Ok(Ok(())) => {}
        failed => tracing::warn!(?failed, "the last {what} could not be written"),
    }
}

impl Work {
    async fn maintain(self) {
        let Self { db, gate, .. } = &self;
        let mut ticks = ticks();
        loop {
            ticks.tick().await;
            gate.forget_idle();
            report_omitted();
            if let Err(error) = self.noted("key_uses", gate.last_uses.write(db)).await {
                tracing::warn!(%error, "the uses of keys could not be written");
            }
            let now = Timestamp::now();
            let done = last_uses::forget_old(db, now);
            if let Err(error) = self.noted("key_uses_retention", done).await {
                tracing::warn!(%error, "old uses of keys could not be deleted");
            }
            let done = idempotency::forget_old(db, now);
            if let Err(error) = self.noted("idempotency_retention", done).await {
                tracing::warn!(%error, "old idempotency keys could not be deleted");
            }
            let done = sessions::forget_ended(db, now);
            if let Err(error) = self.noted("sessions_retention", done).await {
                tracing::warn!(%error, "sessions that have ended could not be deleted");
            }
            let done = events::forget_old(db, self.events_kept, now);
            if let Err(error) = self.noted("events_retention", done).await {
                tracing::warn!(%error, "old events could not be deleted");
            }
        }
    }

    async fn write_outcomes(self) {
        let Self { db, outcomes, .. } = &self;
        let mut ticks = ticks();
        loop {
            ticks.tick().await;
            if let Err(error) = self.noted("outcomes", outcomes.flush(db)).await {
                tracing::warn!(%error, "the outcomes of validations could not be written");
            }
            let done = outcome_counts::forget_old(db, Timestamp::now());
            if let Err(error) = self.noted("outcomes_retention", done).await {
                tracing::warn!(%error, "old outcomes could not be deleted");
            }
        }
    }

    async fn write_last_checks(self) {
        let Self { db, last_checks, .. } = &self;
        let mut ticks = ticks();
        let (mut reported, mut reported_at) = (0, None::<Instant>);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = last_checks.half_full() => {}
            }
            if let Err(error) = self.noted("last_checks", last_checks.write(db)).await {
                tracing::warn!(%error, "the times of the last checks could not be written");
                // A note that comes meanwhile would begin the next try at once.
                ticks.tick().await;
            }
            let (_, dropped) = last_checks.unwritten_and_dropped();
            if dropped > reported && reported_at.is_none_or(|at| at.elapsed() >= REPORT) {
                let checks = dropped - reported;
                tracing::warn!(checks, "too many seats were checked: some times were not kept");
                (reported, reported_at) = (dropped, Some(Instant::now()));
            }
        }
    }

    async fn checkpoint(self) {
        let mut ticks = ticks();
        loop {
            ticks.tick().await;
            if let Err(error) = self.noted("checkpoints", self.db.checkpoint()).await {
                tracing::warn!(%error, "the write-ahead log could not be copied into the database");
            }
        }
    }

    /// Notes in the metrics how a task's run ended.
    async fn noted(
        &self,
        task: &'static str,
        run: impl Future<Output = db::Result<()>>,
    ) -> db::Result<()> {
        let done = run.await;
        self.metrics.task_ran(task, done.is_ok());
        done
    }
}

fn ticks() -> Interval {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

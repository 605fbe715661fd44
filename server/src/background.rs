//! The tasks beside the requests: the uses of keys, the outcomes of validations and the last checks
//! of seats are written, idle rate limits forgotten, old idempotency keys, uses, events and outcomes
//! deleted. A task that breaks off is started anew.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::db::{self, Db};
use crate::metrics::Metrics;
use crate::ops::age::Clocks;
use crate::ops::events::{self, Retention};
use crate::ops::{idempotency, sessions};
use crate::supervise::supervise;
use crate::validation::LastChecks;
use crate::validation::gate::KeyGate;
use crate::validation::last_uses;
use crate::validation::outcome_counts::{self, OutcomeCounts};

/// How often each task runs.
const INTERVAL: Duration = Duration::from_secs(2);
/// How often it is logged at most that checks were dropped.
const REPORT: Duration = Duration::from_secs(60);

/// Starts the tasks, which end when they are aborted. `report_omitted` logs how many lines were left
/// out of the log.
pub fn start(
    db: Db,
    gate: Arc<KeyGate>,
    events_kept: Retention,
    report_omitted: fn(),
    metrics: Arc<Metrics>,
) -> JoinHandle<()> {
    let task = {
        let metrics = metrics.clone();
        move || {
            let (db, gate, metrics) = (db.clone(), gate.clone(), metrics.clone());
            run_maintenance(db, gate, events_kept, report_omitted, metrics)
        }
    };
    tokio::spawn(supervise("maintenance", metrics, task))
}

async fn run_maintenance(
    db: Db,
    gate: Arc<KeyGate>,
    events_kept: Retention,
    report_omitted: fn(),
    metrics: Arc<Metrics>,
) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        gate.forget_idle();
        report_omitted();
        let done = gate.last_uses.write(&db).await;
        if let Err(error) = noted(&metrics, "key_uses", done) {
            tracing::warn!(%error, "the uses of keys could not be written");
        }
        // A clock that jumps ahead deletes nothing that is young.
        let now = Clocks::now().earliest;
        let done = last_uses::forget_old(&db, now).await;
        if let Err(error) = noted(&metrics, "key_uses_retention", done) {
            tracing::warn!(%error, "old uses of keys could not be deleted");
        }
        let done = idempotency::forget_old(&db, now).await;
        if let Err(error) = noted(&metrics, "idempotency_retention", done) {
            tracing::warn!(%error, "old idempotency keys could not be deleted");
        }
        let done = sessions::forget_ended(&db, now).await;
        if let Err(error) = noted(&metrics, "sessions_retention", done) {
            tracing::warn!(%error, "sessions that have ended could not be deleted");
        }
        let done = events::forget_old(&db, events_kept, now).await;
        if let Err(error) = noted(&metrics, "events_retention", done) {
            tracing::warn!(%error, "old events could not be deleted");
        }
    }
}

/// Starts the task that writes outcomes, which ends when it is aborted. It works apart from the
/// others, as it may have much to write.
pub fn start_outcomes(
    db: Db,
    outcomes: Arc<OutcomeCounts>,
    metrics: Arc<Metrics>,
) -> JoinHandle<()> {
    let task = {
        let metrics = metrics.clone();
        move || write_outcomes(db.clone(), outcomes.clone(), metrics.clone())
    };
    tokio::spawn(supervise("outcomes", metrics, task))
}

async fn write_outcomes(db: Db, outcomes: Arc<OutcomeCounts>, metrics: Arc<Metrics>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let done = outcomes.flush(&db).await;
        if let Err(error) = noted(&metrics, "outcomes", done) {
            tracing::warn!(%error, "the outcomes of validations could not be written");
        }
        let done = outcome_counts::forget_old(&db, Clocks::now().earliest).await;
        if let Err(error) = noted(&metrics, "outcomes_retention", done) {
            tracing::warn!(%error, "old outcomes could not be deleted");
        }
    }
}

/// Starts the task that writes when seats were last checked, which ends when it is aborted.
pub fn start_last_checks(
    db: Db,
    last_checks: Arc<LastChecks>,
    metrics: Arc<Metrics>,
) -> JoinHandle<()> {
    let task = {
        let metrics = metrics.clone();
        move || write_last_checks(db.clone(), last_checks.clone(), metrics.clone())
    };
    tokio::spawn(supervise("last_checks", metrics, task))
}

async fn write_last_checks(db: Db, last_checks: Arc<LastChecks>, metrics: Arc<Metrics>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut reported, mut reported_at) = (0, None::<Instant>);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = last_checks.half_full() => {}
        }
        let done = last_checks.write(&db).await;
        if let Err(error) = noted(&metrics, "last_checks", done) {
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

/// Notes in the metrics how a task's run ended.
fn noted(metrics: &Metrics, task: &'static str, done: db::Result<()>) -> db::Result<()> {
    metrics.task_ran(task, done.is_ok());
    done
}

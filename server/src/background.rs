//! The tasks beside the requests: the uses of keys and the outcomes of validations are written, idle
//! rate limits forgotten, old idempotency keys, uses, events and outcomes deleted. A task that breaks
//! off is started anew.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::db::Db;
use crate::ops::age::Clocks;
use crate::ops::events::{self, Retention};
use crate::ops::{idempotency, sessions};
use crate::supervise::supervise;
use crate::validation::gate::KeyGate;
use crate::validation::last_uses;
use crate::validation::outcome_counts::{self, OutcomeCounts};

/// How often each task runs.
const INTERVAL: Duration = Duration::from_secs(2);

/// Starts the tasks, which end when they are aborted. `report_omitted` logs how many lines were left
/// out of the log.
pub fn start(
    db: Db,
    gate: Arc<KeyGate>,
    events_kept: Retention,
    report_omitted: fn(),
) -> JoinHandle<()> {
    let task = move || run_maintenance(db.clone(), gate.clone(), events_kept, report_omitted);
    tokio::spawn(supervise("maintenance", task))
}

async fn run_maintenance(db: Db, gate: Arc<KeyGate>, events_kept: Retention, report_omitted: fn()) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        gate.forget_idle();
        report_omitted();
        if let Err(error) = gate.last_uses.write(&db).await {
            tracing::warn!(%error, "the uses of keys could not be written");
        }
        // A clock that jumps ahead deletes nothing that is young.
        let now = Clocks::now().earliest;
        if let Err(error) = last_uses::forget_old(&db, now).await {
            tracing::warn!(%error, "old uses of keys could not be deleted");
        }
        if let Err(error) = idempotency::forget_old(&db, now).await {
            tracing::warn!(%error, "old idempotency keys could not be deleted");
        }
        if let Err(error) = sessions::forget_ended(&db, now).await {
            tracing::warn!(%error, "sessions that have ended could not be deleted");
        }
        if let Err(error) = events::forget_old(&db, events_kept, now).await {
            tracing::warn!(%error, "old events could not be deleted");
        }
    }
}

/// Starts the task that writes outcomes, which ends when it is aborted. It works apart from the
/// others, as it may have much to write.
pub fn start_outcomes(db: Db, outcomes: Arc<OutcomeCounts>) -> JoinHandle<()> {
    tokio::spawn(supervise("outcomes", move || write_outcomes(db.clone(), outcomes.clone())))
}

async fn write_outcomes(db: Db, outcomes: Arc<OutcomeCounts>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = outcomes.flush(&db).await {
            tracing::warn!(%error, "the outcomes of validations could not be written");
        }
        if let Err(error) = outcome_counts::forget_old(&db, Clocks::now().earliest).await {
            tracing::warn!(%error, "old outcomes could not be deleted");
        }
    }
}

//! Times of the last checks of seats. They are collected in memory and written every few seconds,
//! so a validation that changes nothing else writes nothing. A crash loses the last few seconds of
//! them.
//!
//! A node that shows a seat includes the checks that it has not written yet.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::time::{Duration, Instant};

use common::{Activation, ActivationId, LicenseId, Timestamp, UserId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::db::{Db, Result};
use crate::store::batch_rows::BatchRow;
use crate::store::{World, seats};

/// Maximum number of seats with unwritten checks, which take about 25 MB. Further checks are dropped.
const MAX_PENDING: usize = 262_144;
/// Upper bound of the time between reading seats and showing them.
const MAX_READ_TIME: Duration = Duration::from_secs(30);
/// Maximum number of seats per statement. Other writers can go in between.
const BATCH: usize = 500;

/// The assignment of a seat. Times are written in this order.
type SeatKey = (UserId, LicenseId);

/// Checks that are not written yet, one for each seat.
#[derive(Default)]
pub struct LastChecks {
    pending: Mutex<PendingChecks>,
    /// Locked while checks are written, so that concurrent calls do not write a check twice.
    writing: tokio::sync::Mutex<()>,
    half_full: Notify,
}

#[derive(Default)]
struct PendingChecks {
    checks: BTreeMap<SeatKey, Check>,
    /// Checks written recently, and checks written before those. They are kept for readers that
    /// read the database before the write, which must not show earlier times than readers after it.
    written: [BTreeMap<SeatKey, Check>; 2],
    /// Time at which the recent checks became the older ones.
    rotated_at: Option<Instant>,
    /// Number of checks that were dropped since the process started.
    dropped: u64,
}

#[derive(Clone, Copy, PartialEq)]
struct Check {
    world: World,
    seat: ActivationId,
    time: Timestamp,
}

impl LastChecks {
    /// Records checks of seats.
    pub fn record<'a>(&self, seats: impl Iterator<Item = (World, &'a Activation)>) {
        let mut pending = self.pending.lock();
        for (world, seat) in seats {
            let check = Check { world, seat: seat.id, time: seat.last_checked_at };
            let is_full = pending.checks.len() >= MAX_PENDING;
            match pending.checks.entry((seat.user_id, seat.license_id)) {
                // Batches may end in another order than they began.
                Entry::Occupied(known) if known.get().time > check.time => {}
                Entry::Occupied(mut known) => {
                    known.insert(check);
                }
                Entry::Vacant(_) if is_full => pending.dropped += 1,
                Entry::Vacant(free) => {
                    free.insert(check);
                }
            }
        }
        if pending.checks.len() >= MAX_PENDING / 2 {
            self.half_full.notify_one();
        }
    }

    /// Updates a seat from the database with the last check by this node, if that is later.
    pub fn show(&self, seat: &mut Activation) {
        seat.last_checked_at =
            self.latest((seat.user_id, seat.license_id), seat.id, seat.last_checked_at);
    }

    /// Returns the time of the last check of a seat, given the `stored` one.
    pub fn latest(&self, place: SeatKey, seat: ActivationId, stored: Timestamp) -> Timestamp {
        let pending = self.pending.lock();
        let written = pending.written.iter().filter_map(|checks| checks.get(&place));
        let checks = pending.checks.get(&place).into_iter().chain(written);
        let times = checks.filter(|check| check.seat == seat).map(|check| check.time);
        times.max().map_or(stored, |time| time.max(stored))
    }

    /// Returns the numbers of unwritten checks, and of checks dropped since the process started.
    pub fn unwritten_and_dropped(&self) -> (usize, u64) {
        let pending = self.pending.lock();
        (pending.checks.len(), pending.dropped)
    }

    /// Waits until half of the space is used.
    pub async fn half_full(&self) {
        self.half_full.notified().await;
    }

    /// Writes the checks in batches. Checks of a batch that fails remain. After one failure it
    /// continues with the next batch, after two it stops. Concurrent calls wait for each other.
    pub async fn write(&self, db: &Db) -> Result<()> {
        let _writing = self.writing.lock().await;
        self.rotate_written();
        let (mut after, mut failed) = (Bound::Unbounded, Ok(()));
        loop {
            let batch: Vec<_> = {
                let pending = self.pending.lock();
                let rest = pending.checks.range((after, Bound::Unbounded)).take(BATCH);
                rest.map(|(place, check)| (*place, *check)).collect()
            };
            let Some((last, _)) = batch.last() else { return failed };
            after = Bound::Excluded(*last);
            let rows: Vec<_> = batch.iter().map(|(place, check)| row(*place, check)).collect();
            let written = async { seats::check(&mut db.write().await?, &rows).await };
            match written.await {
                Ok(_) => self.forget(batch),
                Err(error) if failed.is_ok() => failed = Err(error),
                Err(error) => return Err(error),
            }
        }
    }

    /// Drops written checks that no reader can need any more, or earlier if there are many.
    fn rotate_written(&self) {
        let mut pending = self.pending.lock();
        let is_old =
            pending.rotated_at.is_none_or(|rotated_at| rotated_at.elapsed() > MAX_READ_TIME);
        if is_old || pending.written[0].len() > MAX_PENDING / 2 {
            let [young, old] = &mut pending.written;
            *old = std::mem::take(young);
            pending.rotated_at = Some(Instant::now());
        }
    }

    /// Removes checks that were written, unless the seat was checked again in the meantime.
    fn forget(&self, written: Vec<(SeatKey, Check)>) {
        let mut pending = self.pending.lock();
        for (place, check) in &written {
            if pending.checks.get(place) == Some(check) {
                pending.checks.remove(place);
            }
        }
        pending.written[0].extend(written);
    }
}

fn row((user_id, license_id): SeatKey, check: &Check) -> BatchRow<'static> {
    BatchRow::check(check.world, user_id, license_id, check.seat, check.time)
}

#[cfg(test)]
mod tests;

//! When the holders of seats were last checked. The times are noted in memory and written every few
//! seconds, so that a validation that changes nothing else writes nothing. A crash loses only the
//! last few seconds of these times.
//!
//! Seats shown by this node include its unwritten checks.

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

/// The most seats that are noted, in some 25 MB. Checks of more seats are dropped.
const MAX_NOTED: usize = 262_144;
/// Longer than any time between reading seats and showing them.
const LONGEST_READ: Duration = Duration::from_secs(30);
/// How many seats one statement writes; others can write between two.
const PORTION: usize = 500;

/// The assignment whose seat was checked. Times are written in this order.
type Place = (UserId, LicenseId);

/// The checks that are not written yet, one for each seat.
#[derive(Default)]
pub struct LastChecks {
    noted: Mutex<Noted>,
    /// Held while checks are written, so that none is written twice concurrently.
    writing: tokio::sync::Mutex<()>,
    half_full: Notify,
}

#[derive(Default)]
struct Noted {
    checks: BTreeMap<Place, Check>,
    /// The checks written recently, and those written before. A reader that saw the database before
    /// a check was written must not show an earlier time than one that saw it afterwards.
    written: [BTreeMap<Place, Check>; 2],
    /// When the first became the second.
    turned: Option<Instant>,
    /// How many checks were dropped since the process started.
    dropped: u64,
}

#[derive(Clone, Copy, PartialEq)]
struct Check {
    world: World,
    seat: ActivationId,
    time: Timestamp,
}

impl LastChecks {
    /// Notes seats that were checked just now.
    pub fn note<'a>(&self, seats: impl Iterator<Item = (World, &'a Activation)>) {
        let mut noted = self.noted.lock();
        for (world, seat) in seats {
            let check = Check { world, seat: seat.id, time: seat.last_checked_at };
            let is_full = noted.checks.len() >= MAX_NOTED;
            match noted.checks.entry((seat.user_id, seat.license_id)) {
                // Batches may end in a different order than they began.
                Entry::Occupied(known) if known.get().time > check.time => {}
                Entry::Occupied(mut known) => {
                    known.insert(check);
                }
                Entry::Vacant(_) if is_full => noted.dropped += 1,
                Entry::Vacant(free) => {
                    free.insert(check);
                }
            }
        }
        if noted.checks.len() >= MAX_NOTED / 2 {
            self.half_full.notify_one();
        }
    }

    /// Sets the time of a seat that was read to that of its last check by this node, if later.
    pub fn show(&self, seat: &mut Activation) {
        seat.last_checked_at =
            self.latest((seat.user_id, seat.license_id), seat.id, seat.last_checked_at);
    }

    /// The last check of a seat, for which the database has `stored`.
    pub fn latest(&self, place: Place, seat: ActivationId, stored: Timestamp) -> Timestamp {
        let noted = self.noted.lock();
        let written = noted.written.iter().filter_map(|checks| checks.get(&place));
        let checks = noted.checks.get(&place).into_iter().chain(written);
        let times = checks.filter(|check| check.seat == seat).map(|check| check.time);
        times.max().map_or(stored, |time| time.max(stored))
    }

    /// How many checks are not written yet, and how many were dropped since the process started.
    pub fn unwritten_and_dropped(&self) -> (usize, u64) {
        let noted = self.noted.lock();
        (noted.checks.len(), noted.dropped)
    }

    /// Waits until half of the space is used.
    pub async fn half_full(&self) {
        self.half_full.notified().await;
    }

    /// Writes the noted checks, in portions. Those that cannot be written remain; a portion that
    /// fails alone does not stop those behind it. Concurrent calls wait for each other.
    pub async fn write(&self, db: &Db) -> Result<()> {
        let _writing = self.writing.lock().await;
        self.begin_to_write();
        let (mut after, mut failed) = (Bound::Unbounded, Ok(()));
        loop {
            let portion: Vec<_> = {
                let noted = self.noted.lock();
                let rest = noted.checks.range((after, Bound::Unbounded)).take(PORTION);
                rest.map(|(place, check)| (*place, *check)).collect()
            };
            let Some((last, _)) = portion.last() else { return failed };
            after = Bound::Excluded(*last);
            let rows: Vec<_> = portion.iter().map(|(place, check)| row(*place, check)).collect();
            let written = async { seats::check(&mut db.write().await?, &rows).await };
            match written.await {
                Ok(_) => self.forget(portion),
                Err(error) if failed.is_ok() => failed = Err(error),
                Err(error) => return Err(error),
            }
        }
    }

    /// Drops the checks written long ago, or earlier if there are many.
    fn begin_to_write(&self) {
        let mut noted = self.noted.lock();
        let is_old = noted.turned.is_none_or(|turned| turned.elapsed() > LONGEST_READ);
        if is_old || noted.written[0].len() > MAX_NOTED / 2 {
            let [young, old] = &mut noted.written;
            *old = std::mem::take(young);
            noted.turned = Some(Instant::now());
        }
    }

    /// Removes the checks that were written, unless the seat was checked again meanwhile.
    fn forget(&self, written: Vec<(Place, Check)>) {
        let mut noted = self.noted.lock();
        for (place, check) in &written {
            if noted.checks.get(place) == Some(check) {
                noted.checks.remove(place);
            }
        }
        noted.written[0].extend(written);
    }
}

fn row((user_id, license_id): Place, check: &Check) -> BatchRow<'static> {
    BatchRow::check(check.world, user_id, license_id, check.seat, check.time)
}

#[cfg(test)]
mod tests;

//! Idle seats of floating licenses, which other users may take over.
//!
//! A seat is idle only if its holder could have validated and did not. Each response to a holder
//! leaves a check in the database that is younger than half of the idle time ([`must_be_written`]),
//! and a seat is idle after the whole idle time. Only time in which licd was up counts, by a clock
//! that all nodes share.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::TimeDelta;
use common::{Activation, ActivationId, LicenseId, SeatIdleMinutes, Timestamp};

use crate::db::{Conn, Db, Result};
use crate::store::batch_rows::BatchRow;
use crate::store::seats::{self, HeldSeat};
use crate::store::uptime::{self, LONGEST_GAP, Uptime};
use crate::store::validations::AssignedLicense;
use crate::store::{Scope, World};

/// Time beyond the idle time after which a seat is idle, because clocks differ and checks are written
/// with a delay.
const MARGIN: TimeDelta = TimeDelta::seconds(30);
/// Maximum difference between the shared clock and that of a node that takes seats over.
const MAX_OFFSET: TimeDelta = TimeDelta::seconds(10);

/// Whether a validation must be written before its response: because the stored check of this seat
/// is too old, or because the license starts with its first validation.
pub fn must_be_written(assigned: &AssignedLicense, seat: &Activation, now: Timestamp) -> bool {
    let is_old = |idle: SeatIdleMinutes| {
        let age = now.since(seat.last_checked_at);
        // A check in the future means that the clock of another node is ahead, or this clock is
        // behind.
        age > idle.duration() / 2 || age < -MARGIN
    };
    assigned.terms.starts_with_days.is_some() || assigned.idle_time().is_some_and(is_old)
}

/// Records that licd is up, because seats become idle only in that time. Returns by how much this
/// node's clock is ahead of the shared clock, if there is one.
pub async fn record_uptime(db: &Db) -> Result<Option<TimeDelta>> {
    let mut tx = db.begin().await?;
    let offset = uptime::note(&mut tx, Timestamp::now()).await?;
    tx.commit().await?;
    Ok(offset)
}

/// A license that is full, or may become full, and of which users want seats.
#[derive(Clone, Copy)]
pub struct ContestedLicense {
    pub scope: Scope,
    pub license: LicenseId,
    pub idle: SeatIdleMinutes,
    /// Maximum number of seats to examine.
    pub seats: i32,
}

impl ContestedLicense {
    /// Returns `None` unless one of the `requests` may have to take over a seat of the license.
    pub fn new(
        scope: Scope,
        assigned: &AssignedLicense,
        requests: i32,
        now: Timestamp,
    ) -> Option<Self> {
        let (license, idle) = (assigned.license.id, assigned.idle_time()?);
        let free = assigned.license.max_seats?.get() - assigned.seats_used;
        // Doubled, because each request may come from the holder of an idle seat, which then stays.
        let seats = requests.saturating_mul(2).saturating_sub(free);
        let may_be = requests > free && assigned.may_have_idle_seats(now);
        may_be.then_some(Self { scope, license, idle, seats })
    }
}

/// Idle seats by license.
#[derive(Default)]
pub struct IdleSeats(BTreeMap<LicenseId, LicenseIdleSeats>);

#[derive(Default)]
struct LicenseIdleSeats {
    idle: VecDeque<HeldSeat>,
    /// Earliest time at which the next seat can become idle. `None` if it must not be stored.
    next: Option<Timestamp>,
    /// Seats that were last checked before this time may be taken over. `None` if no seat may.
    since: Option<Timestamp>,
}

impl IdleSeats {
    /// Finds the idle seats of `wanted`, except for the `kept` seats.
    pub async fn find(
        conn: &mut Conn,
        wanted: &[ContestedLicense],
        kept: &BTreeSet<ActivationId>,
        now: Timestamp,
    ) -> Result<Self> {
        let mut found: BTreeMap<LicenseId, LicenseIdleSeats> = BTreeMap::new();
        if wanted.is_empty() {
            return Ok(Self(found));
        }
        let uptime = uptime::find(conn).await?;
        let mut rows = Vec::new();
        for one in wanted {
            let of = match idle_before(uptime.as_ref(), one.idle, now) {
                Ok(since) => {
                    rows.push(BatchRow::license(one.scope, one.license, one.seats));
                    LicenseIdleSeats { since: Some(since), ..LicenseIdleSeats::default() }
                }
                Err(next) => LicenseIdleSeats { next, ..LicenseIdleSeats::default() },
            };
            found.insert(one.license, of);
        }
        for held in seats::longest_idle(conn, &rows).await? {
            let Some(of) = found.get_mut(&held.seat.license_id) else { continue };
            let Some(since) = of.since else { continue };
            let waits = held.idle_from.since(since);
            if waits < TimeDelta::zero() && !kept.contains(&held.seat.id) {
                of.idle.push_back(held);
            } else if of.next.is_none() {
                of.next = Some(now.plus(waits.max(MARGIN)));
            }
        }
        Ok(Self(found))
    }

    /// Takes as many idle seats of the full license as needed to have one free. `None` if too few
    /// are idle.
    pub fn take_for_one(&mut self, full: &AssignedLicense) -> Option<Vec<HeldSeat>> {
        let needed = full.seats_used + 1 - full.license.max_seats?.get();
        let needed = usize::try_from(needed).ok()?;
        let idle = &mut self.0.get_mut(&full.license.id)?.idle;
        (idle.len() >= needed).then(|| idle.drain(..needed).collect())
    }

    /// Excludes a seat whose holder used it in this batch.
    pub fn keep(&mut self, seat: &Activation) {
        if let Some(of) = self.0.get_mut(&seat.license_id) {
            of.idle.retain(|idle| idle.seat.id != seat.id);
        }
    }

    /// Returns the earliest time at which a seat of the license can become idle, if it may be stored.
    pub fn next(&self, license: LicenseId) -> Option<Timestamp> {
        self.0.get(&license)?.next
    }

    /// Returns the row that frees a seat if it is still idle.
    pub fn row(&self, world: World, held: &HeldSeat) -> BatchRow<'static> {
        let Activation { id, user_id, license_id, .. } = held.seat;
        let since = self.0.get(&license_id).and_then(|of| of.since);
        let since = since.unwrap_or(held.seat.last_checked_at);
        BatchRow::check(world, user_id, license_id, id, since)
    }
}

/// Returns the time of the last check before which a seat is idle. If no seat can be idle now,
/// fails with the earliest time at which one can, if it may be stored.
fn idle_before(
    uptime: Option<&Uptime>,
    idle: SeatIdleMinutes,
    now: Timestamp,
) -> std::result::Result<Timestamp, Option<Timestamp>> {
    let Some(Uptime { now: shared, seen_at, resumed_at, away_seconds }) = uptime else {
        return Err(None);
    };
    let (shared, idle) = (shared.unwrap_or(now), idle.duration());
    if shared.since(now).abs() > MAX_OFFSET || shared.since(*seen_at).abs() > LONGEST_GAP {
        return Err(None);
    }
    if let (Some(resumed), Some(away)) = (resumed_at, away_seconds) {
        let matters = idle < TimeDelta::seconds(10 * away);
        let every_holder_had_time = resumed.plus(idle);
        if matters && shared < every_holder_had_time {
            return Err(Some(every_holder_had_time));
        }
    }
    Ok(shared.plus(-(idle + MARGIN)))
}

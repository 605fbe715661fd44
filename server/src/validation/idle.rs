//! Idle seats of floating licenses, which others may take over.
//!
//! Nobody who could ask is idle. A holder who is answered has a check in the database that is
//! younger than half of the idle time ([`must_be_written`]); a seat is idle after the whole of it.
//! Time counts only while licd could be asked, and by a clock that all nodes share.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::TimeDelta;
use common::{Activation, ActivationId, LicenseId, SeatIdleMinutes, Timestamp};

use crate::db::{Conn, Db, Result};
use crate::store::batch_rows::BatchRow;
use crate::store::seats::{self, HeldSeat};
use crate::store::uptime::{self, LONGEST_GAP, Uptime};
use crate::store::validations::AssignedLicense;
use crate::store::{Scope, World};

/// What the idle time is exceeded by: two clocks may differ, and checks take time to be written.
const MARGIN: TimeDelta = TimeDelta::seconds(30);
/// The most by which the clock of a node that takes seats over may differ from the shared one.
const LARGEST_OFFSET: TimeDelta = TimeDelta::seconds(10);

/// Whether the check of this seat must be in the database before its user is answered, or the
/// license waits for its first validation.
pub fn must_be_written(assigned: &AssignedLicense, seat: &Activation, now: Timestamp) -> bool {
    let is_old = |idle: SeatIdleMinutes| {
        let age = now.since(seat.last_checked_at);
        // Checked in the future: another node's clock is ahead, or this one's behind.
        age > idle.duration() / 2 || age < -MARGIN
    };
    assigned.terms.starts_with_days.is_some() || assigned.idle_time().is_some_and(is_old)
}

/// Notes that licd answers: seats become idle only while it does. Returns by how much this node's
/// clock is ahead of the one that all nodes share, if there is one.
pub async fn note_uptime(db: &Db) -> Result<Option<TimeDelta>> {
    let mut tx = db.begin().await?;
    let offset = uptime::note(&mut tx, Timestamp::now()).await?;
    tx.commit().await?;
    Ok(offset)
}

/// A full license, or one that may become full, of which seats are wanted.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub scope: Scope,
    pub license: LicenseId,
    pub idle: SeatIdleMinutes,
    /// How many of its holders are looked at.
    pub seats: i32,
}

impl Wanted {
    /// None unless seats of the license may be taken over by one of so many `requests`.
    pub fn of(
        scope: Scope,
        assigned: &AssignedLicense,
        requests: i32,
        now: Timestamp,
    ) -> Option<Self> {
        let (license, idle) = (assigned.license.id, assigned.idle_time()?);
        let free = assigned.license.max_seats?.get() - assigned.seats_used;
        // As many more may be held by users who are answered too, and keep theirs.
        let seats = requests.saturating_mul(2).saturating_sub(free);
        let may_be = requests > free && assigned.may_have_idle_seats(now);
        may_be.then_some(Self { scope, license, idle, seats })
    }
}

/// The idle seats of some licenses.
#[derive(Default)]
pub struct IdleSeats(BTreeMap<LicenseId, OfLicense>);

#[derive(Default)]
struct OfLicense {
    idle: VecDeque<HeldSeat>,
    /// When the next seat can become idle at the earliest; none if that must not be noted.
    next: Option<Timestamp>,
    /// Seats that were not checked since may be taken over; none: no seat may.
    since: Option<Timestamp>,
}

impl IdleSeats {
    /// Finds the idle seats of `wanted`, without those that are `kept`.
    pub async fn find(
        conn: &mut Conn,
        wanted: &[Wanted],
        kept: &BTreeSet<ActivationId>,
        now: Timestamp,
    ) -> Result<Self> {
        let mut found: BTreeMap<LicenseId, OfLicense> = BTreeMap::new();
        if wanted.is_empty() {
            return Ok(Self(found));
        }
        let uptime = uptime::find(conn).await?;
        let mut rows = Vec::new();
        for one in wanted {
            let of = match counts_since(uptime.as_ref(), one.idle, now) {
                Ok(since) => {
                    rows.push(BatchRow::license(one.scope, one.license, one.seats));
                    OfLicense { since: Some(since), ..OfLicense::default() }
                }
                Err(next) => OfLicense { next, ..OfLicense::default() },
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

    /// Takes as many idle seats of the full license as make one free, or none if there are fewer.
    pub fn take_for_one(&mut self, full: &AssignedLicense) -> Option<Vec<HeldSeat>> {
        let needed = full.seats_used + 1 - full.license.max_seats?.get();
        let needed = usize::try_from(needed).ok()?;
        let idle = &mut self.0.get_mut(&full.license.id)?.idle;
        (idle.len() >= needed).then(|| idle.drain(..needed).collect())
    }

    /// Notes that a seat was used by its holder in this batch and may not be taken over.
    pub fn keep(&mut self, seat: &Activation) {
        if let Some(of) = self.0.get_mut(&seat.license_id) {
            of.idle.retain(|idle| idle.seat.id != seat.id);
        }
    }

    /// When the next seat of the license can become idle, if that may be noted.
    pub fn next(&self, license: LicenseId) -> Option<Timestamp> {
        self.0.get(&license)?.next
    }

    /// The row that frees a seat only if it is still idle.
    pub fn row(&self, world: World, held: &HeldSeat) -> BatchRow<'static> {
        let Activation { id, user_id, license_id, .. } = held.seat;
        let since = self.0.get(&license_id).and_then(|of| of.since);
        let since = since.unwrap_or(held.seat.last_checked_at);
        BatchRow::check(world, user_id, license_id, id, since)
    }
}

/// Since when a seat must not have been checked to be idle; or when that is to be asked again, if
/// it may be noted.
fn counts_since(
    uptime: Option<&Uptime>,
    idle: SeatIdleMinutes,
    now: Timestamp,
) -> std::result::Result<Timestamp, Option<Timestamp>> {
    let Some(Uptime { now: shared, seen_at, resumed_at, away_seconds }) = uptime else {
        return Err(None);
    };
    let (shared, idle) = (shared.unwrap_or(now), idle.duration());
    if shared.since(now).abs() > LARGEST_OFFSET || shared.since(*seen_at).abs() > LONGEST_GAP {
        return Err(None);
    }
    if let (Some(resumed), Some(away)) = (resumed_at, away_seconds) {
        let matters = idle < TimeDelta::seconds(10 * away);
        let all_were_asked = resumed.plus(idle);
        if matters && shared < all_were_asked {
            return Err(Some(all_were_asked));
        }
    }
    Ok(shared.plus(-(idle + MARGIN)))
}

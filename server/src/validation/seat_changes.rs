//! Changes that a batch has decided and will write: seats that are taken and freed, checks of
//! floating seats, and licenses whose days begin. Later requests of the batch see them.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use common::{
    Activation, ActivationId, ExternalId, FreedFor, License, LicenseDetails, LicenseId, ProductId,
    Reason, Timestamp, UserId,
};

use super::idle::{ContestedLicense, IdleSeats, must_be_written};
use super::verdict::{Decision, decide};
use crate::db::{Conn, Result};
use crate::events::NewEvent;
use crate::store::batch_rows::BatchRow;
use crate::store::seats::{self, HeldSeat};
use crate::store::validations::AssignedLicense;
use crate::store::{Scope, licenses as stored};

/// Changes of seats, keyed by user and license.
#[derive(Default)]
pub struct SeatChanges {
    pub seats: BTreeMap<(UserId, LicenseId), (Scope, Activation)>,
    /// Idle seats that were taken over.
    pub freed: BTreeMap<(UserId, LicenseId), (Scope, HeldSeat)>,
    /// Checks of floating seats that must be written.
    held: BTreeMap<(UserId, LicenseId), (Scope, Activation)>,
    /// Seats taken minus seats freed, by license.
    counts: BTreeMap<LicenseId, (Scope, i32)>,
    idle: IdleSeats,
    /// Full licenses without an idle seat, and the time at which the next seat can become idle.
    exhausted: BTreeMap<LicenseId, (Scope, Option<Timestamp>)>,
    /// Licenses that have not been validated yet, as they were read.
    unstarted: BTreeMap<LicenseId, (Scope, LicenseDetails)>,
    /// Licenses whose days began in this batch, as they are now.
    started: BTreeMap<LicenseId, LicenseDetails>,
}

/// Outcome of a validation for a user.
pub enum UserOutcome {
    /// Refused, with the license that gave the reason, if any.
    Refused(Reason, Option<License>),
    /// Accepted, with the existing seat or a new one.
    Accepted(Box<AssignedLicense>, Activation),
}

/// A license that must be locked before the decision.
pub type Unlocked = LicenseId;

impl SeatChanges {
    /// Reads what decisions may need in addition to the `locked` licenses: idle seats for up to
    /// `requests` users, and licenses that have not started. The `kept` seats belong to users of
    /// this batch.
    pub async fn find(
        conn: &mut Conn,
        locked: &[(Scope, &AssignedLicense)],
        kept: &BTreeSet<ActivationId>,
        requests: usize,
        now: Timestamp,
    ) -> Result<Self> {
        let requests = i32::try_from(requests).unwrap_or(i32::MAX);
        let wanted = locked.iter().filter_map(|(scope, it)| {
            Some((it.license.id, ContestedLicense::new(*scope, it, requests, now)?))
        });
        let wanted: BTreeMap<LicenseId, ContestedLicense> = wanted.collect();
        let wanted: Vec<_> = wanted.into_values().collect();
        let idle = IdleSeats::find(conn, &wanted, kept, now).await?;
        let unstarted = locked.iter().filter(|(_, it)| it.terms.starts_with_days.is_some());
        let unstarted = unstarted.map(|(scope, it)| (it.license.id, *scope)).collect();
        let unstarted = read_unstarted(conn, unstarted).await?;
        Ok(Self { idle, unstarted, ..Self::default() })
    }

    /// Decides for the user with these licenses, and appends the events of the changes. Fails with a
    /// license that must be locked first, as `locks` returns false for it.
    pub fn settle(
        &mut self,
        scope: Scope,
        (user, licenses): (&ExternalId, &[AssignedLicense]),
        product: Option<ProductId>,
        locks: impl Fn(LicenseId) -> bool,
        now: Timestamp,
        events: &mut Vec<NewEvent>,
    ) -> std::result::Result<UserOutcome, Unlocked> {
        loop {
            let licenses = self.applied_to(licenses, now);
            let (assigned, seat) = match decide(&licenses, product, now) {
                Decision::Refuse(reason, license) => {
                    return Ok(UserOutcome::Refused(reason, license.cloned()));
                }
                Decision::Keep(assigned, seat) if !must_be_written(assigned, seat, now) => {
                    return Ok(UserOutcome::Accepted(Box::new(assigned.clone()), seat.clone()));
                }
                Decision::Keep(assigned, seat) => (assigned, Some(seat.clone())),
                Decision::Take(assigned) => (assigned, None),
                Decision::TakeOver(assigned) if locks(assigned.license.id) => {
                    events.extend(self.take_over(scope, assigned));
                    continue;
                }
                Decision::TakeOver(assigned) => return Err(assigned.license.id),
            };
            if !locks(assigned.license.id) {
                return Err(assigned.license.id);
            }
            if assigned.terms.starts_with_days.is_some() {
                let started = self.start(assigned.license.id, now);
                events.push(started.ok_or(assigned.license.id)?);
                continue;
            }
            let seat = match seat {
                Some(seat) => self.keep(scope, assigned, seat, now),
                None => {
                    let seat = self.take(scope, assigned, now);
                    events.push(NewEvent::seat_taken(&assigned.license, user, &seat));
                    seat
                }
            };
            return Ok(UserOutcome::Accepted(Box::new(assigned.clone()), seat));
        }
    }

    /// Keeps the seat of its holder. The check of a floating seat will be written.
    fn keep(
        &mut self,
        scope: Scope,
        assigned: &AssignedLicense,
        seat: Activation,
        now: Timestamp,
    ) -> Activation {
        if assigned.idle_time().is_some() && !self.seats.contains_key(&place(&seat)) {
            self.idle.keep(&seat);
            let held = Activation { last_checked_at: now, ..seat };
            self.held.insert(place(&seat), (scope, held));
        }
        seat
    }

    /// Takes a free seat.
    fn take(&mut self, scope: Scope, assigned: &AssignedLicense, now: Timestamp) -> Activation {
        let seat = Activation::new(assigned.user_id, assigned.license.id, now);
        self.counts.entry(seat.license_id).or_insert((scope, 0)).1 += 1;
        self.seats.insert(place(&seat), (scope, seat.clone()));
        seat
    }

    /// Frees as many idle seats as needed to have one free, or records that there are too few.
    fn take_over(&mut self, scope: Scope, assigned: &AssignedLicense) -> Vec<NewEvent> {
        let license = &assigned.license;
        let Some(idle) = self.idle.take_for_one(assigned) else {
            self.exhausted.insert(license.id, (scope, self.idle.next(license.id)));
            return Vec::new();
        };
        self.counts.entry(license.id).or_insert((scope, 0)).1 -= idle.len() as i32;
        let freed = |held: HeldSeat| {
            let event =
                NewEvent::seat_freed(license, &held.external_id, &held.seat, FreedFor::Idle);
            self.freed.insert(place(&held.seat), (scope, held));
            event
        };
        idle.into_iter().map(freed).collect()
    }

    /// Starts the days of the license. `None` if it was not read.
    fn start(&mut self, id: LicenseId, now: Timestamp) -> Option<NewEvent> {
        let (_, before) = self.unstarted.get(&id)?;
        let after = started(before, now);
        let event = NewEvent::license_updated(before, &after);
        self.started.insert(id, after);
        Some(event)
    }

    /// Returns the licenses with the changes of this batch.
    fn applied_to(&self, licenses: &[AssignedLicense], now: Timestamp) -> Vec<AssignedLicense> {
        let mut licenses = licenses.to_vec();
        for assigned in &mut licenses {
            let license = assigned.license.id;
            if let Some((_, seats)) = self.counts.get(&license) {
                assigned.seats_used += seats;
            }
            let place = (assigned.user_id, license);
            if self.freed.contains_key(&place) {
                assigned.seat = None;
            }
            if let Some((_, seat)) = self.seats.get(&place) {
                assigned.seat = Some(seat.clone());
            }
            if let Some(after) = self.started.get(&license) {
                (assigned.license, assigned.terms) = (after.license.clone(), after.terms);
            }
            if self.exhausted.contains_key(&license) {
                assigned.seats_idle_at = Some(now.plus(TimeDelta::days(1)));
            }
        }
        licenses
    }

    /// Writes the changes. Returns false if a seat that was taken over is no longer idle.
    pub async fn write(&self, conn: &mut Conn, now: Timestamp) -> Result<bool> {
        let seat = |(scope, seat): &(Scope, Activation)| BatchRow::seat(*scope, seat);
        let held: Vec<_> = self.held.values().map(seat).collect();
        let free = |(scope, held): &(Scope, HeldSeat)| self.idle.row(scope.world, held);
        let freed: Vec<_> = self.freed.values().map(free).collect();
        if !held.is_empty() || !freed.is_empty() {
            let both = self.held.iter().map(|(at, it)| (at, seat(it)));
            let both = both.chain(self.freed.iter().map(|(at, it)| (at, free(it))));
            let both: BTreeMap<_, _> = both.collect();
            seats::lock(conn, &both.into_values().collect::<Vec<_>>()).await?;
            seats::hold(conn, &held).await?;
            if seats::free_idle(conn, &freed).await? != freed.len() as u64 {
                return Ok(false);
            }
        }
        if !self.seats.is_empty() {
            let taken: Vec<_> = self.seats.values().map(seat).collect();
            seats::take(conn, &taken, now).await?;
            let counted = self.counts.iter();
            let counted: Vec<_> = counted
                .map(|(id, (scope, seats))| BatchRow::license(*scope, *id, *seats))
                .collect();
            seats::add(conn, &counted).await?;
        }
        let next = |(id, (scope, next)): (&LicenseId, &(Scope, Option<Timestamp>))| {
            Some(BatchRow::license_at(*scope, *id, (*next)?))
        };
        let next: Vec<_> = self.exhausted.iter().filter_map(next).collect();
        if !next.is_empty() {
            seats::set_idle_at(conn, &next).await?;
        }
        for (id, after) in &self.started {
            let Some((scope, _)) = self.unstarted.get(id) else { continue };
            stored::update(conn, *scope, after).await?;
        }
        Ok(true)
    }
}

async fn read_unstarted(
    conn: &mut Conn,
    licenses: BTreeMap<LicenseId, Scope>,
) -> Result<BTreeMap<LicenseId, (Scope, LicenseDetails)>> {
    let mut unstarted = BTreeMap::new();
    for (id, scope) in licenses {
        if let Some(details) = stored::lock(conn, scope, id).await? {
            unstarted.insert(id, (scope, details));
        }
    }
    Ok(unstarted)
}

/// Returns the license after its days have started.
fn started(before: &LicenseDetails, now: Timestamp) -> LicenseDetails {
    let mut after = before.clone();
    if let Some(days) = after.terms.starts_with_days.take() {
        after.license.expires_at = Some(now.plus(TimeDelta::days(days.get().into())));
        after.license.updated_at = now.after(before.updated_at);
    }
    after
}

fn place(seat: &Activation) -> (UserId, LicenseId) {
    (seat.user_id, seat.license_id)
}

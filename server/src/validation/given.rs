//! What a batch that writes has decided so far, and writes in the end: seats that were taken and
//! freed, checks of floating seats, and licenses whose days begin. Later requests see it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use common::{
    Activation, ActivationId, ExternalId, FreedFor, License, LicenseDetails, LicenseId, ProductId,
    Reason, Timestamp, UserId,
};

use super::idle::{IdleSeats, Wanted, must_be_written};
use super::verdict::{Decision, decide};
use crate::db::{Conn, Result};
use crate::events::NewEvent;
use crate::store::batch_rows::BatchRow;
use crate::store::seats::{self, HeldSeat};
use crate::store::validations::AssignedLicense;
use crate::store::{Scope, licenses as stored};

#[derive(Default)]
pub struct Given {
    pub seats: BTreeMap<(UserId, LicenseId), (Scope, Activation)>,
    /// Idle seats that were taken over.
    pub freed: BTreeMap<(UserId, LicenseId), (Scope, HeldSeat)>,
    /// Floating seats whose holders were answered.
    held: BTreeMap<(UserId, LicenseId), (Scope, Activation)>,
    /// How many seats were taken and not freed, by license.
    of_license: BTreeMap<LicenseId, (Scope, i32)>,
    idle: IdleSeats,
    /// Full licenses without an idle seat, with when the next one can become idle.
    exhausted: BTreeMap<LicenseId, (Scope, Option<Timestamp>)>,
    /// Licenses that wait for their first validation, as they were read.
    waiting: BTreeMap<LicenseId, (Scope, LicenseDetails)>,
    /// Those whose days have begun, as they are then.
    begun: BTreeMap<LicenseId, LicenseDetails>,
}

/// What a user got.
pub enum Settled {
    /// With the license that gave the reason, if there is one.
    Refused(Reason, Option<License>),
    /// The seat as it was before, or a new one.
    Accepted(Box<AssignedLicense>, Activation),
}

/// The license that must be locked first.
pub type Unlocked = LicenseId;

impl Given {
    /// Reads what the decisions may need beyond the `locked` licenses, of which so many `requests`
    /// may take seats. The seats that are `kept` belong to users who are answered too.
    pub async fn find(
        conn: &mut Conn,
        locked: &[(Scope, &AssignedLicense)],
        kept: &BTreeSet<ActivationId>,
        requests: usize,
        now: Timestamp,
    ) -> Result<Self> {
        let requests = i32::try_from(requests).unwrap_or(i32::MAX);
        let wanted = locked.iter().filter_map(|(scope, it)| {
            Some((it.license.id, Wanted::of(*scope, it, requests, now)?))
        });
        let wanted: BTreeMap<LicenseId, Wanted> = wanted.collect();
        let wanted: Vec<_> = wanted.into_values().collect();
        let idle = IdleSeats::find(conn, &wanted, kept, now).await?;
        let waiting = locked.iter().filter(|(_, it)| it.terms.starts_with_days.is_some());
        let waiting = waiting.map(|(scope, it)| (it.license.id, *scope)).collect();
        let waiting = read_waiting(conn, waiting).await?;
        Ok(Self { idle, waiting, ..Self::default() })
    }

    /// Decides what the user with these licenses gets, and adds the events of what that changes.
    /// Fails with a license that is not in `locks`, and must be locked first.
    pub fn settle(
        &mut self,
        scope: Scope,
        (user, licenses): (&ExternalId, &[AssignedLicense]),
        product: Option<ProductId>,
        locks: impl Fn(LicenseId) -> bool,
        now: Timestamp,
        events: &mut Vec<NewEvent>,
    ) -> std::result::Result<Settled, Unlocked> {
        loop {
            let licenses = self.shown_on(licenses, now);
            let (assigned, seat) = match decide(&licenses, product, now) {
                Decision::Refuse(reason, license) => {
                    return Ok(Settled::Refused(reason, license.cloned()));
                }
                Decision::Keep(assigned, seat) if !must_be_written(assigned, seat, now) => {
                    return Ok(Settled::Accepted(Box::new(assigned.clone()), seat.clone()));
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
                let begun = self.begin(assigned.license.id, now);
                events.push(begun.ok_or(assigned.license.id)?);
                continue;
            }
            let seat = match seat {
                Some(seat) => self.hold(scope, assigned, seat, now),
                None => {
                    let seat = self.take(scope, assigned, now);
                    events.push(NewEvent::seat_taken(&assigned.license, user, &seat));
                    seat
                }
            };
            return Ok(Settled::Accepted(Box::new(assigned.clone()), seat));
        }
    }

    /// The holder is answered, so the check of a floating seat is written.
    fn hold(
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

    fn take(&mut self, scope: Scope, assigned: &AssignedLicense, now: Timestamp) -> Activation {
        let seat = Activation::new(assigned.user_id, assigned.license.id, now);
        self.of_license.entry(seat.license_id).or_insert((scope, 0)).1 += 1;
        self.seats.insert(place(&seat), (scope, seat.clone()));
        seat
    }

    /// Frees as many idle seats as are needed for one to be free, or notes that there are too few.
    fn take_over(&mut self, scope: Scope, assigned: &AssignedLicense) -> Vec<NewEvent> {
        let license = &assigned.license;
        let Some(idle) = self.idle.take_for_one(assigned) else {
            self.exhausted.insert(license.id, (scope, self.idle.next(license.id)));
            return Vec::new();
        };
        self.of_license.entry(license.id).or_insert((scope, 0)).1 -= idle.len() as i32;
        let freed = |held: HeldSeat| {
            let event =
                NewEvent::seat_freed(license, &held.external_id, &held.seat, FreedFor::Idle);
            self.freed.insert(place(&held.seat), (scope, held));
            event
        };
        idle.into_iter().map(freed).collect()
    }

    /// The days of the license begin; none if it was not read.
    fn begin(&mut self, id: LicenseId, now: Timestamp) -> Option<NewEvent> {
        let (_, before) = self.waiting.get(&id)?;
        let after = begun(before, now);
        let event = NewEvent::license_updated(before, &after);
        self.begun.insert(id, after);
        Some(event)
    }

    /// The licenses with what was decided so far.
    fn shown_on(&self, licenses: &[AssignedLicense], now: Timestamp) -> Vec<AssignedLicense> {
        let mut licenses = licenses.to_vec();
        for assigned in &mut licenses {
            let license = assigned.license.id;
            if let Some((_, seats)) = self.of_license.get(&license) {
                assigned.seats_used += seats;
            }
            let place = (assigned.user_id, license);
            if self.freed.contains_key(&place) {
                assigned.seat = None;
            }
            if let Some((_, seat)) = self.seats.get(&place) {
                assigned.seat = Some(seat.clone());
            }
            if let Some(after) = self.begun.get(&license) {
                (assigned.license, assigned.terms) = (after.license.clone(), after.terms);
            }
            if self.exhausted.contains_key(&license) {
                assigned.seats_idle_at = Some(now.plus(TimeDelta::days(1)));
            }
        }
        licenses
    }

    /// False if a seat that was taken over is not idle any more.
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
            let counted = self.of_license.iter();
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
        for (id, after) in &self.begun {
            let Some((scope, _)) = self.waiting.get(id) else { continue };
            stored::update(conn, *scope, after).await?;
        }
        Ok(true)
    }
}

async fn read_waiting(
    conn: &mut Conn,
    licenses: BTreeMap<LicenseId, Scope>,
) -> Result<BTreeMap<LicenseId, (Scope, LicenseDetails)>> {
    let mut waiting = BTreeMap::new();
    for (id, scope) in licenses {
        if let Some(details) = stored::lock_details(conn, scope, id).await? {
            waiting.insert(id, (scope, details));
        }
    }
    Ok(waiting)
}

/// The license after its days have begun.
fn begun(before: &LicenseDetails, now: Timestamp) -> LicenseDetails {
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

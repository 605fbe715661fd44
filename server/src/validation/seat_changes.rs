//! Changes that a batch has decided and will write: seats that are taken and freed, checks of
//! floating seats, and licenses whose days begin. Later requests of the batch see them.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use common::{
    Activation, ActivationId, EventReason, ExternalId, License, LicenseDetails, LicenseId,
    ProductId, Reason, Timestamp, UserId,
};

use super::idle::{ContestedLicense, IdleSeats, must_be_written};
use super::verdict::{Decision, decide};
use crate::db::{Conn, Result};
use crate::events::NewEvent;
use crate::store::batch_rows::BatchRow;
use crate::store::seats::{self, HeldSeat};
use crate::store::validations::AssignedLicense;
use crate::store::{Scope, licenses as stored};

/// The changes of a batch, by license, and what was read to decide them.
#[derive(Default)]
pub struct SeatChanges {
    licenses: BTreeMap<LicenseId, (Scope, LicenseChanges)>,
    idle: IdleSeats,
    /// Licenses that have not been validated yet, as they were read.
    unstarted: BTreeMap<LicenseId, LicenseDetails>,
}

/// The changes of one license, with its seats by user.
#[derive(Default)]
struct LicenseChanges {
    taken: BTreeMap<UserId, Activation>,
    /// Idle seats that were taken over.
    freed: BTreeMap<UserId, HeldSeat>,
    /// Floating seats whose check must be written.
    held: BTreeMap<UserId, Activation>,
    /// Set if the license is full without an idle seat: the time at which the next can become idle.
    exhausted: Option<Option<Timestamp>>,
    /// The license as it is now, if its days began in this batch.
    started: Option<LicenseDetails>,
}

impl LicenseChanges {
    /// Returns the number of seats taken minus those freed.
    fn seats(&self) -> i32 {
        self.taken.len() as i32 - self.freed.len() as i32
    }
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
        let mut unstarted = BTreeMap::new();
        for (scope, AssignedLicense { license, terms, .. }) in locked {
            if terms.starts_with_days.is_some() && !unstarted.contains_key(&license.id) {
                unstarted
                    .extend(stored::lock(conn, *scope, license.id).await?.map(|it| (it.id, it)));
            }
        }
        Ok(Self { idle, unstarted, ..Self::default() })
    }

    pub fn seats_taken(&self) -> u64 {
        self.licenses.values().map(|(_, it)| it.taken.len() as u64).sum()
    }

    pub fn seats_reclaimed(&self) -> u64 {
        self.licenses.values().map(|(_, it)| it.freed.len() as u64).sum()
    }

    fn of(&mut self, scope: Scope, license: LicenseId) -> &mut LicenseChanges {
        &mut self.licenses.entry(license).or_insert_with(|| (scope, Default::default())).1
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
                let started = self.start(scope, assigned.license.id, now);
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
        let changes = self.of(scope, seat.license_id);
        if assigned.idle_time().is_some() && !changes.taken.contains_key(&seat.user_id) {
            let held = Activation { last_checked_at: now, ..seat.clone() };
            changes.held.insert(seat.user_id, held);
            self.idle.keep(&seat);
        }
        seat
    }

    /// Takes a free seat.
    fn take(&mut self, scope: Scope, assigned: &AssignedLicense, now: Timestamp) -> Activation {
        let seat = Activation::new(assigned.user_id, assigned.license.id, now);
        self.of(scope, seat.license_id).taken.insert(seat.user_id, seat.clone());
        seat
    }

    /// Frees as many idle seats as needed to have one free, or records that there are too few.
    fn take_over(&mut self, scope: Scope, assigned: &AssignedLicense) -> Vec<NewEvent> {
        let license = &assigned.license;
        let Some(idle) = self.idle.take_for_one(assigned) else {
            let next = self.idle.next(license.id);
            self.of(scope, license.id).exhausted = Some(next);
            return Vec::new();
        };
        let freed = |held: &HeldSeat| {
            NewEvent::seat_freed(license, &held.external_id, &held.seat, EventReason::Idle)
        };
        let events = idle.iter().map(freed).collect();
        let by_user = idle.into_iter().map(|held| (held.seat.user_id, held));
        self.of(scope, license.id).freed.extend(by_user);
        events
    }

    /// Starts the days of the license. `None` if it was not read.
    fn start(&mut self, scope: Scope, id: LicenseId, now: Timestamp) -> Option<NewEvent> {
        let before = self.unstarted.get(&id)?;
        let after = started(before, now);
        let event = NewEvent::license_updated(before, &after);
        self.of(scope, id).started = Some(after);
        Some(event)
    }

    /// Returns the licenses with the changes of this batch.
    fn applied_to(&self, licenses: &[AssignedLicense], now: Timestamp) -> Vec<AssignedLicense> {
        let mut licenses = licenses.to_vec();
        for assigned in &mut licenses {
            let Some((_, changes)) = self.licenses.get(&assigned.license.id) else { continue };
            assigned.seats_used += changes.seats();
            if changes.freed.contains_key(&assigned.user_id) {
                assigned.seat = None;
            }
            if let Some(seat) = changes.taken.get(&assigned.user_id) {
                assigned.seat = Some(seat.clone());
            }
            if let Some(after) = &changes.started {
                (assigned.license, assigned.terms) = (after.license.clone(), after.terms);
            }
            if changes.exhausted.is_some() {
                assigned.seats_idle_at = Some(now.plus(TimeDelta::days(1)));
            }
        }
        licenses
    }

    /// Writes the changes. Returns false if a seat that was taken over is no longer idle.
    pub async fn write(&self, conn: &mut Conn, now: Timestamp) -> Result<bool> {
        let (mut held, mut freed, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        let (mut counted, mut next) = (Vec::new(), Vec::new());
        for (id, (scope, changes)) in &self.licenses {
            held.extend(changes.held.values().map(|seat| BatchRow::seat(*scope, seat)));
            freed.extend(changes.freed.values().map(|held| self.idle.row(scope.world, held)));
            taken.extend(changes.taken.values().map(|seat| BatchRow::seat(*scope, seat)));
            if changes.seats() != 0 {
                counted.push(BatchRow::license(*scope, *id, changes.seats()));
            }
            next.extend(
                changes.exhausted.flatten().map(|at| BatchRow::license_at(*scope, *id, at)),
            );
        }
        if !held.is_empty() || !freed.is_empty() {
            seats::lock(conn, &[held.as_slice(), &freed].concat()).await?;
            seats::hold(conn, &held).await?;
            if seats::free_idle(conn, &freed).await? != freed.len() as u64 {
                return Ok(false);
            }
        }
        if !taken.is_empty() {
            seats::take(conn, &taken, now).await?;
        }
        if !counted.is_empty() {
            seats::add(conn, &counted).await?;
        }
        if !next.is_empty() {
            seats::set_idle_at(conn, &next).await?;
        }
        for (scope, changes) in self.licenses.values() {
            if let Some(after) = &changes.started {
                stored::update(conn, *scope, after).await?;
            }
        }
        Ok(true)
    }
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

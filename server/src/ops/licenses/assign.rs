//! Assigns licenses to users, and unassigns them.

use common::{
    AssignLicense, Assignment, AssignmentId, EventReason, ExternalId, LicenseDetails, LicenseId,
    LicenseKeyId, Metadata, PlanId, Status, Timestamp, User, UserId, advance_ids_past,
};

use super::NOT_FOUND;
use crate::error::Error;
use crate::events::NewEvent;
use crate::ops::change::Change;
use crate::ops::leases;
use crate::ops::members::update_metadata;
use crate::ops::outcome::{Outcome, Upserted};
use crate::ops::users;
use crate::store::{assignments, licenses, seats, users as stored_users};

pub const NOT_ASSIGNED: Error = Error::NotFound("assignment");

/// Maximum number of licenses of a user, because a validation reads all of them.
const MAX_LICENSES: i64 = 100;
const TOO_MANY_LICENSES: &str =
    "The limit of 100 licenses of a user is reached. Unassign another license first";

/// Assigns the license to the user, who is created if unknown. An existing assignment stays, but its
/// metadata is replaced or merged if given, and it is moved if it is to be first.
pub async fn assign(
    mut change: Change,
    id: LicenseId,
    new: AssignLicense,
) -> Result<Upserted<Assignment>, Error> {
    let scope = change.scope();
    let assignee = Assignee::lock(&mut change, new).await?;
    let license = licenses::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let Some(held) = assignments::lock(&mut change, scope, assignee.user.id, id).await? else {
        let mut events = Vec::from_iter(assignee.user_created());
        let (assignment, event) = assignee.assign(&mut change, &license).await?;
        events.push(event);
        return Ok(change.commit(Upserted::New(assignment), events).await?);
    };
    let Assignee { user, new, .. } = assignee;
    let (before, mut assignment) = (held.assignment.clone(), held.assignment);
    update_metadata(&mut assignment.metadata, new.metadata, new.merge_metadata, false)?;
    let is_moved = new.first && assignments::put_first(&mut change, scope, &assignment).await?;
    if assignment != before {
        assignments::set_metadata(&mut change, scope, &assignment).await?;
    }
    let mut events = Vec::new();
    if is_moved || assignment != before {
        let user = &user.external_id;
        let event = NewEvent::license_reassigned(&license, user, &before, &assignment);
        events.push(if is_moved { event.as_first() } else { event });
    }
    Ok(change.commit(Upserted::Existing(assignment), events).await?)
}

/// A locked user who is to get a license.
pub(super) struct Assignee {
    user: User,
    is_new: bool,
    /// Number of the user's assignments, and the newest of them.
    assigned: (i64, Option<AssignmentId>),
    new: AssignLicense,
}

impl Assignee {
    /// Locks the user, who is created if unknown. This comes before the license is locked, because
    /// other requests wait for that lock.
    pub async fn lock(change: &mut Change, new: AssignLicense) -> Result<Self, Error> {
        let data = new.new_user.clone().unwrap_or_default();
        let (is_new, user) = users::ensure(change, &new.user_id, data).await?;
        let scope = change.scope();
        let assigned = assignments::count_of_user(change, scope, user.id).await?;
        Ok(Self { user, is_new, assigned, new })
    }

    /// Returns a license of the plan that the user has and that is active or suspended.
    pub async fn license_of(
        &self,
        change: &mut Change,
        plan: PlanId,
    ) -> Result<Option<LicenseDetails>, Error> {
        let (scope, now) = (change.scope(), change.now);
        let mut held = licenses::lock_of_user(change, scope, self.user.id).await?.into_iter();
        let stands = |status| matches!(status, Status::Active | Status::Suspended);
        Ok(held.find(|it| it.plan_id == plan && stands(it.effective_status(now))))
    }

    /// Returns the event of the user's creation, if the user was unknown.
    pub fn user_created(&self) -> Option<NewEvent> {
        self.is_new.then(|| NewEvent::user_created(&self.user))
    }

    /// Assigns a locked license, which the user does not have yet. Returns the event too.
    pub async fn assign(
        self,
        change: &mut Change,
        license: &LicenseDetails,
    ) -> Result<(Assignment, NewEvent), Error> {
        let Self { user, assigned, new, .. } = self;
        let mut metadata = None;
        update_metadata(&mut metadata, new.metadata, new.merge_metadata, false)?;
        let assignment = add(change, (user.id, license.id), assigned, metadata, None).await?;
        let scope = change.scope();
        let is_moved = new.first && assignments::put_first(change, scope, &assignment).await?;
        let event = NewEvent::license_assigned(license, &user.external_id, &assignment);
        Ok((assignment, if is_moved { event.as_first() } else { event }))
    }
}

/// Adds an assignment of a user, given the number of the user's assignments and the newest one.
/// User and license are locked.
pub async fn add(
    change: &mut Change,
    (user_id, license_id): (UserId, LicenseId),
    assigned: (i64, Option<AssignmentId>),
    metadata: Option<Metadata>,
    claimed_with: Option<LicenseKeyId>,
) -> Result<Assignment, Error> {
    let (scope, now) = (change.scope(), change.now);
    let id = next_assignment(assigned, now)?;
    let assignment = Assignment { id, user_id, license_id, assigned_at: now, metadata };
    assignments::insert(change, scope, &assignment, claimed_with).await?;
    Ok(assignment)
}

/// Returns the id of the next assignment of a locked user, given the newest assignment and their
/// number. Validations consider licenses in the order of these ids, so it is greater than the
/// existing ids, even if a node with another clock created those.
fn next_assignment(
    (count, newest): (i64, Option<AssignmentId>),
    now: Timestamp,
) -> Result<AssignmentId, Error> {
    if count >= MAX_LICENSES {
        return Err(Error::Conflict(TOO_MANY_LICENSES));
    }
    if let Some(newest) = newest {
        advance_ids_past(newest.uuid());
    }
    Ok(AssignmentId::new(now))
}

/// A removed assignment.
pub struct Unassigned {
    pub assignment: Assignment,
    pub freed_seat: bool,
}

impl Outcome for Unassigned {
    type Record = Assignment;

    fn record(&self) -> &Assignment {
        &self.assignment
    }

    fn is_new(&self) -> bool {
        false
    }
}

/// Unassigns the license from the user, and frees the user's seat, if any. `user` is `None` if the
/// caller's text is not a valid external id.
pub async fn unassign(
    mut change: Change,
    id: LicenseId,
    user: Option<ExternalId>,
) -> Result<Unassigned, Error> {
    let scope = change.scope();
    let license = licenses::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let external_id = user.ok_or(NOT_ASSIGNED)?;
    let user = stored_users::find_external(&mut change, scope, &external_id).await?;
    let user = user.ok_or(NOT_ASSIGNED)?.id;
    let mut held = assignments::lock(&mut change, scope, user, id).await?.ok_or(NOT_ASSIGNED)?;
    let seat = held.seat.iter().map(|seat| (&*license, &external_id, seat));
    let mut events = leases::drop_running(&change, seat)?;
    if let Some(seat) = &mut held.seat {
        change.last_checks.show(seat);
        seats::free(&mut change, scope, user, id).await?;
        events.push(NewEvent::seat_freed(&license, &external_id, seat, EventReason::Unassigned));
    }
    assignments::delete(&mut change, scope, user, id).await?;
    events.push(NewEvent::license_unassigned(&license, &external_id, &held.assignment));
    let freed_seat = held.seat.is_some();
    Ok(change.commit(Unassigned { assignment: held.assignment, freed_seat }, events).await?)
}

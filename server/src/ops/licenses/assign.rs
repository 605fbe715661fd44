//! Assigns licenses to users, and unassigns them.

use common::{
    AssignLicense, Assignment, AssignmentId, ExternalId, FreedFor, LicenseId, LicenseKeyId,
    Metadata, Timestamp, UserId, advance_ids_past,
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
    let (is_new, user) = users::ensure(&mut change, &new.user_id).await?;
    // Read before the license is locked, because other requests wait for that lock.
    let assigned = assignments::count_of_user(&mut change, scope, user.id).await?;
    let license = licenses::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let mut events = Vec::new();
    events.extend(is_new.then(|| NewEvent::user_created(&user)));
    let Some(held) = assignments::lock(&mut change, scope, user.id, id).await? else {
        let mut metadata = None;
        update_metadata(&mut metadata, new.metadata, new.merge_metadata, false)?;
        let assignment = add(&mut change, (user.id, id), assigned, metadata, None).await?;
        let is_moved = new.first && assignments::put_first(&mut change, scope, &assignment).await?;
        let event = NewEvent::license_assigned(&license, &user.external_id, &assignment);
        events.push(if is_moved { event.as_first() } else { event });
        return Ok(change.commit(Upserted::New(assignment), events).await?);
    };
    let (before, mut assignment) = (held.assignment.clone(), held.assignment);
    update_metadata(&mut assignment.metadata, new.metadata, new.merge_metadata, false)?;
    let is_moved = new.first && assignments::put_first(&mut change, scope, &assignment).await?;
    if assignment != before {
        assignments::set_metadata(&mut change, scope, &assignment).await?;
    }
    if is_moved || assignment != before {
        let user = &user.external_id;
        let event = NewEvent::license_reassigned(&license, user, &before, &assignment);
        events.push(if is_moved { event.as_first() } else { event });
    }
    Ok(change.commit(Upserted::Existing(assignment), events).await?)
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
        events.push(NewEvent::seat_freed(&license, &external_id, seat, FreedFor::Unassigned));
    }
    assignments::delete(&mut change, scope, user, id).await?;
    events.push(NewEvent::license_unassigned(&license, &external_id, &held.assignment));
    let freed_seat = held.seat.is_some();
    Ok(change.commit(Unassigned { assignment: held.assignment, freed_seat }, events).await?)
}

//! Transfers a license to another user, together with the seat.

use common::{
    Activation, Assignment, EventReason, License, LicenseAssignment, LicenseId, NewUser, Timestamp,
    TransferLicense, User,
};

use super::{NOT_ASSIGNED, NOT_FOUND, add};
use crate::db;
use crate::error::Error;
use crate::events::NewEvent;
use crate::ops::change::Change;
use crate::ops::leases;
use crate::ops::outcome::Changed;
use crate::ops::users;
use crate::store::assignments::AssignmentWithSeat;
use crate::store::batch_rows::BatchRow;
use crate::store::{assignments, licenses, seats, users as stored_users};

const HAS_IT: Error =
    Error::Conflict("The new user has the license already. Unassign the other user instead");

/// Transfers the license from one user to another, who is created if unknown. A seat moves in the
/// same transaction, so no other user can take it in between.
pub async fn transfer(
    mut change: Change,
    id: LicenseId,
    request: TransferLicense,
) -> Result<Changed<LicenseAssignment>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let (from, is_new, to) = lock_users(&mut change, &request).await?;
    let assigned = assignments::count_of_user(&mut change, scope, to.id).await?;
    let license = licenses::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let from = from.ok_or(NOT_ASSIGNED)?;
    let [given, kept] = lock_assignments(&mut change, &license, [&from, &to]).await?;
    let given = given.ok_or(NOT_ASSIGNED)?;
    if kept.as_ref().is_some_and(|kept| kept.seat.is_some() || given.seat.is_none()) {
        return Err(HAS_IT);
    }
    let seat = given.seat.iter().map(|seat| (&*license, &from.external_id, seat));
    let mut events = leases::drop_running(&change, seat)?;
    events.extend(is_new.then(|| NewEvent::user_created(&to)));
    let has_seat = given.seat.is_some();
    if let Some(mut seat) = given.seat {
        change.last_checks.show(&mut seat);
        seats::free(&mut change, scope, from.id, id).await?;
        let user = &from.external_id;
        events.push(NewEvent::seat_freed(&license, user, &seat, EventReason::Transferred));
    }
    events.push(NewEvent::license_unassigned(&license, &from.external_id, &given.assignment));
    let assignment = match kept {
        Some(kept) => kept.assignment,
        None => {
            let metadata = given.assignment.metadata.clone();
            let new = add(&mut change, (to.id, id), assigned, metadata, None).await?;
            assignments::inherit(&mut change, scope, &new, from.id).await?;
            events.push(NewEvent::license_assigned(&license, &to.external_id, &new));
            new
        }
    };
    assignments::delete(&mut change, scope, from.id, id).await?;
    let mut activation = None;
    if has_seat {
        let seat = take_seat(&mut change, &assignment, now).await?;
        events.push(NewEvent::seat_taken(&license, &to.external_id, &seat));
        activation = Some(seat);
    }
    let User { external_id, email, name, .. } = to;
    let handed = LicenseAssignment { assignment, external_id, email, name, activation };
    Ok(change.commit(Changed(handed), events).await?)
}

/// Locks both users in the order of their ids. Creates the second one if unknown, and returns
/// whether it did. The first one is `None` if unknown.
async fn lock_users(
    change: &mut Change,
    TransferLicense { from_user_id, to_user_id }: &TransferLicense,
) -> db::Result<(Option<User>, bool, User)> {
    let scope = change.scope();
    let from = stored_users::find_external(change, scope, from_user_id).await?.map(|it| it.id);
    let to = stored_users::find_external(change, scope, to_user_id).await?.map(|it| it.id);
    if let Some(to) = to.filter(|to| from.is_some_and(|from| *to < from)) {
        stored_users::lock(change, scope, to).await?;
    }
    let from = match from {
        Some(id) => stored_users::lock(change, scope, id).await?,
        None => None,
    };
    let (is_new, to) = users::ensure(change, to_user_id, NewUser::default()).await?;
    Ok((from, is_new, to))
}

/// Locks the assignments of both users in the order of the users, as validations do.
async fn lock_assignments(
    change: &mut Change,
    license: &License,
    users: [&User; 2],
) -> db::Result<[Option<AssignmentWithSeat>; 2]> {
    let (scope, ids) = (change.scope(), users.map(|user| user.id));
    let [first, second] = if ids[0] <= ids[1] { [0, 1] } else { [1, 0] };
    let mut found = [None, None];
    for place in [first, second] {
        found[place] = assignments::lock(change, scope, ids[place], license.id).await?;
    }
    Ok(found)
}

async fn take_seat(
    change: &mut Change,
    assignment: &Assignment,
    now: Timestamp,
) -> db::Result<Activation> {
    let scope = change.scope();
    let seat = Activation::new(assignment.user_id, assignment.license_id, now);
    seats::take(change, &[BatchRow::seat(scope, &seat)], now).await?;
    seats::add(change, &[BatchRow::license(scope, assignment.license_id, 1)]).await?;
    Ok(seat)
}

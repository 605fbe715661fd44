//! Releases seats for the application when it ends, or for an administrator. The assignments stay.

use common::{
    Activation, EventReason, ExternalId, LeasedSeat, License, LicenseId, Release, Released,
    ReleasedSeat, Timestamp, UserId,
};

use super::change::Change;
use super::leases;
use super::licenses::{NOT_ASSIGNED, NOT_FOUND};
use super::outcome::Changed;
use super::view::View;
use crate::error::Error;
use crate::events::NewEvent;
use crate::store::{assignments, licenses, products, seats, users, validations};

/// Seats that a user could release.
pub struct Releasable {
    user: UserId,
    /// Licenses in the order of their ids.
    licenses: Vec<LicenseId>,
}

/// Finds the floating seats that the user holds, optionally of one product. `None` if there are
/// none, so that nothing is written.
pub async fn find(view: View, request: &Release) -> Result<Option<Releasable>, Error> {
    let mut conn = view.read().await?;
    if let Some(product) = request.product_id {
        let product = products::find(&mut conn, view.scope, product).await?;
        product.ok_or_else(|| Error::unknown("productId", "product"))?;
    }
    let Some(user) = users::find_external(&mut conn, view.scope, &request.user_id).await? else {
        return Ok(None);
    };
    let found = validations::explain(&mut conn, view.scope, user.id).await?;
    let found = found.into_iter().map(|it| it.assigned);
    let floating = found.filter(|it| it.idle_time().is_some() && it.seat.is_some());
    let product = request.product_id;
    let of_product = floating.filter(|it| product.is_none_or(|id| it.license.product_id == id));
    let mut licenses: Vec<_> = of_product.map(|it| it.license.id).collect();
    licenses.sort();
    Ok((!licenses.is_empty()).then_some(Releasable { user: user.id, licenses }))
}

/// Frees the seats that no lease holds and that were not checked since the application's last
/// response.
pub async fn release(
    mut change: Change,
    request: &Release,
    Releasable { user, licenses: ids }: Releasable,
) -> Result<Changed<Released>, Error> {
    let (mut locked, scope) = (Vec::with_capacity(ids.len()), change.scope());
    for id in ids {
        locked.extend(licenses::lock(&mut change, scope, id).await?);
    }
    let (mut released, mut events) = (Released::default(), Vec::new());
    for license in &locked {
        let held = assignments::lock(&mut change, scope, user, license.id).await?;
        let seat = held.and_then(|held| held.seat);
        if let Some(leased_until) = seat.as_ref().and_then(|seat| seat.lease_until(change.now)) {
            released.leased.push(LeasedSeat { license_id: license.id, leased_until });
            continue;
        }
        let of = &request.user_id;
        if let Some(event) = free(&mut change, license, of, seat, request.checked_at).await? {
            events.push(event);
            released.released.push(ReleasedSeat { license_id: license.id });
        }
    }
    Ok(change.commit(Changed(released), events).await?)
}

/// Frees the seat of the user on the license, floating or not. The assignment stays.
pub async fn release_one(
    mut change: Change,
    id: LicenseId,
    user: ExternalId,
) -> Result<Changed<Released>, Error> {
    let scope = change.scope();
    let license = licenses::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    let known = users::find_external(&mut change, scope, &user).await?.ok_or(NOT_ASSIGNED)?;
    let held = assignments::lock(&mut change, scope, known.id, id).await?.ok_or(NOT_ASSIGNED)?;
    let seat = held.seat.iter().map(|seat| (&*license, &user, seat));
    let mut events = leases::drop_running(&change, seat)?;
    let mut done = Released::default();
    if let Some(freed) = free(&mut change, &license, &user, held.seat, None).await? {
        events.push(freed);
        done.released.push(ReleasedSeat { license_id: id });
    }
    Ok(change.commit(Changed(done), events).await?)
}

/// Frees the seat and returns the event, unless there is none or it was checked later. License and
/// assignment are locked.
async fn free(
    change: &mut Change,
    license: &License,
    user: &ExternalId,
    seat: Option<Activation>,
    checked_at: Option<Timestamp>,
) -> Result<Option<NewEvent>, Error> {
    let Some(mut seat) = seat else { return Ok(None) };
    change.last_checks.show(&mut seat);
    if checked_at.is_some_and(|checked_at| seat.last_checked_at > checked_at) {
        return Ok(None);
    }
    let scope = change.scope();
    seats::free(change, scope, seat.user_id, license.id).await?;
    Ok(Some(NewEvent::seat_freed(license, user, &seat, EventReason::Released)))
}

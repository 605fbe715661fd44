//! Usage of a license: its held seats and their totals.

use common::{ActivationId, License, LicenseId, UsageActivation};

use super::licenses::NOT_FOUND;
use super::view::View;
use crate::error::Error;
use crate::store::{Page, licenses, seats};

/// Usage of a license, with a page of its seats, from one snapshot.
pub struct LicenseUsage {
    pub license: License,
    /// Number of held seats.
    pub seats: i64,
    /// Number of users who hold them.
    pub users: i64,
    pub first: Vec<UsageActivation>,
}

pub async fn read(
    view: &View,
    id: LicenseId,
    page: Page<ActivationId>,
) -> Result<LicenseUsage, Error> {
    let mut tx = view.snapshot().await?;
    let license = licenses::find(&mut tx, view.scope, id).await?.ok_or(NOT_FOUND)?.license;
    let (seats, users) = seats::count(&mut tx, view.scope, id).await?;
    let first = seats::page_of_license(&mut tx, view.scope, id, page).await?;
    Ok(LicenseUsage { license, seats, users, first: with_latest_checks(view, first) })
}

/// Returns another page of seats.
pub async fn page(
    view: View,
    license: LicenseId,
    page: Page<ActivationId>,
) -> Result<Vec<UsageActivation>, Error> {
    let mut conn = view.read().await?;
    let seats = seats::page_of_license(&mut conn, view.scope, license, page).await?;
    Ok(with_latest_checks(&view, seats))
}

/// Returns the seats with the last checks in memory, which are not written yet.
fn with_latest_checks(view: &View, mut seats: Vec<UsageActivation>) -> Vec<UsageActivation> {
    for UsageActivation { activation: seat, .. } in &mut seats {
        let place = (seat.user_id, seat.license_id);
        seat.last_checked_at = view.last_checks.latest(place, seat.id, seat.last_checked_at);
    }
    seats
}

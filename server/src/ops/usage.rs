//! The use of a license: its seats that are held, and their totals.

use common::{ActivationId, License, LicenseId, UsageActivation};

use super::licenses::NOT_FOUND;
use super::view::View;
use crate::error::Error;
use crate::store::{Page, licenses, seats};

/// How much of a license is used, and the first of its seats, all at one moment.
pub struct LicenseUsage {
    pub license: License,
    /// How many seats are held.
    pub seats: i64,
    /// By how many users.
    pub users: i64,
    pub first: Vec<UsageActivation>,
}

pub async fn read(
    view: &View,
    id: LicenseId,
    page: Page<ActivationId>,
) -> Result<LicenseUsage, Error> {
    let mut tx = view.snapshot().await?;
    let license = licenses::find(&mut tx, view.scope, id).await?.ok_or(NOT_FOUND)?;
    let (seats, users) = seats::count(&mut tx, view.scope, id).await?;
    let first = seats::page_of_license(&mut tx, view.scope, id, page).await?;
    Ok(LicenseUsage { license, seats, users, first: with_latest_checks(view, first) })
}

/// Further seats of the license.
pub async fn page(
    view: View,
    license: LicenseId,
    page: Page<ActivationId>,
) -> Result<Vec<UsageActivation>, Error> {
    let mut conn = view.read().await?;
    let seats = seats::page_of_license(&mut conn, view.scope, license, page).await?;
    Ok(with_latest_checks(&view, seats))
}

/// The seats, with the times of their last checks that are noted and not yet written.
fn with_latest_checks(view: &View, mut seats: Vec<UsageActivation>) -> Vec<UsageActivation> {
    for UsageActivation { activation: seat, .. } in &mut seats {
        let place = (seat.user_id, seat.license_id);
        seat.last_checked_at = view.last_checks.latest(place, seat.id, seat.last_checked_at);
    }
    seats
}

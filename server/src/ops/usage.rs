//! The use of a license: its seats that are held, and their totals.

use common::{ActivationId, License, LicenseId, UsageActivation};

use super::licenses::NOT_FOUND;
use super::view::View;
use crate::error::Error;
use crate::store::{Page, licenses, seats};

/// How much of a license is used.
pub struct Totals {
    pub license: License,
    /// How many seats are held.
    pub seats: i64,
    /// By how many users.
    pub users: i64,
}

pub async fn totals(view: &View, id: LicenseId) -> Result<Totals, Error> {
    let mut tx = view.snapshot().await?;
    let license = licenses::find(&mut tx, view.scope, id).await?.ok_or(NOT_FOUND)?;
    let (seats, users) = seats::count(&mut tx, view.scope, id).await?;
    Ok(Totals { license, seats, users })
}

/// The seats of the license, with what is noted of their last checks and not yet written.
pub async fn page(
    view: View,
    license: LicenseId,
    page: Page<ActivationId>,
) -> Result<Vec<UsageActivation>, Error> {
    let mut conn = view.read().await?;
    let mut seats = seats::page_of_license(&mut conn, view.scope, license, page).await?;
    for UsageActivation { activation: seat, .. } in &mut seats {
        let place = (seat.user_id, license);
        seat.last_checked_at = view.last_checks.latest(place, seat.id, seat.last_checked_at);
    }
    Ok(seats)
}

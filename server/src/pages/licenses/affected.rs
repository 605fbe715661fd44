//! Whom a change of a license hits, in a sentence.

use common::LicenseWithSeats;

use crate::error::Error;
use crate::ops::licenses::{self, MAX_COUNTED};
use crate::ops::view::View;

/// Whom it hits if a license stops being valid.
pub async fn refused_users(view: View, license: &LicenseWithSeats) -> Result<String, Error> {
    let users = i64::from(license.seats.used) + licenses::count_waiting(view, license.id).await?;
    Ok(match users {
        0 => "Nobody has this license yet. Any user it is assigned to will be refused.".to_owned(),
        1 => "Its only user will be refused immediately.".to_owned(),
        // Users without a seat are counted up to a bound.
        many if many >= MAX_COUNTED => {
            format!("All users, {MAX_COUNTED} or more, will be refused immediately.")
        }
        many => format!("All {many} users will be refused immediately."),
    })
}

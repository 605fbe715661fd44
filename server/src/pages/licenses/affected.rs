//! Sentences about the users whom a change of a license affects.

use common::LicenseWithSeats;

use crate::error::Error;
use crate::ops::licenses::{self, MAX_COUNTED};
use crate::ops::view::View;

/// Number of users who have the license. Those without a seat are counted up to [`MAX_COUNTED`].
async fn users(view: View, license: &LicenseWithSeats) -> Result<i64, Error> {
    Ok(i64::from(license.seats.used) + licenses::count_waiting(view, license.id).await?)
}

/// Returns a sentence about the users who are refused if a license stops being valid.
pub async fn refused_users(view: View, license: &LicenseWithSeats) -> Result<String, Error> {
    Ok(match users(view, license).await? {
        0 => "No user has this license yet. Users who get it will be refused.".to_owned(),
        1 => "Its only user will be refused immediately.".to_owned(),
        many if many >= MAX_COUNTED => {
            format!("All users, {MAX_COUNTED} or more, will be refused immediately.")
        }
        many => format!("All {many} users will be refused immediately."),
    })
}

/// Returns the users who get a license back when it is activated.
pub async fn returning_users(view: View, license: &LicenseWithSeats) -> Result<String, Error> {
    Ok(match users(view, license).await? {
        0 => "No user has it.".to_owned(),
        1 => "Its only user gets it back.".to_owned(),
        many if many >= MAX_COUNTED => format!("All users, {MAX_COUNTED} or more, get it back."),
        many => format!("All {many} users get it back."),
    })
}

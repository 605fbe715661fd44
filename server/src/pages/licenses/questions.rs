//! What the forms of a license ask before they do something drastic: the question, as the reason why
//! the form stops.

use common::{LicenseId, LicenseWithSeats, MaxSeats, Timestamp};

use super::show::Fields;
use crate::ops::licenses::{self, MAX_COUNTED};
use crate::ops::typed_users::TypedUsers;
use crate::ops::view::View;
use crate::pages::typed_users::ask_about;
use crate::pages::{Question, Stop, last_day};

/// A limit that is removed, or is lower than the number of seats in use.
pub fn ask_about_limit(
    license: &LicenseWithSeats,
    limit: Option<MaxSeats>,
    fields: &Fields,
) -> Result<(), Stop> {
    if fields.is_confirmed() || limit == license.max_seats {
        return Ok(());
    }
    let used = license.seats.used;
    let (title, sentence, button) = match limit {
        None => (
            "Remove the seat limit?".to_owned(),
            "Any number of users can then use this license.".to_owned(),
            "Remove limit".to_owned(),
        ),
        Some(limit) if limit.get() < used => (
            format!("Lower the seat limit to {limit}?"),
            format!(
                "{used} seats are in use. Nobody loses one, but no other user gets one until {} \
                 of them are freed.",
                used - limit.get() + 1
            ),
            format!("Lower the limit to {limit}"),
        ),
        Some(_) => return Ok(()),
    };
    let path = format!("/licenses/{}/limit", license.id);
    let question = Question::new(title, sentence, fields.path_back(license.id));
    Err(question.choice(button, path, &fields.confirmed("yes"))?.into())
}

/// An expiry that is removed, or has passed already.
pub async fn ask_about_expiry(
    view: View,
    license: &LicenseWithSeats,
    end: Option<Timestamp>,
    fields: &Fields,
) -> Result<(), Stop> {
    let now = Timestamp::now();
    let ends_now = end.is_some_and(|end| end <= now) && !license.has_ended(now);
    let never_ends = end.is_none() && license.expires_at.is_some();
    if fields.is_confirmed() || !(ends_now || never_ends) {
        return Ok(());
    }
    let (path, back) = (format!("/licenses/{}/expiry", license.id), fields.path_back(license.id));
    let Some(end) = end else {
        let sentence = "The license then never expires. It can still be suspended or revoked.";
        let question = Question::new("Remove the expiry?", sentence, back);
        return Err(question.choice("Remove expiry", path, &fields.confirmed("yes"))?.into());
    };
    let users = i64::from(license.seats.used) + licenses::count_waiting(view, license.id).await?;
    let users = match users {
        0 => "Nobody has this license yet. Any user it is assigned to will be refused.".to_owned(),
        1 => "Its only user will be refused immediately.".to_owned(),
        // Users without a seat are counted up to a bound.
        many if many >= MAX_COUNTED => {
            format!("All users, {MAX_COUNTED} or more, will be refused immediately.")
        }
        many => format!("All {many} users will be refused immediately."),
    };
    let day = last_day(end);
    let question = Question::new(format!("End this license on {day}?"), users, back);
    let button = format!("End it on {day}");
    Err(question.choice(button, path, &fields.confirmed("yes"))?.dangerous().into())
}

/// An unknown user.
pub fn ask_about_user(typed: &TypedUsers, license: LicenseId, fields: &Fields) -> Result<(), Stop> {
    if typed.are_confirmed(&fields.confirmed) {
        return Ok(());
    }
    let path = format!("/licenses/{license}/assign");
    let question = ask_about(typed.pairs(), fields.path_back(license));
    let confirmed = fields.confirmed(&typed.unknown_text());
    let mut question = question.choice("Create user and assign", path.clone(), &confirmed)?;
    for similar in typed.unknown.iter().flat_map(|unknown| &unknown.similar) {
        let user_id = similar.external_id.to_string();
        let button = format!("Assign to {user_id}");
        let fields = Fields { user_id: Some(user_id), ..fields.confirmed("") };
        question = question.choice(button, path.clone(), &fields)?;
    }
    Err(question.into())
}

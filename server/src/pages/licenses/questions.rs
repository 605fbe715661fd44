//! What the forms of a license ask before they do something drastic.

use common::{LicenseId, LicenseWithSeats, MaxSeats, Timestamp};

use super::Question;
use super::last_day;
use super::show::Fields;
use super::typed_users::ask_about;
use crate::error::Error;
use crate::ops::licenses::{self, MAX_COUNTED};
use crate::ops::typed_users::TypedUsers;
use crate::ops::view::View;

/// A limit that is taken away, or that is lower than the seats that are taken.
pub fn about_limit(
    license: &LicenseWithSeats,
    limit: Option<MaxSeats>,
    fields: &Fields,
) -> Result<Option<Question>, Error> {
    let (used, path) = (license.seats.used, format!("/licenses/{}/limit", license.id));
    if fields.is_confirmed() || limit == license.max_seats {
        return Ok(None);
    }
    let (title, sentence, button) = match limit {
        None => (
            "Remove the seat limit?".to_owned(),
            "Any number of users can then use this license.".to_owned(),
            "Remove the limit".to_owned(),
        ),
        Some(limit) if limit.get() < used => (
            format!("Lower the seat limit to {limit}?"),
            format!(
                "{used} seats are taken. Nobody loses one, but no other user gets one until {} \
                 of them are freed.",
                used - limit.get() + 1
            ),
            format!("Lower the limit to {limit}"),
        ),
        Some(_) => return Ok(None),
    };
    let question = Question::new(title, sentence, fields.way_back(license.id));
    question.choice(button, path, &fields.confirmed("yes")).map(Some)
}

/// An end that is taken away, or that has passed already.
pub async fn about_expiry(
    view: View,
    license: &LicenseWithSeats,
    end: Option<Timestamp>,
    fields: &Fields,
) -> Result<Option<Question>, Error> {
    let path = format!("/licenses/{}/expiry", license.id);
    let now = Timestamp::now();
    let ends_now = end.is_some_and(|end| end <= now) && !license.has_ended(now);
    let never_ends = end.is_none() && license.expires_at.is_some();
    let back = fields.way_back(license.id);
    if fields.is_confirmed() || !(ends_now || never_ends) {
        return Ok(None);
    }
    let Some(end) = end else {
        let question = Question::new(
            "Remove the expiry?",
            "The license then never expires. It can still be suspended or revoked.",
            back,
        );
        return question.choice("Remove the expiry", path, &fields.confirmed("yes")).map(Some);
    };
    let users = i64::from(license.seats.used) + licenses::count_waiting(view, license.id).await?;
    let users = match users {
        0 => "Nobody has this license yet. Whoever gets it is refused.".to_owned(),
        1 => "Its only user will be refused immediately.".to_owned(),
        // Users without a seat are counted up to a bound.
        many if many >= MAX_COUNTED => {
            format!("All users, {MAX_COUNTED} or more, will be refused immediately.")
        }
        many => format!("All {many} users will be refused immediately."),
    };
    let day = last_day(end);
    let question = Question::new(format!("End this license on {day}?"), users, back);
    let question = question.choice(format!("End it on {day}"), path, &fields.confirmed("yes"))?;
    Ok(Some(question.dangerous()))
}

/// A user whom nobody knows.
pub fn about_user(
    typed: &TypedUsers,
    license: LicenseId,
    fields: &Fields,
) -> Result<Option<Question>, Error> {
    let path = format!("/licenses/{license}/assign");
    if typed.are_confirmed(&fields.confirmed) {
        return Ok(None);
    }
    let question = ask_about(typed.pairs(), fields.way_back(license));
    let confirmed = fields.confirmed(&typed.unknown_text());
    let mut question = question.choice("Create the user and assign", path.clone(), &confirmed)?;
    for similar in typed.unknown.iter().flat_map(|unknown| &unknown.similar) {
        let user_id = similar.external_id.to_string();
        let button = format!("Assign to {user_id}");
        let fields = Fields { user_id: Some(user_id), ..fields.confirmed("") };
        question = question.choice(button, path.clone(), &fields)?;
    }
    Ok(Some(question))
}

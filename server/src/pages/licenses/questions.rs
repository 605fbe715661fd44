//! The questions that the forms of a license ask before a drastic change.

use crate::error::Error;
use chrono::TimeDelta;
use common::{
    EventType, ExpiresInDays, ExternalId, Feature, Features, LicenseId, LicenseWithSeats, MaxSeats,
    PlanId, Status, Timestamp,
};

use super::affected::{refused_users, returning_users};
use super::show::Fields;
use crate::ops::events::{self, EventQuery};
use crate::ops::plans;
use crate::ops::user_lookup::TypedUsers;
use crate::ops::view::View;
use crate::pages::event_line::actor;
use crate::pages::filters::{day, end_in_words};
use crate::pages::user_lookup::ask_about;
use crate::pages::{Question, Stop, counted, terms};
use crate::store::Page;

/// Number of terms of the plan from which an expiry may be a mistake, such as 2207 for 2027.
const MOST_TERMS: i64 = 10;
/// The term of a plan without one, for that question.
const USUAL_DAYS: i32 = 365;

/// Activating a revoked license, which was refunded or abused.
pub async fn ask_about_activation(
    view: View,
    license: &LicenseWithSeats,
    status: Status,
    fields: &Fields,
) -> Result<(), Stop> {
    let gives_back = (license.status, status) == (Status::Revoked, Status::Active);
    if fields.is_confirmed() || !gives_back {
        return Ok(());
    }
    let query = EventQuery {
        kinds: vec![EventType::LicenseStatusChanged.to_string()],
        subject: Some(license.id.to_string()),
        ..EventQuery::default()
    };
    let last = events::page(view.clone(), query, Page::newest_first(None, 1)).await?;
    let revoked = last.first().map_or_else(
        || "It was revoked.".to_owned(),
        |event| format!("It was revoked on {} by {}.", day(event.time), actor(&event.actor)),
    );
    let sentence = format!("{revoked} {}", returning_users(view, license).await?);
    let path = format!("/licenses/{}/status", license.id);
    let title = "Activate this revoked license?";
    let question = Question::new(title, sentence, fields.path_back(license.id));
    Err(question.choice("Activate it", path, &fields.confirmed("yes"))?.into())
}

/// A limit that is removed, or is lower than the number of seats in use.
pub fn ask_about_limit(
    license: &LicenseWithSeats,
    limit: Option<MaxSeats>,
    fields: &Fields,
) -> Result<(), Stop> {
    if fields.confirms("limit") {
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
                "{used} seats are in use. Their users keep them, but no other user gets a seat until \
                 {} of them are freed.",
                used - limit.get() + 1
            ),
            format!("Lower the limit to {limit}"),
        ),
        Some(_) => return Ok(()),
    };
    let path = format!("/licenses/{}/terms", license.id);
    let question = Question::new(title, sentence, fields.path_back(license.id));
    Err(question.choice(button, path, &fields.also_confirmed("limit"))?.into())
}

/// Features that are removed, perhaps by a slip in the names of others.
pub fn ask_about_features(
    license: &LicenseWithSeats,
    features: &Features,
    fields: &Fields,
) -> Result<(), Stop> {
    let removed = missing_in(features, &license.features);
    if fields.confirms("features") || removed.is_empty() {
        return Ok(());
    }
    let count = counted(removed.len() as i64, "feature");
    let mut sentence = format!("The users of this license lose: {}.", removed.join(", "));
    let added = missing_in(&license.features, features);
    if !added.is_empty() {
        sentence += &format!(" They get: {}.", added.join(", "));
    }
    let (title, path) = (format!("Remove {count}?"), format!("/licenses/{}/terms", license.id));
    let question = Question::new(title, sentence, fields.path_back(license.id));
    let button = format!("Remove {count}");
    Err(question.choice(button, path, &fields.also_confirmed("features"))?.dangerous().into())
}

/// Returns the features of `all` that `these` lack.
pub fn missing_in<'a>(these: &Features, all: &'a Features) -> Vec<&'a str> {
    all.iter().filter(|feature| !these.contains(feature)).map(Feature::as_str).collect()
}

/// An expiry that is removed, has passed already, or is so far away that it may be a slip.
pub async fn ask_about_expiry(
    view: View,
    license: &LicenseWithSeats,
    end: Option<Timestamp>,
    fields: &Fields,
) -> Result<(), Stop> {
    let now = Timestamp::now();
    if fields.confirms("end") {
        return Ok(());
    }
    let (path, back) = (format!("/licenses/{}/terms", license.id), fields.path_back(license.id));
    let confirmed = fields.also_confirmed("end");
    let question = match end {
        None => {
            let sentence = "The license then never expires. It can still be suspended or revoked.";
            let question = Question::new("Remove the expiry?", sentence, back);
            question.choice("Remove expiry", path, &confirmed)?
        }
        Some(end) if end <= now && !license.has_ended(now) => {
            let day = end_in_words(end);
            let title = format!("End this license on {day}?");
            let question = Question::new(title, refused_users(view, license).await?, back);
            question.choice(format!("End it on {day}"), path, &confirmed)?.dangerous()
        }
        Some(end) => {
            let term = plans::get(view, license.plan_id).await?.expires_in_days;
            let days = i64::from(term.map_or(USUAL_DAYS, ExpiresInDays::get));
            if end.since(now) <= TimeDelta::days(MOST_TERMS * days) {
                return Ok(());
            }
            let day = end_in_words(end);
            let sentence = match term {
                Some(days) => format!("A license of its plan is usually valid for {days} days."),
                None => "That is more than ten years away.".to_owned(),
            };
            let question = Question::new(format!("Valid through {day}?"), sentence, back);
            question.choice(format!("Renew through {day}"), path, &confirmed)?
        }
    };
    Err(question.into())
}

/// Asks about a change to a plan, or to the present terms of the same plan: gains and losses.
pub async fn ask_about_plan(
    view: View,
    license: &LicenseWithSeats,
    plan: PlanId,
    fields: &Fields,
) -> Result<(), Stop> {
    if fields.is_confirmed() {
        return Ok(());
    }
    let plan = match plans::get(view, plan).await {
        Err(Error::NotFound(_)) => return Err(Error::unknown("planId", "plan").into()),
        found => found?,
    };
    let seats = |limit: Option<MaxSeats>| limit.map_or("no limit".into(), |it| it.to_string());
    let mut sentence =
        format!("Seats: {}, now {}.", seats(plan.max_seats), seats(license.max_seats));
    let lost = missing_in(&plan.features, &license.features);
    if !lost.is_empty() {
        sentence += &format!(" Its users lose: {}.", lost.join(", "));
    }
    let gained = missing_in(&license.features, &plan.features);
    if !gained.is_empty() {
        sentence += &format!(" They get: {}.", gained.join(", "));
    }
    sentence += &terms::changes(&license.terms, &plan.terms);
    if plan.product_id != license.product_id {
        sentence += " The plan is of another product: applications that ask for the old one refuse \
                     its users.";
    }
    sentence += " Its end stays, and no user loses a seat.";
    let (name, path) = (plan.name, format!("/licenses/{}/plan", license.id));
    let title = format!("Move this license to the plan {name}?");
    let question = Question::new(title, sentence, fields.path_back(license.id));
    Err(question.choice(format!("Move it to {name}"), path, &fields.confirmed("yes"))?.into())
}

/// Asks about an unknown user who would get the license. `with` puts another user into the form,
/// and `giver` is the user who hands the license over.
pub fn ask_about_user(
    typed: &TypedUsers,
    (action, giver): (&str, Option<&ExternalId>),
    license: LicenseId,
    fields: &Fields,
    with: impl Fn(String) -> Fields,
) -> Result<(), Stop> {
    if typed.are_confirmed(&fields.confirmed) {
        return Ok(());
    }
    let path = format!("/licenses/{license}/{action}");
    let mut question = ask_about(typed.pairs(), fields.path_back(license));
    let (create, choose) = match giver {
        Some(_) => ("Create user and hand over", "Hand over to"),
        None => ("Create user and assign", "Assign to"),
    };
    if let Some(giver) = giver {
        question.title = format!("Hand over the seat of {giver} to a new user?");
    }
    let confirmed = fields.confirmed(&typed.unknown_text());
    question = question.choice(create, path.clone(), &confirmed)?;
    for similar in typed.unknown.iter().flat_map(|unknown| &unknown.similar) {
        let user_id = similar.external_id.to_string();
        let button = format!("{choose} {user_id}");
        question = question.choice(button, path.clone(), &with(user_id))?;
    }
    Err(question.into())
}

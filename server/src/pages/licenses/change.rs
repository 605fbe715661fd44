//! The forms on the page of a license. Other pages have some of them too, and say in `back` where
//! they lead to.

use axum::extract::State;
use axum::response::Response;
use common::{AssignLicense, LicenseField, LicenseId, Status, UpdateLicense};

use super::show::{Attempt, Fields, ShowQuery, show};
use super::{
    Editor, Mistake, Notice, Visitor, end_of_day, external_id, features, last_day, optional,
    required,
};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::change::Change;
use crate::ops::licenses;

pub async fn set_status(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<LicenseId>,
    Form { fields, .. }: Form<Fields>,
) -> Result<Response, Error> {
    let changed = async {
        let status = required("status", "The status", given("status", &fields.status)?)?;
        licenses::set_status(begin(&app, &visitor).await?, id, status).await?;
        Ok(match status {
            Status::Active => Notice::LicenseActivated,
            Status::Suspended => Notice::LicenseSuspended,
            Status::Revoked => Notice::LicenseRevoked,
            Status::Expired => Notice::LicenseExpired,
        })
    };
    let changed = changed.await;
    answer(&app, visitor, id, fields, changed, "The status was not changed").await
}

pub async fn set_limit(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<LicenseId>,
    Form { fields, .. }: Form<Fields>,
) -> Result<Response, Error> {
    let changed = async {
        let text = given("maxSeats", &fields.max_seats)?;
        let max_seats = optional("maxSeats", "The limit", text)?;
        let clear = max_seats.is_none().then(|| vec![LicenseField::MaxSeats]);
        let update = UpdateLicense { max_seats, clear, ..UpdateLicense::default() };
        licenses::update(begin(&app, &visitor).await?, id, update).await?;
        Ok(Notice::LimitChanged)
    };
    let changed = changed.await;
    answer(&app, visitor, id, fields, changed, "The limit was not changed").await
}

pub async fn set_expiry(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<LicenseId>,
    Form { fields, .. }: Form<Fields>,
) -> Result<Response, Error> {
    let changed = async {
        let text = given("expiresAt", &fields.expires_at)?;
        let update = if text.trim().is_empty() {
            let clear = Some(vec![LicenseField::ExpiresAt]);
            UpdateLicense { clear, ..UpdateLicense::default() }
        } else {
            let chosen = end_of_day("expiresAt", "The expiry", text)?;
            let former = licenses::get(app.ops.view(visitor.scope), id).await?.expires_at;
            // The form knows the day alone. On the same day, the license keeps its hour.
            let same_day = former.filter(|former| last_day(*former) == last_day(chosen));
            UpdateLicense { expires_at: same_day.or(Some(chosen)), ..UpdateLicense::default() }
        };
        licenses::update(begin(&app, &visitor).await?, id, update).await?;
        Ok(Notice::ExpiryChanged)
    };
    let changed = changed.await;
    answer(&app, visitor, id, fields, changed, "The expiry was not changed").await
}

pub async fn set_features(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<LicenseId>,
    Form { fields, .. }: Form<Fields>,
) -> Result<Response, Error> {
    let changed = async {
        let features = Some(features("features", given("features", &fields.features)?)?);
        let update = UpdateLicense { features, ..UpdateLicense::default() };
        licenses::update(begin(&app, &visitor).await?, id, update).await?;
        Ok(Notice::FeaturesChanged)
    };
    let changed = changed.await;
    answer(&app, visitor, id, fields, changed, "The features were not changed").await
}

pub async fn assign(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<LicenseId>,
    Form { fields, .. }: Form<Fields>,
) -> Result<Response, Error> {
    let assigned = async {
        let user_id = external_id("userId", given("userId", &fields.user_id)?)?;
        let new = AssignLicense { user_id, metadata: None };
        licenses::assign(begin(&app, &visitor).await?, id, new).await?;
        Ok(Notice::Assigned)
    };
    let assigned = assigned.await;
    answer(&app, visitor, id, fields, assigned, "The license was not assigned").await
}

pub async fn unassign(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<LicenseId>,
    Form { fields, .. }: Form<Fields>,
) -> Result<Response, Error> {
    let unassigned = async {
        let user = external_id("userId", given("userId", &fields.user_id)?)?;
        licenses::unassign(begin(&app, &visitor).await?, id, Some(user)).await?;
        Ok(Notice::Unassigned)
    };
    let unassigned = unassigned.await;
    answer(&app, visitor, id, fields, unassigned, "The license was not taken from the user").await
}

async fn begin(app: &App, visitor: &Visitor) -> Result<Change, Error> {
    app.ops.change(visitor.origin(), None).await
}

/// The text of a field that the form must have: one that is left out says nothing.
fn given<'a>(field: &str, text: &'a Option<String>) -> Result<&'a str, Error> {
    text.as_deref().ok_or_else(|| Error::invalid(field, format!("{field} is missing.")))
}

/// Goes on to the page that the form leads to, or shows the license with the mistake.
async fn answer(
    app: &App,
    visitor: Visitor,
    id: LicenseId,
    fields: Fields,
    done: Result<Notice, Error>,
    title: &'static str,
) -> Result<Response, Error> {
    match done {
        Ok(notice) => visitor.go_to(&way_back(&fields.back, id), notice),
        Err(error) => {
            let mistake = Mistake::of(error)?;
            show(app, visitor, id, &ShowQuery::default(), Attempt { title, mistake, fields }).await
        }
    }
}

/// A path behind the mode: the one that the form names, or the license's own.
fn way_back(back: &str, id: LicenseId) -> String {
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
    if back.starts_with('/') && back.bytes().all(is_path) {
        back.to_owned()
    } else {
        format!("/licenses/{id}")
    }
}

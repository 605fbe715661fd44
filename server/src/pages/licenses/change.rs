//! The forms on the page of a license. Other pages have some of them too, and say in `back` where
//! they lead to.

use axum::extract::State;
use axum::response::Response;
use common::{
    AssignLicense, LicenseField, LicenseId, LicenseWithSeats, Status, Timestamp, UpdateLicense,
};

use super::meanwhile;
use super::questions;
use super::show::{Attempt, Fields, ShowQuery, show};
use super::{
    Done, Editor, Mistake, Notice, Question, Visitor, end_of_day, external_id, features, last_day,
    optional, required,
};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::change::Change;
use crate::ops::licenses;
use crate::ops::outcome::{Changed, Outcome};
use crate::ops::typed_users;

/// What comes after a form: the page with what it did, or a question first.
enum Next {
    Done(Done),
    Ask(Question),
}

impl<T: Into<Done>> From<T> for Next {
    fn from(done: T) -> Self {
        Self::Done(done.into())
    }
}

/// A form that was sent.
struct Sent<'a> {
    app: &'a App,
    visitor: &'a Visitor,
    id: LicenseId,
    fields: &'a Fields,
    /// When the license that the form shows had been changed last.
    seen: Option<Timestamp>,
}

macro_rules! handlers {
    ($($(#[$doc:meta])* $name:ident: $act:ident, $failed:literal;)*) => {$(
        $(#[$doc])*
        pub async fn $name(
            State(app): State<App>,
            Editor(visitor): Editor,
            Id(id): Id<LicenseId>,
            Form { fields, seen, .. }: Form<Fields>,
        ) -> Result<Response, Error> {
            let sent = Sent { app: &app, visitor: &visitor, id, fields: &fields, seen };
            // Boxed, as a request that waits for its body would hold the room for all of it.
            let next = Box::pin(sent.$act()).await;
            Box::pin(answer(&app, visitor, id, fields, next, $failed)).await
        }
    )*};
}

handlers! {
    set_status: status, "The status was not changed";
    set_limit: limit, "The limit was not changed";
    set_expiry: expiry, "The expiry was not changed";
    set_features: features, "The features were not changed";
    assign: assign, "The license was not assigned";
    unassign: unassign, "The license was not unassigned";
}

impl Sent<'_> {
    async fn status(&self) -> Result<Next, Error> {
        let text = given("status", &self.fields.status)?;
        let status = required("status", "The status", text)?;
        let before = self.stored().await?;
        let Changed(after) = licenses::set_status(self.begin().await?, self.id, status).await?;
        let end = after.expires_at.filter(|end| *end <= Timestamp::now());
        Ok(match status {
            _ if before.status == status => Notice::Unchanged.into(),
            Status::Active => match end {
                Some(end) => Notice::LicenseActivatedLate.with("", last_day(end)).into(),
                None => Notice::LicenseActivated.into(),
            },
            Status::Suspended => Notice::LicenseSuspended.into(),
            Status::Revoked => Notice::LicenseRevoked.into(),
            Status::Expired => Notice::LicenseExpired.into(),
        })
    }

    async fn limit(&self) -> Result<Next, Error> {
        let text = given("maxSeats", &self.fields.max_seats)?;
        let limit = optional("maxSeats", "The limit", text)?;
        let before = self.stored().await?;
        if let Some(question) = questions::about_limit(&before, limit, self.fields)? {
            return Ok(Next::Ask(question.about(self.seen)));
        }
        let clear = limit.is_none().then(|| vec![LicenseField::MaxSeats]);
        let update = UpdateLicense { max_seats: limit, clear, ..UpdateLicense::default() };
        let Changed(after) = licenses::update(self.begin().await?, self.id, update).await?;
        let words = |license: &common::License| {
            license.max_seats.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
        };
        let notice = match limit {
            _ if before.max_seats == after.max_seats => return Ok(Notice::Unchanged.into()),
            Some(limit) if limit.get() < before.seats.used => Notice::LimitBelowUsed,
            _ => Notice::LimitChanged,
        };
        Ok(notice.with(words(&before), words(&after)).into())
    }

    async fn expiry(&self) -> Result<Next, Error> {
        let text = given("expiresAt", &self.fields.expires_at)?;
        let before = self.stored().await?;
        let end = if text.trim().is_empty() {
            None
        } else {
            let chosen = end_of_day("expiresAt", "The expiry", text)?;
            // The form knows the day alone. On the same day, the license keeps its hour.
            let same_day = before.expires_at.filter(|former| last_day(*former) == last_day(chosen));
            Some(same_day.unwrap_or(chosen))
        };
        let view = self.app.ops.view(self.visitor.scope);
        if let Some(question) = questions::about_expiry(view, &before, end, self.fields).await? {
            return Ok(Next::Ask(question.about(self.seen)));
        }
        let clear = end.is_none().then(|| vec![LicenseField::ExpiresAt]);
        let update = UpdateLicense { expires_at: end, clear, ..UpdateLicense::default() };
        let Changed(after) = licenses::update(self.begin().await?, self.id, update).await?;
        let words = |license: &common::License| {
            license.expires_at.map_or_else(|| "never".to_owned(), last_day)
        };
        let notice = match end {
            _ if before.expires_at == after.expires_at => return Ok(Notice::Unchanged.into()),
            Some(end) if end <= Timestamp::now() => Notice::ExpiryPassed,
            _ => Notice::ExpiryChanged,
        };
        Ok(notice.with(words(&before), words(&after)).into())
    }

    async fn features(&self) -> Result<Next, Error> {
        let features = features("features", given("features", &self.fields.features)?)?;
        let before = self.stored().await?;
        let update = UpdateLicense { features: Some(features), ..UpdateLicense::default() };
        let Changed(after) = licenses::update(self.begin().await?, self.id, update).await?;
        let is_same = before.features == after.features;
        Ok(if is_same { Notice::Unchanged } else { Notice::FeaturesChanged }.into())
    }

    async fn assign(&self) -> Result<Next, Error> {
        let text = given("userId", &self.fields.user_id)?;
        // Nothing is asked about a license that is not there.
        self.stored().await?;
        let view = self.app.ops.view(self.visitor.scope);
        let (user_id, typed) = typed_users::one(view, "userId", text).await?;
        if let Some(question) = questions::about_user(&typed, self.id, self.fields)? {
            return Ok(Next::Ask(question));
        }
        let new = AssignLicense { user_id, metadata: None };
        let assigned = licenses::assign(self.begin().await?, self.id, new).await?;
        Ok(notice_of_assignment(assigned.is_new(), &self.stored().await?).into())
    }

    async fn unassign(&self) -> Result<Next, Error> {
        let user = external_id("userId", given("userId", &self.fields.user_id)?)?;
        let unassigned = licenses::unassign(self.begin().await?, self.id, Some(user)).await;
        Ok(match unassigned {
            Ok(unassigned) if unassigned.freed_seat => Notice::SeatFreed,
            Ok(_) => Notice::Unassigned,
            // In another tab, or by a colleague.
            Err(Error::NotFound("assignment")) => Notice::UnassignedBefore,
            Err(error) => return Err(error),
        }
        .into())
    }

    async fn stored(&self) -> Result<LicenseWithSeats, Error> {
        licenses::get(self.app.ops.view(self.visitor.scope), self.id).await
    }

    async fn begin(&self) -> Result<Change, Error> {
        self.visitor.change(self.app, self.seen).await
    }
}

/// What an assignment means for the user, given the license after it.
pub fn notice_of_assignment(is_new: bool, license: &LicenseWithSeats) -> Done {
    let status = if license.has_ended(Timestamp::now()) { Status::Expired } else { license.status };
    match license.seats.allowed {
        _ if !is_new => Notice::AssignedBefore.into(),
        _ if status != Status::Active => Notice::AssignedInvalid.with("", status.as_str()),
        Some(allowed) if license.seats.used >= allowed.get() => {
            Notice::AssignedFull.with("", format!("{} of {allowed}", license.seats.used))
        }
        _ => Notice::Assigned.into(),
    }
}

/// The text of a field that the form must have: one that is left out says nothing.
fn given<'a>(field: &str, text: &'a Option<String>) -> Result<&'a str, Error> {
    text.as_deref().ok_or_else(|| Error::invalid(field, format!("{field} is missing.")))
}

/// Goes on to the page that the form leads to, asks first, or shows the license with the mistake.
async fn answer(
    app: &App,
    visitor: Visitor,
    id: LicenseId,
    fields: Fields,
    next: Result<Next, Error>,
    title: &'static str,
) -> Result<Response, Error> {
    match next {
        Ok(Next::Done(done)) => visitor.go_to(&fields.way_back(id), done),
        Ok(Next::Ask(question)) => question.ask(visitor.layout),
        Err(Error::Changed(_)) if !fields.back.is_empty() => {
            visitor.go_to(&fields.way_back(id), Notice::ChangedMeanwhile)
        }
        Err(error) => {
            let error = meanwhile::explain(app.ops.view(visitor.scope), id, error).await;
            let mistake = Mistake::of(error)?;
            show(app, visitor, id, &ShowQuery::default(), Attempt { title, mistake, fields }).await
        }
    }
}

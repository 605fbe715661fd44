//! The forms on the page of a license. Other pages have some of them too; `back` then has the path to
//! return to.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;
use common::{
    AssignLicense, ExternalId, License, LicenseId, LicenseWithSeats, RenewLicense, Status,
    Timestamp, TransferLicense, UpdateLicense,
};

use super::show::{Fields, ShowQuery, show};
use super::{questions, save};
use crate::error::Error;
use crate::http::App;
use crate::http::extract::{Form, Id, path_param};
use crate::ops::change::Change;
use crate::ops::licenses;
use crate::ops::outcome::{Changed, Outcome};
use crate::ops::{release, user_lookup};
use crate::pages::catalog::chosen_plan;
use crate::pages::filters::end_in_words;
use crate::pages::leases;
use crate::pages::{Done, Editor, Notice, Stop, Visitor, given, optional, required};

#[derive(Clone, Copy)]
enum Act {
    Status,
    Renew,
    Terms,
    Assign,
    Unassign,
    Release,
    Transfer,
    Plan,
}

/// The action of a form: the last part of its address, and the sentence that the page shows if it
/// was refused.
pub struct Action(&'static str, Act, &'static str);

impl Action {
    const ALL: [Self; 8] = [
        Self("status", Act::Status, "The status was not changed"),
        Self("renew", Act::Renew, "The license was not renewed"),
        Self("terms", Act::Terms, "The terms were not saved"),
        Self("assign", Act::Assign, "The license was not assigned"),
        Self("unassign", Act::Unassign, "The license was not unassigned"),
        Self("release", Act::Release, "The seat was not freed"),
        Self("transfer", Act::Transfer, "The license was not handed over"),
        Self("plan", Act::Plan, "The plan was not changed"),
    ];
}

impl FromRequestParts<App> for Action {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let given = path_param(parts, app, "action").await;
        let action = Self::ALL.into_iter().find(|Self(word, ..)| given.as_deref() == Some(word));
        action.ok_or(Error::RouteNotFound)
    }
}

pub async fn change(
    Editor(visitor): Editor,
    Action(word, act, title): Action,
    Id(id): Id<LicenseId>,
    Form { fields, seen, drops_leases, .. }: Form<Fields>,
) -> Result<Response, Error> {
    let change = async |visitor: &Visitor, fields: &Fields| {
        let back = fields.path_back(id);
        let form = SentForm { visitor, id, fields, seen, drops_leases };
        match form.perform(act).await {
            Ok(done) => Ok(visitor.redirect(&back, done)),
            // The page of the form has no place for its errors.
            Err(Stop::Fail(Error::Changed(_))) if !fields.back.is_empty() => {
                Ok(visitor.redirect(&back, Notice::EditConflict))
            }
            Err(Stop::Fail(Error::LeaseRunning(until))) => {
                let path = format!("/licenses/{id}/{word}");
                Err(leases::ask(until, path, back, fields, seen)?.into())
            }
            Err(stop) => Err(stop),
        }
    };
    let again = |visitor, form| show(visitor, id, ShowQuery::default(), title, form);
    visitor.submit(fields, change, again).await
}

/// A form that was sent.
struct SentForm<'a> {
    visitor: &'a Visitor,
    id: LicenseId,
    fields: &'a Fields,
    /// Time of the license's last change when the form was shown.
    seen: Option<Timestamp>,
    drops_leases: bool,
}

impl SentForm<'_> {
    async fn perform(&self, act: Act) -> Result<Done, Stop> {
        match act {
            Act::Status => self.set_status().await,
            Act::Renew => self.renew().await,
            Act::Terms => self.save().await,
            Act::Assign => self.assign().await,
            Act::Unassign => self.unassign().await.map(Done::from),
            Act::Release => self.release().await.map(Done::from),
            Act::Transfer => self.transfer().await,
            Act::Plan => self.set_plan().await,
        }
    }

    async fn set_status(&self) -> Result<Done, Stop> {
        let status = required("status", "The status", given("status", &self.fields.status)?)?;
        let before = self.stored().await?;
        let view = self.visitor.view();
        questions::ask_about_activation(view, &before, status, self.fields).await?;
        let Changed(after) = licenses::set_status(self.begin().await?, self.id, status).await?;
        let notice = match status {
            Status::Active => match after.expires_at.filter(|end| *end <= Timestamp::now()) {
                Some(end) if before.status != status => {
                    return Ok(Notice::LicenseActivatedLate.with("", end_in_words(end)));
                }
                _ => Notice::LicenseActivated,
            },
            Status::Suspended => Notice::LicenseSuspended,
            Status::Revoked => Notice::LicenseRevoked,
            Status::Expired => Notice::LicenseExpired,
        };
        Ok(notice.unless(before.status == status).into())
    }

    async fn renew(&self) -> Result<Done, Stop> {
        let from = optional("from", "The start", &self.fields.from)?;
        let before = self.stored().await?;
        let request = RenewLicense { from, term: None };
        let Changed(after) = licenses::renew(self.begin().await?, self.id, request).await?;
        let [from, to] = [before.expires_at, after.expires_at]
            .map(|end| end.map(end_in_words).unwrap_or_default());
        Ok(Notice::ExpiryChanged.with(from, to))
    }

    async fn save(&self) -> Result<Done, Stop> {
        let before = self.stored().await?;
        match save::read(self.visitor.view(), &before, self.fields).await? {
            None => Ok(Notice::Unchanged.into()),
            Some((update, done)) => {
                self.update(update).await?;
                Ok(done)
            }
        }
    }

    async fn assign(&self) -> Result<Done, Stop> {
        let text = given("userId", &self.fields.user_id)?;
        // A license that does not exist is not asked about.
        self.stored().await?;
        let view = self.visitor.view();
        let (user_id, typed) = user_lookup::one(view, "userId", text).await?;
        let with = |user| Fields { user_id: Some(user), ..self.fields.confirmed("") };
        questions::ask_about_user(&typed, ("assign", None), self.id, self.fields, with)?;
        let new = AssignLicense::to(user_id);
        let assigned = licenses::assign(self.begin().await?, self.id, new).await?;
        Ok(notice_of_assignment(assigned.is_new(), &self.stored().await?))
    }

    /// A hidden field, taken exactly as it is: two ids that differ in a space are two users.
    fn user(&self) -> Result<ExternalId, Error> {
        let user = given("userId", &self.fields.user_id)?.parse::<ExternalId>();
        user.map_err(|rule| Error::invalid("userId", format!("The external ID {rule}.")))
    }

    async fn release(&self) -> Result<Notice, Stop> {
        match release::release_one(self.taking().await?, self.id, self.user()?).await {
            Ok(Changed(done)) if done.released.is_empty() => Ok(Notice::SeatFreedBefore),
            Ok(_) => Ok(Notice::SeatReleased),
            Err(Error::NotFound("assignment")) => Ok(Notice::UnassignedBefore),
            Err(error) => Err(error.into()),
        }
    }

    async fn transfer(&self) -> Result<Done, Stop> {
        let from_user_id = self.user()?;
        let text = given("toUserId", &self.fields.to_user_id)?;
        // A license that does not exist is not asked about.
        self.stored().await?;
        let view = self.visitor.view();
        let (to_user_id, typed) = user_lookup::one(view, "toUserId", text).await?;
        let with = |user| Fields { to_user_id: Some(user), ..self.fields.confirmed("") };
        questions::ask_about_user(
            &typed,
            ("transfer", Some(&from_user_id)),
            self.id,
            self.fields,
            with,
        )?;
        let request = TransferLicense { from_user_id, to_user_id };
        let (from, to) = (request.from_user_id.to_string(), request.to_user_id.to_string());
        match licenses::transfer(self.taking().await?, self.id, request).await {
            Ok(Changed(it)) if it.activation.is_some() => Ok(Notice::HandedWithSeat.with(from, to)),
            Ok(_) => Ok(Notice::Handed.with(from, to)),
            Err(Error::NotFound("assignment")) => Ok(Notice::UnassignedBefore.into()),
            Err(error) => Err(error.into()),
        }
    }

    async fn set_plan(&self) -> Result<Done, Stop> {
        let id = chosen_plan(&self.fields.plan_id)?;
        let before = self.stored().await?;
        let view = self.visitor.view();
        questions::ask_about_plan(view, &before, id, self.fields).await?;
        let update = UpdateLicense { plan_id: Some(id), ..UpdateLicense::default() };
        let after = self.update(update).await?;
        Ok(Notice::PlanChanged.unless(after.updated_at == before.updated_at).into())
    }

    async fn unassign(&self) -> Result<Notice, Stop> {
        let user = self.user()?;
        Ok(match licenses::unassign(self.taking().await?, self.id, Some(user)).await {
            Ok(unassigned) if unassigned.freed_seat => Notice::SeatFreed,
            Ok(_) => Notice::Unassigned,
            // In another tab, or by a colleague.
            Err(Error::NotFound("assignment")) => Notice::UnassignedBefore,
            Err(error) => return Err(error.into()),
        })
    }

    async fn update(&self, update: UpdateLicense) -> Result<License, Error> {
        let Changed(after) = licenses::update(self.begin().await?, self.id, update).await?;
        Ok(after.license)
    }

    async fn stored(&self) -> Result<LicenseWithSeats, Error> {
        licenses::get(self.visitor.view(), self.id).await
    }

    /// Begins a change that takes a seat away.
    async fn taking(&self) -> Result<Change, Error> {
        Ok(self.begin().await?.dropping_leases(self.drops_leases))
    }

    async fn begin(&self) -> Result<Change, Error> {
        self.visitor.change(self.seen).await
    }
}

/// Describes the effect of an assignment for the user, given the license after it.
pub fn notice_of_assignment(is_new: bool, license: &LicenseWithSeats) -> Done {
    let status = license.effective_status(Timestamp::now());
    match license.seats.allowed {
        _ if !is_new => Notice::AssignedBefore.into(),
        _ if status != Status::Active => Notice::AssignedInvalid.with("", status.as_str()),
        Some(allowed) if license.seats.used >= allowed.get() => {
            Notice::AssignedFull.with("", format!("{} of {allowed}", license.seats.used))
        }
        _ => Notice::Assigned.into(),
    }
}

//! The page of a user, for support: results of validations with reasons and remedies, and the last
//! events.

use askama::Template;
use axum::response::Response;
use common::{
    Event, ExplainedLicense, License, LicenseId, Line, MaxSeats, Name, Remedy, RemedyType, Seats,
    UpdateUser, User, UserField, UserId, Verdict,
};
use form_urlencoded::byte_serialize;
use serde::{Deserialize, Serialize};

use super::licensing::{CreateForm, Licensing, LicensingQuery};
use super::verdict::{Headline, badge, badge_of, is_deciding, is_over};
use crate::error::Error;
use crate::http::extract::{Form, Id, Query};
use crate::ops::events::{self, EventQuery};
use crate::ops::explain::{self, ExplainedUser};
use crate::ops::{renames, users};
use crate::pages::event_line::actor;
use crate::pages::fields::is_email;
use crate::pages::filters::last_day_in_words;
use crate::pages::refusals::reason;
use crate::pages::{
    Badge, Editor, FormError, FormState, Layout, Notice, SeatsBar, Viewer, Visitor, all, cleared,
    counted, email, filters, leases, optional, page, required, short, words,
};
use crate::store::Page;

/// Number of the user's last events that are shown.
const SHOWN_EVENTS: i64 = 10;

#[derive(Template)]
#[template(path = "user.html")]
struct UserPage {
    layout: Layout,
    user: User,
    /// The external id, encoded for a query.
    user_in_query: String,
    metadata: Option<String>,
    headline: Headline,
    explained: ExplainedUser,
    /// None if the visitor cannot make changes.
    licensing: Option<Licensing>,
    events: Vec<Event>,
    edit: FormState<EditForm>,
    /// Of the form that assigns an existing license.
    assign_error: FormError,
}

pub async fn get(
    Viewer(visitor): Viewer,
    Id(id): Id<UserId>,
    Query(query): Query<LicensingQuery>,
) -> Result<Response, Error> {
    show(visitor, id, query, Sent::Nothing).await
}

/// The form that was refused, if one was.
pub enum Sent {
    Nothing,
    Edit(FormState<EditForm>),
    Assign(FormError),
    Create(FormState<CreateForm>),
}

pub async fn show(
    visitor: Visitor,
    id: UserId,
    query: LicensingQuery,
    sent: Sent,
) -> Result<Response, Error> {
    let view = visitor.view();
    let may_act = visitor.layout.may_act();
    let explained = explain::of_user(view.clone(), id).await?;
    let user = explained.user.clone();
    let periods = renames::periods_of(&view, &id.to_string()).await?;
    let of_user = EventQuery { user: Some(periods), ..EventQuery::default() };
    let newest = Page::newest_first(None, SHOWN_EVENTS);
    let events = events::page(view.clone(), of_user, newest).await?;
    let metadata = user.metadata.as_ref().map(serde_json::to_string_pretty).transpose();
    let mut edit = FormState::new(EditForm::of(&user));
    let (mut create, mut assign_error) = (FormState::default(), FormError::default());
    match sent {
        Sent::Nothing => {}
        Sent::Edit(sent) => edit = sent,
        Sent::Assign(error) => assign_error = error,
        Sent::Create(sent) => create = sent,
    }
    let status = edit.error.status().max(create.error.status()).max(assign_error.status());
    let licensing = match may_act {
        true => Some(Licensing::read(view, &explained, query, create).await?),
        false => None,
    };
    let shown = UserPage {
        layout: visitor.layout,
        user_in_query: byte_serialize(user.external_id.as_str().as_bytes()).collect(),
        metadata: metadata.map_err(|_| Error::Internal)?,
        headline: Headline::of(&explained),
        user,
        explained,
        licensing,
        events,
        edit,
        assign_error,
    };
    page(status, &shown)
}

fn seats(license: &ExplainedLicense) -> SeatsBar {
    SeatsBar::of(&Seats { used: license.seats_used, allowed: license.license.max_seats })
}

/// Returns the number of seats that a higher limit adds.
fn added_seats(license: &License, limit: &MaxSeats) -> i32 {
    limit.get() - license.max_seats.map_or(0, MaxSeats::get)
}

/// Counts the users who hold a seat in addition to those that the remedy names.
fn other_holders(license: &ExplainedLicense, remedy: &Remedy) -> i64 {
    i64::from(license.seats_used) - remedy.holders.len() as i64
}

/// The remedies of a license for a visitor who may only look.
fn in_words(license: &ExplainedLicense) -> String {
    let words = license.remedies.iter().filter_map(|remedy| {
        Some(match remedy.kind.known()? {
            RemedyType::Unassign => {
                "unassign this user from it, as a license behind it is free".into()
            }
            RemedyType::FreeSeats => "free a seat".into(),
            RemedyType::RaiseLimit => format!("raise its limit to {}", remedy.max_seats?),
            RemedyType::Activate => "activate it".into(),
            RemedyType::Renew => "renew it".into(),
        })
    });
    // Either frees a seat, but a license must be both active and unexpired.
    let either = license.verdict == Verdict::ExceededSeats;
    words.collect::<Vec<String>>().join(if either { ", or " } else { ", and " })
}

impl UserPage {
    /// The name of the user, or the external id.
    fn title(&self) -> &str {
        self.user.name.as_ref().map_or(self.user.external_id.as_str(), Name::as_str)
    }

    fn count_licenses(&self) -> i64 {
        self.explained.licenses().count() as i64
    }

    fn held_seats(&self) -> i64 {
        self.explained.licenses().filter(|license| license.activation.is_some()).count() as i64
    }

    fn product_of(&self, license: &LicenseId) -> &str {
        let of = self.explained.products.iter().find(|product| product.deciding == Some(*license));
        of.map_or("", |product| product.product_name.as_str())
    }
}

/// The form for the user's own record.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EditForm {
    external_id: Option<String>,
    email: String,
    name: String,
}

impl EditForm {
    fn of(user: &User) -> Self {
        let email = user.email.as_ref().map_or("", Line::as_str).to_owned();
        let name = user.name.as_ref().map_or("", Name::as_str).to_owned();
        Self { external_id: Some(user.external_id.to_string()), email, name }
    }

    /// An empty field clears its member. The API takes any text as an email, and such a one may stay.
    fn read(&self, stored: &User) -> Result<UpdateUser, Error> {
        // An id of blanks at its ends may stay.
        let own = stored.external_id.as_str();
        let other_id = self.external_id.as_deref().filter(|typed| *typed != own);
        let former = stored.email.as_ref().filter(|former| former.as_str() == self.email.trim());
        all! {
            external_id =
                other_id.map(|id| required("externalId", "The external ID", id)).transpose(),
            name = optional("name", "The name", &self.name),
            email = match former {
                Some(former) => Ok(Some(former.clone())),
                None => email("email", "The email", &self.email),
            },
        }
        let update = UpdateUser { external_id, email, name, ..UpdateUser::default() };
        let clear = cleared(&[UserField::Email, UserField::Name], &update);
        Ok(UpdateUser { clear, ..update })
    }
}

pub async fn update(
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
    Form { fields, seen, drops_leases, .. }: Form<EditForm>,
) -> Result<Response, Error> {
    let update = async |visitor: &Visitor, fields: &EditForm| {
        let stored = users::get(visitor.view(), id).await?;
        let update = fields.read(&stored)?;
        let change = visitor.change(seen).await?.dropping_leases(drops_leases);
        let page = format!("/users/{id}");
        let user = match users::update(change, id, update).await {
            Err(Error::LeaseRunning(until)) => {
                let path = page.clone();
                return Err(leases::ask(until, path, page, fields, seen)?.into());
            }
            updated => updated?.0,
        };
        let notice = Notice::UserUpdated.unless(user == stored);
        Ok(visitor.redirect(&page, notice))
    };
    let again = |visitor, form| show(visitor, id, LicensingQuery::default(), Sent::Edit(form));
    visitor.submit(fields, update, again).await
}

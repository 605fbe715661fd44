//! A user's page, for support: how a validation would be answered and why, what would change that,
//! what happened to the user lately.

use std::collections::HashSet;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use common::{
    AssignLicense, Event, Explain, ExplainedLicense, Explanation, LicenseId, LicenseWithSeats,
    Line, Name, Seats, Status, Timestamp, UpdateUser, User, UserField, UserId,
};
use form_urlencoded::byte_serialize;
use serde::{Deserialize, Serialize};

use super::super::event_line::actor;
use super::super::fields::optional;
use super::super::filters;
use super::super::form::Mistake;
use super::super::html::page;
use super::super::layout::{Layout, Notice};
use super::super::parts::{Badge, SeatsBar, Tone, short};
use super::super::visitor::{Editor, Viewer, Visitor};
use super::way_out::{WayOut, deciding};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Id};
use crate::ops::events::{self, EventQuery};
use crate::ops::licenses::{self, LicenseQuery};
use crate::ops::users;
use crate::ops::view::View;
use crate::store::Page;
use crate::validation;

/// How many of the user's last events are shown.
const SHOWN_EVENTS: i64 = 10;
/// How many licenses to assign are shown, and how many of the newest active ones are read for them.
const SHOWN_LICENSES: usize = 50;
const READ_LICENSES: i64 = 200;

#[derive(Template)]
#[template(path = "user.html")]
struct UserPage {
    layout: Layout,
    user: User,
    /// The external id, as a part of an address.
    user_in_query: String,
    metadata: Option<String>,
    explained: Explanation,
    /// The license that decides.
    deciding: Option<LicenseId>,
    way_out: WayOut,
    /// Licenses that can be assigned.
    free_licenses: Vec<FreeLicense>,
    events: Vec<Event>,
    edit: EditForm,
    mistake: Mistake,
    assign: AssignForm,
    assign_mistake: Mistake,
}

/// An active license with a free seat.
struct FreeLicense {
    id: LicenseId,
    /// Its end, its product and plan, and its seats.
    label: String,
}

pub async fn get(
    State(app): State<App>,
    Viewer(visitor): Viewer,
    Id(id): Id<UserId>,
) -> Result<Response, Error> {
    show(&app, visitor, id, Sent::Nothing).await
}

async fn show(app: &App, visitor: Visitor, id: UserId, sent: Sent) -> Result<Response, Error> {
    let view = app.ops.view(visitor.scope);
    let external_id = users::get(view.clone(), id).await?.external_id;
    let newest = Page::newest_first(None, SHOWN_EVENTS);
    let of_user = EventQuery { user: Some(external_id.to_string()), ..EventQuery::default() };
    let events = events::page(view.clone(), of_user, newest).await?;
    let explained = explain(&view, Explain { user_id: external_id, product_id: None }).await?;
    // Deleted since the first look.
    let user = explained.user.clone().filter(|user| user.id == id);
    let user = user.ok_or(Error::NotFound("user"))?;
    let (mut free_licenses, mut way_out) = (Vec::new(), WayOut::default());
    if visitor.layout.may_act() {
        free_licenses = find_free_licenses(view.clone(), &explained).await?;
        way_out = WayOut::of(view, &explained).await?;
    }
    let metadata = user.metadata.as_ref().map(serde_json::to_string_pretty).transpose();
    let (mut edit, mut mistake) = (EditForm::of(&user), Mistake::default());
    let (mut assign, mut assign_mistake) = (AssignForm::default(), Mistake::default());
    match sent {
        Sent::Nothing => {}
        Sent::Edit(sent, made) => (edit, mistake) = (sent, made),
        Sent::Assign(sent, made) => (assign, assign_mistake) = (sent, made),
    }
    let shown = UserPage {
        layout: visitor.layout,
        user_in_query: byte_serialize(user.external_id.as_str().as_bytes()).collect(),
        metadata: metadata.map_err(|_| Error::Internal)?,
        deciding: deciding(&explained).map(|rung| rung.license.id),
        user,
        explained,
        way_out,
        free_licenses,
        events,
        edit,
        mistake,
        assign,
        assign_mistake,
    };
    page(shown.mistake.status().max(shown.assign_mistake.status()), &shown)
}

async fn explain(view: &View, request: Explain) -> Result<Explanation, Error> {
    let mut tx = view.snapshot().await?;
    validation::explain(&mut tx, view.scope, request, Timestamp::now()).await
}

/// The newest active licenses with a free seat that the user does not have yet.
async fn find_free_licenses(
    view: View,
    explained: &Explanation,
) -> Result<Vec<FreeLicense>, Error> {
    let own: HashSet<_> = explained.licenses.iter().map(|own| own.license.id).collect();
    let is_free = |found: &LicenseWithSeats| {
        let Seats { used, allowed } = found.seats;
        allowed.is_none_or(|allowed| used < allowed.get())
            && found.expires_at.is_none_or(|end| end > explained.checked_at)
            && !own.contains(&found.id)
    };
    let active = LicenseQuery { status: Some(Status::Active), ..LicenseQuery::default() };
    let newest = Page::newest_first(None, READ_LICENSES);
    let mut found = licenses::page(view.clone(), active, newest).await?;
    found.retain(is_free);
    found.truncate(SHOWN_LICENSES);
    let names = licenses::names(view, &found).await?;
    let label = |found: &LicenseWithSeats| {
        let (product, plan) = (names.product_of(found), names.plan_of(found));
        let seats = match found.seats.allowed {
            Some(allowed) => format!("{} of {allowed} seats", found.seats.used),
            None => "no limit".to_owned(),
        };
        format!("{} {product} · {plan}, {seats}", short(found.id))
    };
    Ok(found.iter().map(|found| FreeLicense { id: found.id, label: label(found) }).collect())
}

/// The end of a license's id.
fn end_of(license: &LicenseId) -> String {
    short(*license)
}

fn seats(rung: &ExplainedLicense) -> SeatsBar {
    SeatsBar::of(&Seats { used: rung.seats_used, allowed: rung.license.max_seats })
}

/// `1 license`, `2 licenses`.
fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

impl UserPage {
    fn is_deciding(&self, rung: &ExplainedLicense) -> bool {
        self.deciding == Some(rung.license.id)
    }

    /// The verdict on a license. That on the deciding one stands out.
    fn badge(&self, rung: &ExplainedLicense) -> Badge {
        let tone = match self.is_deciding(rung) {
            true if self.explained.valid => Tone::Ok,
            true => Tone::Bad,
            false => Tone::Off,
        };
        Badge { tone, word: rung.verdict.as_str() }
    }

    /// How many seats the user holds.
    fn held_seats(&self) -> usize {
        self.explained.licenses.iter().filter(|rung| rung.activation.is_some()).count()
    }
}

/// The form that was sent with a mistake, if one was.
enum Sent {
    Nothing,
    Edit(EditForm, Mistake),
    Assign(AssignForm, Mistake),
}

/// The form for the user's own record.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub struct EditForm {
    email: String,
    name: String,
}

impl EditForm {
    fn of(user: &User) -> Self {
        let email = user.email.as_ref().map_or("", Line::as_str).to_owned();
        let name = user.name.as_ref().map_or("", Name::as_str).to_owned();
        Self { email, name }
    }

    /// An empty field clears its member.
    fn read(&self) -> Result<UpdateUser, Error> {
        let email = optional("email", "The email", &self.email)?;
        let name = optional("name", "The name", &self.name)?;
        let empty =
            [(UserField::Email, email.is_none()), (UserField::Name, name.is_none())].into_iter();
        let clear = empty.filter(|(_, is_empty)| *is_empty).map(|(field, _)| field).collect();
        Ok(UpdateUser { email, name, metadata: None, clear: Some(clear) })
    }
}

pub async fn update(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
    Form { fields, .. }: Form<EditForm>,
) -> Result<Response, Error> {
    let updated = async {
        let update = fields.read()?;
        users::update(app.ops.change(visitor.origin(), None).await?, id, update).await
    };
    match updated.await {
        Ok(_) => visitor.go_to(&format!("/users/{id}"), Notice::UserUpdated),
        Err(error) => show(&app, visitor, id, Sent::Edit(fields, Mistake::of(error)?)).await,
    }
}

pub async fn delete(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
) -> Result<Response, Error> {
    users::delete(app.ops.change(visitor.origin(), None).await?, id).await?;
    visitor.go_to("/users", Notice::UserDeleted)
}

/// The form that assigns a license: one of the list, or another by its id.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AssignForm {
    license_id: String,
    other_id: String,
}

impl AssignForm {
    fn read(&self) -> Result<LicenseId, Error> {
        let other = self.other_id.trim();
        let chosen = if other.is_empty() { &self.license_id } else { other };
        if chosen.is_empty() {
            return Err(Error::invalid("otherId", "Choose a license, or give the id of one."));
        }
        chosen.parse().map_err(|_| Self::unknown())
    }

    fn unknown() -> Error {
        Error::invalid("otherId", "There is no license with this id.")
    }
}

pub async fn assign(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
    Form { fields, .. }: Form<AssignForm>,
) -> Result<Response, Error> {
    let user_id = users::get(app.ops.view(visitor.scope), id).await?.external_id;
    let assigned = async {
        let license = fields.read()?;
        let change = app.ops.change(visitor.origin(), None).await?;
        licenses::assign(change, license, AssignLicense { user_id, metadata: None }).await
    };
    match assigned.await {
        Ok(_) => visitor.go_to(&format!("/users/{id}"), Notice::Assigned),
        Err(error) => {
            let is_unknown = matches!(error, Error::NotFound("license"));
            let mistake = Mistake::of(if is_unknown { AssignForm::unknown() } else { error })?;
            show(&app, visitor, id, Sent::Assign(fields, mistake)).await
        }
    }
}

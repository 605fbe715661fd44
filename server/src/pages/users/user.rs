//! A user's page, for support: how validations would be answered and why, what would change that,
//! what happened to the user lately.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use common::{
    Event, ExplainedLicense, LicenseId, Line, Name, Seats, UpdateUser, User, UserField, UserId,
};
use form_urlencoded::byte_serialize;
use serde::{Deserialize, Serialize};

use super::super::event_line::actor;
use super::super::fields::{all, email, is_email, last_day, optional};
use super::super::filters;
use super::super::form::Mistake;
use super::super::html::page;
use super::super::layout::{Layout, Notice};
use super::super::meanwhile;
use super::super::parts::{Badge, SeatsBar, counted, short, words};
use super::super::visitor::{Editor, Viewer, Visitor};
use super::licensing::{CreateForm, Licensing, LicensingQuery};
use super::verdict::{Headline, badge, badge_of, is_deciding, is_over};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Id, Query};
use crate::ops::events::{self, EventQuery};
use crate::ops::explain::{self, ExplainedUser, Remedy, Term};
use crate::ops::outcome::Changed;
use crate::ops::users;
use crate::store::Page;

/// How many of the user's last events are shown.
const SHOWN_EVENTS: i64 = 10;

#[derive(Template)]
#[template(path = "user.html")]
struct UserPage {
    layout: Layout,
    user: User,
    /// The external id, as a part of an address.
    user_in_query: String,
    metadata: Option<String>,
    headline: Headline,
    explained: ExplainedUser,
    /// None if the visitor may only look.
    licensing: Option<Licensing>,
    events: Vec<Event>,
    edit: EditForm,
    mistake: Mistake,
    licensing_mistake: Mistake,
}

pub async fn get(
    State(app): State<App>,
    Viewer(visitor): Viewer,
    Id(id): Id<UserId>,
    Query(query): Query<LicensingQuery>,
) -> Result<Response, Error> {
    show(&app, visitor, id, query, Sent::Nothing).await
}

/// The form that was sent with a mistake, if one was.
pub enum Sent {
    Nothing,
    Edit(EditForm, Mistake),
    Assign(Mistake),
    Create(CreateForm, Mistake),
}

pub async fn show(
    app: &App,
    visitor: Visitor,
    id: UserId,
    query: LicensingQuery,
    sent: Sent,
) -> Result<Response, Error> {
    let view = app.ops.view(visitor.scope);
    let may_act = visitor.layout.may_act();
    let explained = explain::of_user(view.clone(), id, may_act).await?;
    let user = explained.user.clone();
    let of_user = EventQuery { user: Some(user.external_id.to_string()), ..EventQuery::default() };
    let newest = Page::newest_first(None, SHOWN_EVENTS);
    let events = events::page(view.clone(), of_user, newest).await?;
    let metadata = user.metadata.as_ref().map(serde_json::to_string_pretty).transpose();
    let (mut edit, mut create) = (EditForm::of(&user), CreateForm::default());
    let (mut mistake, mut licensing_mistake) = (Mistake::default(), Mistake::default());
    match sent {
        Sent::Nothing => {}
        Sent::Edit(sent, made) => (edit, mistake) = (sent, made),
        Sent::Assign(made) => licensing_mistake = made,
        Sent::Create(sent, made) => (create, licensing_mistake) = (sent, made),
    }
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
        mistake,
        licensing_mistake,
    };
    page(shown.mistake.status().max(shown.licensing_mistake.status()), &shown)
}

fn seats(license: &ExplainedLicense) -> SeatsBar {
    SeatsBar::of(&Seats { used: license.seats_used, allowed: license.license.max_seats })
}

/// The last valid day of the term, in the form that renews.
fn renewal_day(term: &Term) -> String {
    last_day(term.end)
}

impl UserPage {
    fn count_licenses(&self) -> i64 {
        self.explained.licenses().count() as i64
    }

    /// How many seats the user holds.
    fn held_seats(&self) -> usize {
        self.explained.licenses().filter(|license| license.activation.is_some()).count()
    }

    fn product_of(&self, license: &LicenseId) -> &str {
        let of = self.explained.products.iter().find(|product| product.deciding == Some(*license));
        of.map_or("", |product| product.product_name.as_str())
    }
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

    /// An empty field clears its member. The API takes emails of any form, and such a one may stay.
    fn read(&self, stored: &User) -> Result<UpdateUser, Error> {
        let former = stored.email.as_ref().filter(|former| former.as_str() == self.email.trim());
        all! {
            name = optional("name", "The name", &self.name),
            email = match former {
                Some(former) => Ok(Some(former.clone())),
                None => email("email", "The email", &self.email),
            },
        }
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
    Form { fields, seen, .. }: Form<EditForm>,
) -> Result<Response, Error> {
    let updated = Box::pin(async {
        let stored = users::get(app.ops.view(visitor.scope), id).await?;
        let update = fields.read(&stored)?;
        let change = visitor.change(&app, seen).await?;
        let Changed(user) = users::update(change, id, update).await?;
        Ok(if user == stored { Notice::Unchanged } else { Notice::UserUpdated })
    });
    match updated.await {
        Ok(notice) => visitor.go_to(&format!("/users/{id}"), notice),
        Err(error) => {
            let error = meanwhile::explain(app.ops.view(visitor.scope), id, error).await;
            let sent = Sent::Edit(fields, Mistake::of(error)?);
            Box::pin(show(&app, visitor, id, LicensingQuery::default(), sent)).await
        }
    }
}

/// The form that deletes the user has no fields of its own.
#[derive(Deserialize)]
pub struct DeleteForm {}

pub async fn delete(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<UserId>,
    Form { seen, .. }: Form<DeleteForm>,
) -> Result<Response, Error> {
    let change = visitor.change(&app, seen).await?;
    match Box::pin(users::delete(change, id)).await {
        Ok(_) => visitor.go_to("/users", Notice::UserDeleted),
        Err(Error::Changed(_)) => visitor.go_to(&format!("/users/{id}"), Notice::ChangedMeanwhile),
        Err(error) => Err(error),
    }
}

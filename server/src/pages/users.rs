//! Users: finding them, and the page for support of each.

mod user;
mod way_out;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use common::{CreateUser, Invalid, User};
use serde::{Deserialize, Serialize};

use super::fields::{created_before, once, optional};
use super::filters;
use super::form::Mistake;
use super::html::{page, see_other};
use super::layout::{Layout, Notice};
use super::parts::{Pager, ROWS};
use super::visitor::{Editor, Viewer, Visitor};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Query};
use crate::ops::outcome::Outcome;
use crate::ops::users::{self, FoundUsers, UserQuery};
use crate::store::Page;

pub use user::{assign, delete, get, update};

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    layout: Layout,
    query: UsersQuery,
    found: FoundUsers,
    pager: Pager,
    form: UserForm,
    once: String,
    mistake: Mistake,
}

/// The query of the list.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct UsersQuery {
    before: String,
    /// How the external id, the email or the name begins.
    q: String,
}

pub async fn list(
    State(app): State<App>,
    Viewer(visitor): Viewer,
    Query(query): Query<UsersQuery>,
) -> Result<Response, Error> {
    let found = find(&app, &visitor, &query).await?;
    if let Some(user) = only_hit(&found, &query.q) {
        return see_other(&format!("{}/users/{}", visitor.layout.base(), user.id));
    }
    // The visitor may want to create the unknown user.
    let external_id = if found.users.is_empty() { query.q.clone() } else { String::new() };
    let form = UserForm { external_id, ..UserForm::default() };
    show_list(visitor, query, found, form, Mistake::default())
}

async fn find(app: &App, visitor: &Visitor, query: &UsersQuery) -> Result<FoundUsers, Error> {
    let view = app.ops.view(visitor.scope);
    if !query.q.is_empty() {
        return users::find(view, &query.q, ROWS - 1).await;
    }
    let newest = Page::newest_first(query.before.parse().ok(), ROWS + 1);
    let users = users::page(view, UserQuery::default(), newest).await?;
    Ok(FoundUsers { users, more_exist: false })
}

/// The user with exactly this external id, if the text finds no other.
fn only_hit<'a>(found: &'a FoundUsers, text: &str) -> Option<&'a User> {
    match found.users.as_slice() {
        [user] if user.external_id.as_str() == text => Some(user),
        _ => None,
    }
}

fn show_list(
    visitor: Visitor,
    query: UsersQuery,
    mut found: FoundUsers,
    form: UserForm,
    mistake: Mistake,
) -> Result<Response, Error> {
    let pager = Pager::of(&mut found.users, |user| user.id.to_string(), &query.before, &[]);
    let (layout, once, status) = (visitor.layout, once(), mistake.status());
    page(status, &UsersPage { layout, query, found, pager, form, once, mistake })
}

/// The form for a new user.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct UserForm {
    external_id: String,
    email: String,
    name: String,
}

impl UserForm {
    fn read(&self) -> Result<CreateUser, Error> {
        // Spaces around it belong to it.
        let external_id = self.external_id.parse().map_err(|rule: Invalid| {
            Error::invalid("externalId", format!("The external id {rule}."))
        })?;
        Ok(CreateUser {
            external_id,
            email: optional("email", "The email", &self.email)?,
            name: optional("name", "The name", &self.name)?,
            metadata: None,
        })
    }
}

pub async fn create(
    State(app): State<App>,
    Editor(visitor): Editor,
    form: Form<UserForm>,
) -> Result<Response, Error> {
    let Form { fields, idempotency } = form;
    let created = async {
        let change = app.ops.change(visitor.origin(), idempotency.of(&fields)?).await?;
        Ok(users::create(change, fields.read()?).await?.record().id)
    };
    match created.await.or_else(created_before) {
        Ok(id) => visitor.go_to(&format!("/users/{id}"), Notice::UserCreated),
        Err(error) => {
            let (mistake, query) = (Mistake::of(error)?, UsersQuery::default());
            let found = find(&app, &visitor, &query).await?;
            show_list(visitor, query, found, fields, mistake)
        }
    }
}

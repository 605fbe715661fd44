//! Users: finding them, and the page for support of each.

mod elsewhere;
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
use super::parts::{Pager, Paging, ROWS};
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
#[derive(Clone, Default, Deserialize)]
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
    let mut found = find(&app, &visitor, &query).await?;
    let text = query.q.trim();
    // Spaces around it are part of an external id, and more often they were copied with it.
    if found.users.is_empty() && text != query.q {
        found = find(&app, &visitor, &UsersQuery { q: text.to_owned(), ..query.clone() }).await?;
    }
    if let Some(user) = only_hit(&found, &query.q) {
        return see_other(&format!("{}/users/{}", visitor.layout.base(), user.id));
    }
    if found.users.is_empty()
        && let Some(path) = elsewhere::find(app.ops.view(visitor.scope), text).await?
    {
        return see_other(&format!("{}{path}", visitor.layout.base()));
    }
    // The visitor may want to create the unknown user.
    let external_id = if found.users.is_empty() { text.to_owned() } else { String::new() };
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
        [user] if [text, text.trim()].contains(&user.external_id.as_str()) => Some(user),
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
    let pager =
        Pager::of(&mut found.users, |user| user.id.to_string(), &query.before, Paging::default());
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

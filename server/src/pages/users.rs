//! Users: finding them, and the page for support of each.

mod assign;
mod elsewhere;
mod licensing;
mod user;
mod verdict;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use common::{CreateUser, User};
use serde::{Deserialize, Serialize};

use super::fields::{all, created_before, email, once, optional};
use super::filters;
use super::form::Mistake;
use super::html::{page, see_other};
use super::layout::{Layout, Notice};
use super::parts::{Pager, Paging, ROWS};
use super::question::Question;
use super::typed_users::ask_about;
use super::visitor::{Editor, Viewer, Visitor};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Query};
use crate::ops::outcome::Outcome;
use crate::ops::typed_users::{self, TypedUsers};
use crate::ops::users::{self, FoundUsers, UserQuery};
use crate::ops::view::View;
use crate::store::Page;

/// How many users with the same email a question shows.
const MOST_SIMILAR: i64 = 3;

pub use assign::{assign, create_license};
pub use user::{delete, get, update};

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    layout: Layout,
    query: UsersQuery,
    found: FoundUsers,
    pager: Pager,
    attempt: Attempt,
    once: String,
}

/// The form for a new user, as it was sent if that failed.
#[derive(Default)]
struct Attempt {
    form: UserForm,
    mistake: Mistake,
    /// The user who exists already.
    existing: Option<User>,
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
    show_list(visitor, query, found, Attempt { form, ..Attempt::default() })
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
    attempt: Attempt,
) -> Result<Response, Error> {
    let pager =
        Pager::of(&mut found.users, |user| user.id.to_string(), &query.before, Paging::default());
    let (layout, once, status) = (visitor.layout, once(), attempt.mistake.status());
    page(status, &UsersPage { layout, query, found, pager, attempt, once })
}

/// The form for a new user.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct UserForm {
    external_id: String,
    email: String,
    name: String,
    /// The unknown id that was asked about, and is meant.
    confirmed: String,
}

impl UserForm {
    async fn read(&self, view: View) -> Result<(CreateUser, TypedUsers), Error> {
        all! {
            typed = typed_users::one(view, "externalId", &self.external_id).await,
            name = optional("name", "The name", &self.name),
            email = email("email", "The email", &self.email),
        }
        let (external_id, typed) = typed;
        Ok((CreateUser { external_id, email, name, metadata: None }, typed))
    }
}

pub async fn create(
    State(app): State<App>,
    Editor(visitor): Editor,
    form: Form<UserForm>,
) -> Result<Response, Error> {
    let Form { fields, idempotency, .. } = form;
    let view = app.ops.view(visitor.scope);
    let created = Box::pin(async {
        let (new, typed) = fields.read(view.clone()).await?;
        if let Some(question) = ask_about_similar(view.clone(), &typed, &fields).await? {
            return Ok(Err(question));
        }
        let change = app.ops.change(visitor.origin(), idempotency.of(&fields)?).await?;
        Ok(Ok(users::create_new(change, new).await?.record().id))
    });
    match created.await.or_else(|error| created_before(error).map(Ok)) {
        Ok(Ok(id)) => visitor.go_to(&format!("/users/{id}"), Notice::UserCreated),
        Ok(Err(question)) => question.ask(visitor.layout),
        Err(error) => {
            let (mistake, query) = (Mistake::of(error)?, UsersQuery::default());
            let found = find(&app, &visitor, &query).await?;
            let existing = typed_users::existing(view, &fields.external_id).await?;
            show_list(visitor, query, found, Attempt { form: fields, mistake, existing })
        }
    }
}

/// Whether the new user is one who exists, with another id: if somebody has this id in another case,
/// or this email.
async fn ask_about_similar(
    view: View,
    typed: &TypedUsers,
    fields: &UserForm,
) -> Result<Option<Question>, Error> {
    let Some(unknown) = typed.unknown.first() else { return Ok(None) };
    if typed.are_confirmed(&fields.confirmed) {
        return Ok(None);
    }
    let email = fields.email.trim();
    let with_email = users::find(view, email, MOST_SIMILAR).await?.users;
    let with_email = with_email.iter().filter(|user| typed_users::is_called(user, email));
    let with_id = unknown.similar.iter();
    let with_id = with_id.filter(|user| typed_users::is_called(user, unknown.id.as_str()));
    let mut similar: Vec<&User> = with_id.chain(with_email).collect();
    similar.sort_by_key(|user| user.id);
    similar.dedup_by_key(|user| user.id);
    if similar.is_empty() {
        return Ok(None);
    }
    let confirmed = UserForm { confirmed: typed.unknown_text(), ..fields.clone() };
    let question = ask_about([(&unknown.id, similar)], "/users".to_owned());
    question.choice("Create the user", "/users", &confirmed).map(Some)
}

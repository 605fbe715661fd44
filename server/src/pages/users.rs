//! Users: the list with its search, and the form for a new one.

mod assign;
mod elsewhere;
mod licensing;
mod search;
mod user;
mod verdict;

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use common::{CreateUser, User, UserId};
use serde::{Deserialize, Serialize};

use super::paging::ROWS;
use super::user_lookup::ask_about;
use super::{
    Editor, FormState, Layout, Notice, Pager, Paging, Stop, Viewer, Visitor, all, email, filters,
    once, optional, page,
};
use crate::error::Error;
use crate::http::extract::{Form, Query};
use crate::ops::outcome::Outcome;
use crate::ops::user_lookup::{self, TypedUsers};
use crate::ops::users::{self, FoundUsers, UserQuery};
use crate::ops::view::View;

/// Maximum number of users with the same email that a question shows.
const MOST_SIMILAR: i64 = 3;

pub use assign::{assign, create_license};
pub use search::search;
pub use user::{get, update};

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    layout: Layout,
    query: UsersQuery,
    found: FoundUsers,
    /// The path, behind the mode, of other records that match.
    elsewhere: Option<String>,
    pager: Pager,
    form: FormState<UserForm>,
    /// The user who has the external id of the form.
    existing: Option<User>,
    once: String,
}

/// The query of the list.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct UsersQuery {
    before: String,
    /// Words of the external id, the email or the name.
    q: String,
}

pub async fn list(
    Viewer(visitor): Viewer,
    Query(query): Query<UsersQuery>,
) -> Result<Response, Error> {
    let mut found = find(&visitor, &query).await?;
    let text = query.q.trim();
    // Spaces around it may belong to an external id. More often they were copied with it.
    if found.users.is_empty() && text != query.q {
        found = find(&visitor, &UsersQuery { q: text.to_owned(), ..query.clone() }).await?;
    }
    let mut elsewhere = None;
    if !text.is_empty() {
        let user = exact_hit(&found, &query.q).map(|user| format!("/users/{}", user.id));
        if user.is_none() {
            elsewhere = elsewhere::find(visitor.view(), text).await?;
        }
        let path = match (user, &elsewhere, found.users.as_slice()) {
            (Some(user), ..) => Some(user),
            (None, Some(other), []) => Some(other.clone()),
            (None, None, [user]) => Some(format!("/users/{}", user.id)),
            _ => None,
        };
        if let Some(path) = path {
            return Ok(Redirect::to(&(visitor.layout.base() + &path)).into_response());
        }
    }
    // The visitor may want to create the unknown user, if it was an id, which rarely has a blank.
    let may_be_id = found.users.is_empty() && elsewhere.is_none() && !text.contains(' ');
    let external_id = if may_be_id { text.to_owned() } else { String::new() };
    let form = UserForm { external_id, ..UserForm::default() };
    show_list(visitor, query, found, elsewhere, FormState::new(form), None)
}

async fn find(visitor: &Visitor, query: &UsersQuery) -> Result<FoundUsers, Error> {
    let view = visitor.view();
    if !query.q.is_empty() {
        return users::find(view, &query.q, ROWS - 1).await;
    }
    let users = users::page(view, UserQuery::default(), Paging::new(&query.before).page()).await?;
    Ok(FoundUsers { users, more_exist: false })
}

/// The user with exactly this external id, if the search finds no one else.
fn exact_hit<'a>(found: &'a FoundUsers, text: &str) -> Option<&'a User> {
    match found.users.as_slice() {
        [user] if [text, text.trim()].contains(&user.external_id.as_str()) => Some(user),
        _ => None,
    }
}

fn show_list(
    visitor: Visitor,
    query: UsersQuery,
    mut found: FoundUsers,
    elsewhere: Option<String>,
    form: FormState<UserForm>,
    existing: Option<User>,
) -> Result<Response, Error> {
    let pager = Paging::new(&query.before).pager(&mut found.users, |user| user.id);
    let (layout, once, status) = (visitor.layout, once(), form.error.status());
    page(status, &UsersPage { layout, query, found, elsewhere, pager, form, existing, once })
}

/// The form for a new user.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct UserForm {
    external_id: String,
    email: String,
    name: String,
    /// The unknown id, once the visitor has confirmed it.
    confirmed: String,
}

impl UserForm {
    async fn read(&self, view: View) -> Result<(CreateUser, TypedUsers), Error> {
        all! {
            typed = user_lookup::one(view, "externalId", &self.external_id).await,
            name = optional("name", "The name", &self.name),
            email = email("email", "The email", &self.email),
        }
        let (external_id, typed) = typed;
        Ok((CreateUser { email, name, ..CreateUser::new(external_id) }, typed))
    }
}

pub async fn create(
    Editor(visitor): Editor,
    Form { fields, idempotency, .. }: Form<UserForm>,
) -> Result<Response, Error> {
    let create = async |visitor: &Visitor, fields: &UserForm| {
        let (new, typed) = fields.read(visitor.view()).await?;
        ask_about_similar(visitor.view(), &typed, fields).await?;
        let create = async |change| users::create_new(change, new).await.map(|it| it.record().id);
        let id: UserId = visitor.create(idempotency, fields, create).await?;
        Ok(visitor.redirect(&format!("/users/{id}"), Notice::UserCreated))
    };
    let again = async |visitor: Visitor, form: FormState<UserForm>| {
        let query = UsersQuery::default();
        let found = find(&visitor, &query).await?;
        let existing = user_lookup::existing(visitor.view(), &form.fields.external_id).await?;
        show_list(visitor, query, found, None, form, existing)
    };
    visitor.submit(fields, create, again).await
}

/// Asks whether the new user exists under another ID, because another user has this ID in another
/// case, or this email.
async fn ask_about_similar(view: View, typed: &TypedUsers, fields: &UserForm) -> Result<(), Stop> {
    let Some(unknown) = typed.unknown.first() else { return Ok(()) };
    if typed.are_confirmed(&fields.confirmed) {
        return Ok(());
    }
    let email = fields.email.trim();
    let with_email = users::find(view, email, MOST_SIMILAR).await?.users;
    let with_email = with_email.iter().filter(|user| user_lookup::is_called(user, email));
    let with_id = unknown.similar.iter();
    let with_id = with_id.filter(|user| user_lookup::is_called(user, unknown.id.as_str()));
    let mut similar: Vec<&User> = with_id.chain(with_email).collect();
    similar.sort_by_key(|user| user.id);
    similar.dedup_by_key(|user| user.id);
    if similar.is_empty() {
        return Ok(());
    }
    let confirmed = UserForm { confirmed: typed.unknown_text(), ..fields.clone() };
    let question = ask_about([(&unknown.id, similar)], "/users".to_owned());
    Err(question.choice("Create user", "/users", &confirmed)?.into())
}

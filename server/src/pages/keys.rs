//! Keys: the list with the form for a new one, and the sessions that were opened with them.

mod key;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::Duration;
use common::{CreateKey, CreatedKey, Key, KeyState, Mode, Role, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::fields::{all, end_of_day, once, required};
use super::filters;
use super::form::Mistake;
use super::html::page;
use super::layout::{Layout, Notice};
use super::parts::{Badge, Pager, Paging, ROWS, Tone};
use super::visitor::{Editor, Viewer, Visitor};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Id, Query};
use crate::ops::keys::EXPIRES_SOON;
use crate::ops::outcome::Created;
use crate::ops::{keys, sessions};
use crate::store::Page;
use crate::store::sessions::ListedSession;

pub use key::{get, revoke, roll};

/// The choices for the end of a key: in the form, and in words.
const EXPIRIES: [(&str, &str); 5] = [
    ("30", "in 30 days"),
    ("90", "in 90 days"),
    ("365", "in 365 days"),
    ("never", "never"),
    ("date", "on a date"),
];

/// The roles in the form, each with what it may do.
const ROLES: [(&str, &str); 3] = [
    ("validate", "Validates users and nothing else. The role to ship in an application."),
    ("read", "Reads everything and signs in to look; changes nothing."),
    ("admin", "Everything, keys included."),
];

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    layout: Layout,
    keys: Vec<Key>,
    pager: Pager,
    sessions: Vec<ListedSession>,
    own_session: SessionId,
    form: KeyForm,
    once: String,
    mistake: Mistake,
}

/// The query of the list.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct KeysQuery {
    before: String,
}

pub async fn list(
    State(app): State<App>,
    Viewer(visitor): Viewer,
    Query(query): Query<KeysQuery>,
) -> Result<Response, Error> {
    show_list(&app, &visitor, &query, KeyForm::default(), Mistake::default()).await
}

async fn show_list(
    app: &App,
    visitor: &Visitor,
    query: &KeysQuery,
    form: KeyForm,
    mistake: Mistake,
) -> Result<Response, Error> {
    let view = app.ops.view(visitor.scope);
    let newest = Page::newest_first(query.before.parse().ok(), ROWS + 1);
    let mut keys = keys::page(view.clone(), newest).await?;
    let pager = Pager::of(&mut keys, |key| key.id.to_string(), &query.before, Paging::default());
    let sessions = sessions::newest(view).await?;
    let (layout, own_session) = (visitor.layout.clone(), visitor.session);
    let once = once();
    let status = mistake.status();
    page(status, &KeysPage { layout, keys, pager, sessions, own_session, form, once, mistake })
}

/// Whether a key is in force, and what one should know about that.
pub fn state(key: &Key) -> Badge {
    let now = Timestamp::now();
    let ends_soon = key.expires_at.is_some_and(|end| end.since(now) < EXPIRES_SOON);
    let (tone, word) = match key.state(now) {
        KeyState::Revoked => (Tone::Bad, "revoked"),
        KeyState::Expired => (Tone::Off, "expired"),
        KeyState::Valid if ends_soon => (Tone::Warn, "expires soon"),
        KeyState::Valid if key.is_long_unused(now) => (Tone::Warn, "unused for 90 days"),
        KeyState::Valid => (Tone::Ok, "active"),
    };
    Badge { tone, word }
}

/// The form for a new key.
#[derive(Deserialize, Serialize)]
#[serde(default)]
pub struct KeyForm {
    name: String,
    role: String,
    /// One of [`EXPIRIES`].
    expires: String,
    expires_on: String,
}

impl Default for KeyForm {
    fn default() -> Self {
        let [role, expires] = ["validate", "365"].map(str::to_owned);
        Self { name: String::new(), role, expires, expires_on: String::new() }
    }
}

impl KeyForm {
    /// The new key. Its end counts from `now`.
    fn read(&self, mode: Mode, now: Timestamp) -> Result<CreateKey, Error> {
        all! {
            name = required("name", "The name", &self.name),
            role = required("role", "The role", &self.role),
            expires_at = self.end(now),
        }
        Ok(CreateKey { name, role, mode: Some(mode), expires_at })
    }

    fn end(&self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        // Whoever fills in a date means it.
        let choice = if self.expires_on.trim().is_empty() { &self.expires } else { "date" };
        match choice {
            "never" => Ok(None),
            "date" => match end_of_day("expires_on", "The date", &self.expires_on)? {
                end if end > now => Ok(Some(end)),
                _ => Err(Error::invalid("expires_on", "The date must be in the future.")),
            },
            days => match days.parse() {
                Ok(days @ 1..=3650) => Ok(Some(now.plus(Duration::days(days)))),
                _ => Err(Error::invalid("expires", "The end must be one of those in the list.")),
            },
        }
    }
}

#[derive(Template)]
#[template(path = "key_created.html")]
struct KeyCreatedPage {
    layout: Layout,
    /// Where the browser found this service.
    origin: String,
    created: CreatedKey,
    /// When its predecessor ends, if it has one.
    old_key_ends: Option<Timestamp>,
}

/// The answer shows the key: nothing else ever does.
pub async fn create(
    State(app): State<App>,
    Editor(visitor): Editor,
    form: Form<KeyForm>,
) -> Result<Response, Error> {
    let Form { fields, idempotency, .. } = form;
    let created = Box::pin(async {
        let change = app.ops.change(visitor.origin(), idempotency.of(&fields)?).await?;
        let new = fields.read(visitor.layout.mode, change.now)?;
        keys::create(change, new).await
    });
    match created.await {
        Ok(Created(created)) => show_created(visitor, created, None),
        Err(Error::ShownOnce(id)) => visitor.go_to(&format!("/keys/{id}"), Notice::KeyShownOnce),
        Err(error) => {
            let mistake = Mistake::of(error)?;
            Box::pin(show_list(&app, &visitor, &KeysQuery::default(), fields, mistake)).await
        }
    }
}

fn show_created(
    visitor: Visitor,
    created: CreatedKey,
    old_key_ends: Option<Timestamp>,
) -> Result<Response, Error> {
    let Visitor { layout, server: origin, .. } = visitor;
    page(StatusCode::CREATED, &KeyCreatedPage { layout, origin, created, old_key_ends })
}

pub async fn end_session(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<SessionId>,
) -> Result<Response, Error> {
    sessions::end(visitor.change(&app, None).await?, id).await?;
    visitor.go_to("/keys", Notice::SessionEnded)
}

/// A browser as people name it, from what it says of itself.
fn browser(listed: &ListedSession) -> String {
    let Some(agent) = &listed.session.browser else { return "unknown".to_owned() };
    let named = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    // In this order: most of them name those that they resemble, too.
    let browser = named(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = named(&[
        ("Windows", "Windows"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Mac OS X", "macOS"),
        ("Android", "Android"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => agent.chars().take(40).collect(),
    }
}

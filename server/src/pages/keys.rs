//! Keys: the list with the form for a new one, the sessions that they opened, and the keys that sign
//! leases.

mod key;
pub mod signing;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::Duration;
use common::{
    CreateKey, CreatedKey, Key, KeyState, Mode, Role, SessionId, SigningKey, SigningKeyId,
    SigningKeyState, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{
    Badge, Before, Editor, FormState, Layout, Notice, Pager, Paging, Tone, Viewer, Visitor, all,
    end_of_day, filters, once, page, required,
};
use crate::error::Error;
use crate::http::extract::{Form, Id, Query};
use crate::ops::change::Change;
use crate::ops::keys::EXPIRES_SOON;
use crate::ops::outcome::Created;
use crate::ops::{keys, sessions, signing_keys};
use crate::store::Page;
use crate::store::sessions::ListedSession;

pub use key::{get, revoke, roll};

/// The choices for the expiry of a key: the value in the form, and the label.
const EXPIRIES: [(&str, &str); 5] = [
    ("30", "in 30 days"),
    ("90", "in 90 days"),
    ("365", "in 365 days"),
    ("never", "never"),
    ("date", "on a date"),
];

/// The roles in the form, each with what it may do.
const ROLES: [(&str, &str); 3] = [
    (
        "validate",
        "Validates users, claims licenses, gets leases and releases floating seats. Use it in your application.",
    ),
    ("read", "Reads everything, here and in the API, and changes nothing."),
    ("admin", "Reads and changes everything, including keys."),
];

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    layout: Layout,
    keys: Vec<Key>,
    pager: Pager,
    sessions: Vec<ListedSession>,
    signing_keys: Vec<SigningKey>,
    own_session: SessionId,
    form: FormState<KeyForm>,
    once: String,
}

pub async fn list(Viewer(visitor): Viewer, Query(query): Query<Before>) -> Result<Response, Error> {
    show_list(visitor, query, FormState::default()).await
}

async fn show_list(
    visitor: Visitor,
    query: Before,
    form: FormState<KeyForm>,
) -> Result<Response, Error> {
    let view = visitor.view();
    let paging = Paging::new(&query.before);
    let mut keys = keys::page(view.clone(), paging.page()).await?;
    let pager = paging.pager(&mut keys, |key| key.id);
    let sessions = sessions::newest(view.clone()).await?;
    let all = Page::oldest_first(SigningKeyId::default(), i64::MAX);
    let signing_keys = signing_keys::page(view, all).await?;
    let (layout, own_session, status) = (visitor.layout, visitor.session, form.error.status());
    let once = once();
    page(status, &KeysPage { layout, keys, pager, sessions, signing_keys, own_session, form, once })
}

/// Whether a key is active, and whether it needs attention.
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
        // A date that is filled in takes precedence.
        let choice = if self.expires_on.trim().is_empty() { &self.expires } else { "date" };
        match choice {
            "never" => Ok(None),
            "date" => match end_of_day("expires_on", "The date", &self.expires_on)? {
                end if end > now => Ok(Some(end)),
                _ => Err(Error::invalid("expires_on", "The date must be in the future.")),
            },
            days => match days.parse() {
                Ok(days @ 1..=3650) => Ok(Some(now.plus(Duration::days(days)))),
                _ => Err(Error::invalid("expires", "The expiry must be one of those in the list.")),
            },
        }
    }
}

#[derive(Template)]
#[template(path = "key_created.html")]
struct KeyCreatedPage {
    layout: Layout,
    /// The address of this service, as the browser knows it.
    origin: String,
    created: CreatedKey,
    /// Time at which the key's predecessor expires, if it has one.
    old_key_ends: Option<Timestamp>,
}

/// The response is the only one that ever shows the key.
pub async fn create(
    Editor(visitor): Editor,
    Form { fields, idempotency, .. }: Form<KeyForm>,
) -> Result<Response, Error> {
    let create = async |visitor: &Visitor, fields: &KeyForm| {
        let create = async |change: Change| {
            let new = fields.read(visitor.layout.mode, change.now)?;
            keys::create(change, new).await
        };
        let Created(created) = visitor.secret(idempotency, fields, elsewhere, create).await?;
        Ok(show_created(visitor, created, None)?)
    };
    let again = |visitor, form| show_list(visitor, Before::default(), form);
    visitor.submit(fields, create, again).await
}

fn elsewhere(id: &str) -> (String, Notice) {
    (format!("/keys/{id}"), Notice::KeyShownOnce)
}

fn show_created(
    visitor: &Visitor,
    created: CreatedKey,
    old_key_ends: Option<Timestamp>,
) -> Result<Response, Error> {
    let (layout, origin) = (visitor.layout.clone(), visitor.server.clone());
    page(StatusCode::CREATED, &KeyCreatedPage { layout, origin, created, old_key_ends })
}

pub async fn end_session(
    Editor(visitor): Editor,
    Id(id): Id<SessionId>,
) -> Result<Response, Error> {
    sessions::end(visitor.change(None).await?, id).await?;
    Ok(visitor.redirect("/keys", Notice::SessionEnded))
}

/// The name of a browser and its system, from its user agent.
fn browser(listed: &ListedSession) -> String {
    let Some(agent) = &listed.session.browser else { return "unknown".to_owned() };
    let named = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    // In this order: most of them also name the browsers that they resemble.
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

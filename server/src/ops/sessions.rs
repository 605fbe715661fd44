//! Sessions of the dashboard. A session is opened with an API key, and lasts 12 hours or as long as
//! the key.
//!
//! The browser has a token, and licd stores only its hash. Every request looks up the session
//! together with its key, so revoking a key ends its sessions.

use chrono::Duration;
use common::{ApiKey, KeyId, Mode, Role, SessionId, Timestamp};
use sha2::{Digest, Sha256};

use super::change::{Change, Events};
use super::outcome::{Changed, Created};
use super::view::View;
use crate::auth::gate::{self, CallerInfo, KeyGate, Permission};
use crate::db::{self, Db};
use crate::error::Error;
use crate::store::keys::{Hash, KeyWithTenant, hex};
use crate::store::sessions::{self, ListedSession, Session};
use crate::store::{Scope, retention, worlds};

/// Duration of a session.
pub const LIFETIME: Duration = Duration::hours(12);
/// Maximum number of sessions of a key. Another one ends the oldest.
const MAX_SESSIONS: i64 = 20;
/// Maximum number of sessions in a list.
const MAX_LISTED: i64 = 100;
/// Maximum number of stored characters of a `User-Agent`.
const MAX_BROWSER: usize = 200;
const TOKEN_BYTES: usize = 32;

const NOT_FOUND: Error = Error::NotFound("session");

/// Proves that a request belongs to a session. It has no `Debug` or `Display`, so it cannot get
/// into a log by accident.
pub struct SessionToken(String);

impl SessionToken {
    fn generate() -> Result<Self, Error> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|_| Error::Internal)?;
        Ok(Self(hex(&bytes)))
    }

    /// Parses the value of a cookie.
    pub fn parse(text: &str) -> Option<Self> {
        let is_token =
            text.len() == 2 * TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_token.then(|| Self(text.to_owned()))
    }

    /// Returns the value of the cookie.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> Hash {
        Sha256::digest(&self.0).into()
    }
}

/// The device on which a session is opened.
#[derive(Default)]
pub struct Device {
    pub address: Option<String>,
    pub browser: Option<String>,
}

/// Returns the caller's key, if it may open a session now.
pub async fn authenticate(
    db: &Db,
    gate: &KeyGate,
    key: &ApiKey,
    caller: &CallerInfo,
) -> Result<KeyWithTenant, Error> {
    let key = gate.authenticate(db, &gate::hash(key), caller).await?;
    Permission::Read.check(key.key.role)?;
    gate.admit_sign_in(key.key.id)?;
    Ok(key)
}

/// Opens a session with the key. The change belongs to the key's own world.
pub async fn open(mut change: Change, key: KeyId, device: Device) -> Result<SessionToken, Error> {
    let (token, now, scope) = (SessionToken::generate()?, change.now, change.scope());
    let session = Session {
        id: SessionId::new(now),
        key_id: key,
        created_at: now,
        expires_at: now.plus(LIFETIME),
        address: device.address,
        browser: device.browser.map(|name| name.chars().take(MAX_BROWSER).collect()),
    };
    sessions::insert(&mut change, scope, &session, &token.hash()).await?;
    sessions::keep_newest(&mut change, scope, key, MAX_SESSIONS).await?;
    change.commit(Created(()), Events::none()).await?;
    Ok(token)
}

/// Whether a session with a key of this mode and role may switch to the other mode. A live admin
/// key may, since it can create admin keys for test mode; other keys cannot.
pub fn may_switch(own: Mode, role: Role) -> bool {
    own == Mode::Live && role == Role::Admin
}

/// Returns the world of that mode, for a session whose key belongs to `own` and has this role.
pub async fn enter(db: &Db, own: Scope, mode: Mode, role: Role) -> Result<Scope, Error> {
    if own.mode == mode {
        return Ok(own);
    }
    if !may_switch(own.mode, role) {
        return Err(Error::Forbidden);
    }
    worlds::find(&mut db.read().await?, own.tenant, mode).await?.ok_or(Error::Internal)
}

/// Returns the open sessions of all keys that the view shows, newest first.
pub async fn newest(view: View) -> Result<Vec<ListedSession>, Error> {
    let now = Timestamp::now();
    Ok(sessions::newest(&mut view.read().await?, view.scope, now, MAX_LISTED).await?)
}

/// Returns the open sessions of a key.
pub async fn of_key(view: View, key: KeyId) -> Result<Vec<ListedSession>, Error> {
    let now = Timestamp::now();
    Ok(sessions::of_key(&mut view.read().await?, view.scope, key, now, MAX_SESSIONS).await?)
}

/// Ends the session, so that its next request is refused.
pub async fn end(mut change: Change, id: SessionId) -> Result<(), Error> {
    let scope = change.scope();
    if !sessions::delete(&mut change, scope, id).await? {
        return Err(NOT_FOUND);
    }
    change.commit(Changed(()), Events::none()).await?;
    Ok(())
}

/// Deletes ended sessions.
pub async fn forget_ended(db: &Db, now: Timestamp) -> db::Result<()> {
    retention::delete_old(db, retention::SESSIONS, now).await
}

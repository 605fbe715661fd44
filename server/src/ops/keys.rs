//! API keys. A live key sees and creates keys of both modes, a test key only keys of test mode.

use chrono::TimeDelta;
use common::{
    ApiKey, CreateKey, CreatedKey, Key, KeyId, KeyState, Mode, Name, RevokeKey, Role, RollKey,
    Timestamp,
};

use super::change::Change;
use super::outcome::{Changed, Created};
use super::view::View;
use crate::auth::gate;
use crate::error::Error;
use crate::events::NewEvent;
use crate::store::{Order, Page, key_uses, keys, worlds};

const NOT_FOUND: Error = Error::NotFound("key");

/// Creates a key. Only this result shows it.
pub async fn create(mut change: Change, new: CreateKey) -> Result<Created<CreatedKey>, Error> {
    let (own, now) = (change.scope(), change.now);
    let mode = new.mode.unwrap_or(own.mode);
    if own.mode == Mode::Test && mode == Mode::Live {
        return Err(Error::Forbidden);
    }
    if new.expires_at.is_some_and(|end| end <= now) {
        return Err(Error::invalid("expiresAt", "expiresAt must be in the future"));
    }
    let scope = worlds::find(&mut change, own.tenant, mode).await?.ok_or(Error::Internal)?;
    let created_by = lock_all(&mut change).await?;
    let key = ApiKey::generate(mode);
    let record = Key { created_by, ..new_record(&key, new.name, new.role, new.expires_at, now) };
    keys::insert(&mut change, scope, &record, &gate::hash(&key)).await?;
    let (id, event) = (record.id, NewEvent::key_created(&record).in_scope(scope));
    Ok(change.commit_secret(Created(CreatedKey { record, key }), id, event).await?)
}

/// Keeps other changes from creating, rolling or revoking keys of the tenant, so that two of them
/// cannot remove each other's last key, and a revocation misses none that the key creates. Returns
/// the acting key, or fails if it was revoked since the request began.
async fn lock_all(change: &mut Change) -> Result<Option<KeyId>, Error> {
    let own = change.scope();
    worlds::lock_keys(change, own).await?;
    let Some(actor) = change.actor_key() else { return Ok(None) };
    if keys::is_revoked(change, own, actor).await? {
        return Err(Error::Unauthorized);
    }
    Ok(Some(actor))
}

/// Returns the record of a new key that is created on the server's host.
pub(super) fn new_record(
    key: &ApiKey,
    name: Name,
    role: Role,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> Key {
    Key {
        id: KeyId::new(now),
        name,
        prefix: key.prefix().to_owned(),
        role,
        mode: key.mode(),
        created_at: now,
        expires_at,
        last_used_at: None,
        revoked_at: None,
        created_by: None,
    }
}

pub async fn page(view: View, page: Page<KeyId>) -> Result<Vec<Key>, Error> {
    let (mut conn, own) = (view.read().await?, view.scope);
    let mut found = keys::page(&mut conn, own, page).await?;
    if own.mode == Mode::Live {
        let test = worlds::find(&mut conn, own.tenant, Mode::Test).await?.ok_or(Error::Internal)?;
        found.extend(keys::page(&mut conn, test, page).await?);
        found.sort_by_key(|key| key.id);
        if page.order == Order::NewestFirst {
            found.reverse();
        }
        found.truncate(usize::try_from(page.limit).unwrap_or(usize::MAX));
    }
    Ok(found)
}

pub async fn get(view: View, id: KeyId) -> Result<Key, Error> {
    let found = keys::find(&mut view.read().await?, view.scope, id).await?;
    found.map(|(key, _)| key).ok_or(NOT_FOUND)
}

/// Returns the keys that a key created, directly or through other keys, and that are not revoked.
pub async fn made_by(view: View, id: KeyId) -> Result<Vec<Key>, Error> {
    let found = keys::made_by(&mut view.read().await?, view.scope, id).await?;
    let made = found.into_iter().map(|(key, _)| key);
    Ok(made.filter(|key| key.revoked_at.is_none()).collect())
}

/// Use of a key, with a delay of a few seconds.
#[derive(Debug, PartialEq)]
pub struct KeyUses {
    pub last_used_at: Option<Timestamp>,
    /// Address of the client, if known.
    pub last_used_address: Option<String>,
    /// Number of requests in the current hour and the 23 before.
    pub last_24_hours: i64,
    /// Number of requests in the current hour and the 167 before.
    pub last_7_days: i64,
}

pub async fn uses(view: View, id: KeyId) -> Result<KeyUses, Error> {
    let now = Timestamp::now();
    let mut conn = view.read().await?;
    let (key, own) = keys::find(&mut conn, view.scope, id).await?.ok_or(NOT_FOUND)?;
    let (day, week) = (now.plus(-TimeDelta::hours(24)), now.plus(-TimeDelta::days(7)));
    Ok(KeyUses {
        last_used_at: key.last_used_at,
        last_used_address: keys::last_used_address(&mut conn, own, id).await?,
        last_24_hours: key_uses::count(&mut conn, own, id, day).await?,
        last_7_days: key_uses::count(&mut conn, own, id, week).await?,
    })
}

/// Time before its expiry from which a key needs attention.
pub const EXPIRES_SOON: TimeDelta = TimeDelta::days(14);

/// Returns the valid keys that expire soon or have long been unused, newest first.
pub async fn needing_attention(view: View, now: Timestamp, limit: i64) -> Result<Vec<Key>, Error> {
    let (soon, long_ago) = (now.plus(EXPIRES_SOON), now.plus(-Key::LONG_UNUSED));
    let mut conn = view.read().await?;
    Ok(keys::expiring_or_unused(&mut conn, view.scope, now, soon, long_ago, limit).await?)
}

/// Minimum remaining validity of an admin key that counts as a way back in. A day leaves time to
/// create another key, and far exceeds differences between the clocks of nodes.
const LASTING: TimeDelta = TimeDelta::days(1);
/// Minimum overlap when the last lasting admin key is rolled, so that a caller that lost the
/// response can roll it again.
const LAST_OVERLAP: TimeDelta = TimeDelta::minutes(5);

/// The tenant's live admin keys.
struct Admins {
    keys: Vec<(KeyId, Option<Timestamp>)>,
    now: Timestamp,
}

impl Admins {
    async fn read(change: &mut Change) -> Result<Self, Error> {
        let (own, now) = (change.scope(), change.now);
        Ok(Self { keys: keys::live_admins(change, own, now).await?, now })
    }

    /// Whether the tenant would have no lasting live admin key without these.
    fn are_last(&self, ids: &[KeyId]) -> bool {
        let lasts = |end: Option<Timestamp>| end.is_none_or(|end| end > self.now.plus(LASTING));
        let (gone, left): (Vec<_>, Vec<_>) =
            self.keys.iter().partition(|(admin, _)| ids.contains(admin));
        !gone.is_empty() && !left.iter().any(|(_, end)| lasts(*end))
    }
}

/// Creates the key's successor. Only this result shows it. The old key expires after the overlap,
/// or is revoked if there is none.
pub async fn roll(
    mut change: Change,
    id: KeyId,
    roll: RollKey,
) -> Result<Created<CreatedKey>, Error> {
    let (own, now) = (change.scope(), change.now);
    let created_by = lock_all(&mut change).await?;
    let is_last = Admins::read(&mut change).await?.are_last(&[id]);
    let (before, scope) = keys::find(&mut change, own, id).await?.ok_or(NOT_FOUND)?;
    match before.state(now) {
        KeyState::Revoked => return Err(Error::Conflict("A revoked key cannot be rolled")),
        KeyState::Expired => return Err(Error::Conflict("An expired key cannot be rolled")),
        KeyState::Valid => {}
    }
    if is_last && roll.overlap() < LAST_OVERLAP {
        return Err(Error::Conflict(
            "The last live admin key of a tenant needs an overlap of at least 5 minutes; keys that \
             end within a day do not count. Roll it with one, and revoke it once the new key works",
        ));
    }
    let key = ApiKey::generate(before.mode);
    let expires_at = keys::original_expiry(&mut change, scope, id).await?;
    let record = new_record(&key, before.name.clone(), before.role, expires_at, now);
    let record = Key { created_by, ..record };
    keys::insert(&mut change, scope, &record, &gate::hash(&key)).await?;
    let old = roll.retire(before.clone(), now);
    keys::retire(&mut change, scope, &old).await?;
    let events = [NewEvent::key_rolled(&before, &old), NewEvent::key_created(&record)];
    let events = events.map(|event| event.in_scope(scope)).to_vec();
    let id = record.id;
    Ok(change.commit_secret(Created(CreatedKey { record, key }), id, events).await?)
}

/// Revokes the key and, with `made`, the keys that it created. Every request that starts after this
/// returns is refused.
pub async fn revoke(
    mut change: Change,
    id: KeyId,
    RevokeKey { made }: RevokeKey,
) -> Result<Changed<Key>, Error> {
    let (own, now) = (change.scope(), change.now);
    lock_all(&mut change).await?;
    let admins = Admins::read(&mut change).await?;
    let (mut key, scope) = keys::find(&mut change, own, id).await?.ok_or(NOT_FOUND)?;
    let mut keys = match made {
        Some(true) => keys::made_by(&mut change, own, id).await?,
        _ => Vec::new(),
    };
    keys.push((key.clone(), scope));
    keys.retain(|(key, _)| key.revoked_at.is_none());
    if admins.are_last(&keys.iter().map(|(key, _)| key.id).collect::<Vec<_>>()) {
        return Err(Error::Conflict(
            "The last live admin key of a tenant cannot be revoked; keys that end within a day do \
             not count. Create another one first",
        ));
    }
    let mut events = Vec::new();
    for (before, scope) in keys {
        let after = Key { revoked_at: Some(now), ..before.clone() };
        keys::revoke(&mut change, scope, &after).await?;
        events.push(NewEvent::key_revoked(&before, &after).in_scope(scope));
        if after.id == id {
            key = after;
        }
    }
    Ok(change.commit(Changed(key), events).await?)
}

//! API keys. A live key sees and creates keys of both modes, a test key only those of test mode.

use chrono::TimeDelta;
use common::{
    ApiKey, CreateKey, CreatedKey, Key, KeyId, KeyState, Mode, Name, Role, RollKey, Timestamp,
};

use super::change::{Change, Events};
use super::outcome::{Changed, Created};
use super::view::View;
use crate::auth::gate;
use crate::error::Error;
use crate::events::NewEvent;
use crate::store::{Order, Page, key_uses, keys, worlds};

const NOT_FOUND: Error = Error::NotFound("key");

/// Creates a key, which is shown only in this result.
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
    let key = ApiKey::generate(mode);
    let record = new_record(&key, new.name, new.role, new.expires_at, now);
    keys::insert(&mut change, scope, &record, &gate::hash(&key)).await?;
    let (id, event) = (record.id, NewEvent::key_created(&record).in_scope(scope));
    Ok(change.commit_secret(Created(CreatedKey { record, key }), id, event).await?)
}

/// The record of a new key.
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

/// How a key is used, with a delay of a few seconds.
#[derive(Debug, PartialEq)]
pub struct KeyUses {
    pub last_used_at: Option<Timestamp>,
    /// The address of the client, if it is known.
    pub last_used_address: Option<String>,
    /// The number of requests in the current hour and the 23 before.
    pub last_24_hours: i64,
    /// The number of requests in the current hour and the 167 before.
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

/// How long before its expiry a key should be replaced.
pub const EXPIRES_SOON: TimeDelta = TimeDelta::days(14);

/// The valid keys that expire soon or have long been unused, newest first.
pub async fn needing_attention(view: View, now: Timestamp, limit: i64) -> Result<Vec<Key>, Error> {
    let (soon, long_ago) = (now.plus(EXPIRES_SOON), now.plus(-Key::LONG_UNUSED));
    let mut conn = view.read().await?;
    Ok(keys::expiring_or_unused(&mut conn, view.scope, now, soon, long_ago, limit).await?)
}

/// How long an admin key must remain valid to protect its tenant from being locked out. A day
/// leaves time to create another, and far exceeds the differences between the clocks of nodes.
const LASTING: TimeDelta = TimeDelta::days(1);
/// The overlap with which the last such key may be rolled: a caller that lost the response can roll
/// it again.
const LAST_OVERLAP: TimeDelta = TimeDelta::minutes(5);

/// Whether the tenant would lose its last lasting live admin key with this one. Locks all of them,
/// so that no two requests remove each other's remaining key.
async fn is_last_admin(change: &mut Change, id: KeyId) -> Result<bool, Error> {
    let (own, now) = (change.scope(), change.now);
    let admins = keys::lock_live_admins(change, own, now).await?;
    let lasts = |end: Option<Timestamp>| end.is_none_or(|end| end > now.plus(LASTING));
    let another_lasts = admins.iter().any(|(admin, end)| *admin != id && lasts(*end));
    Ok(!another_lasts && admins.iter().any(|(admin, _)| *admin == id))
}

/// Creates the key's successor, which is shown only in this result. The old key gets an expiry, or
/// is revoked if there is no overlap.
pub async fn roll(
    mut change: Change,
    id: KeyId,
    roll: RollKey,
) -> Result<Created<CreatedKey>, Error> {
    let (own, now) = (change.scope(), change.now);
    let is_last = is_last_admin(&mut change, id).await?;
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
    keys::insert(&mut change, scope, &record, &gate::hash(&key)).await?;
    let old = roll.retire(before.clone(), now);
    keys::retire(&mut change, scope, &old).await?;
    let events = [NewEvent::key_rolled(&before, &old), NewEvent::key_created(&record)];
    let events = events.map(|event| event.in_scope(scope)).to_vec();
    let id = record.id;
    Ok(change.commit_secret(Created(CreatedKey { record, key }), id, events).await?)
}

/// Revokes the key. Every request that starts after this returns is refused.
pub async fn revoke(mut change: Change, id: KeyId) -> Result<Changed<Key>, Error> {
    let (own, now) = (change.scope(), change.now);
    let is_last = is_last_admin(&mut change, id).await?;
    let (before, scope) = keys::find(&mut change, own, id).await?.ok_or(NOT_FOUND)?;
    if is_last {
        return Err(Error::Conflict(
            "The last live admin key of a tenant cannot be revoked; keys that end within a day do \
             not count. Create another one first",
        ));
    }
    if before.revoked_at.is_some() {
        return Ok(change.commit(Changed(before), Events::none()).await?);
    }
    let key = Key { revoked_at: Some(now), ..before.clone() };
    keys::revoke(&mut change, scope, &key).await?;
    let event = NewEvent::key_revoked(&before, &key).in_scope(scope);
    Ok(change.commit(Changed(key), event).await?)
}

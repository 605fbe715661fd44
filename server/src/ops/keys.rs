//! API keys. A live key sees and creates those of both modes, a test key only its own mode's.

use common::{ApiKey, CreateKey, CreatedKey, Key, KeyId, Mode, Name, Role, Timestamp};

use super::change::{Change, Events};
use super::outcome::{Changed, Created};
use super::view::View;
use crate::error::Error;
use crate::events::NewEvent;
use crate::store::{Page, keys, worlds};
use crate::validation::gate;

const NOT_FOUND: Error = Error::NotFound("key");

/// Creates a key, which is shown this once.
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
    let event = NewEvent::key_created(&record).in_scope(scope);
    Ok(change.commit_secret(Created(CreatedKey { record, key }), event).await?)
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
    Ok(keys::page(&mut view.read().await?, view.scope, page).await?)
}

/// Revokes the key, in force for every request that starts after this has returned.
pub async fn revoke(mut change: Change, id: KeyId) -> Result<Changed<Key>, Error> {
    let (own, now) = (change.scope(), change.now);
    // Locked before anything is decided, so that two keys cannot revoke each other at once.
    let admins = keys::lock_live_admins(&mut change, own, now).await?;
    let (before, scope) = keys::find(&mut change, own, id).await?.ok_or(NOT_FOUND)?;
    if admins == [id] {
        return Err(Error::Conflict("The last live admin key of a tenant cannot be revoked"));
    }
    if before.revoked_at.is_some() {
        return Ok(change.commit(Changed(before), Events::none()).await?);
    }
    let key = Key { revoked_at: Some(now), ..before.clone() };
    keys::revoke(&mut change, scope, id, now).await?;
    let event = NewEvent::key_revoked(&before, &key).in_scope(scope);
    Ok(change.commit(Changed(key), event).await?)
}

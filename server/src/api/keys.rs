//! API keys. A live key sees and makes those of both modes, a test key only its own mode's.

use axum::extract::State;
use common::{ApiKey, CreateKey, CreatedKey, CurrentKey, Key, KeyId, Mode};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::error::Error;
use crate::http::answer::{Created, Data, ListParams, Records, records};
use crate::http::credentials::{self, Admin, Caller, Reader};
use crate::http::extract::{Id, Json, Limit, Query};
use crate::ops::idempotency::Idempotency;
use crate::store::{keys, worlds};

const NOT_FOUND: Error = Error::NotFound("key");

pub async fn create(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Json(body): Json<CreateKey>,
) -> Result<Created<CreatedKey>, Error> {
    let mode = body.mode.unwrap_or(caller.key.mode);
    if caller.key.mode == Mode::Test && mode == Mode::Live {
        return Err(Error::Forbidden);
    }
    let mut tx = once.begin(&app, caller.scope(), &body).await?;
    if body.expires_at.is_some_and(|end| end <= tx.now) {
        return Err(Error::invalid("expiresAt", "expiresAt must be in the future"));
    }
    let key = ApiKey::generate(mode);
    let record = credentials::new_key_record(&key, body.name, body.role, body.expires_at, tx.now);
    let scope = worlds::find(&mut tx, caller.tenant.id, mode).await?.ok_or(Error::Internal)?;
    keys::insert(&mut tx, scope, &record, &credentials::hash(&key)).await?;
    tx.commit_secret(Created(CreatedKey { record, key })).await
}

/// The query of the list of keys.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ListKeys {
    limit: Option<Limit>,
    after: Option<KeyId>,
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<ListKeys>,
) -> Result<Records<Key>, Error> {
    let wanted = ListParams { after: query.after.unwrap_or_default().uuid(), limit: query.limit };
    let scope = caller.scope();
    records(wanted, move |page| {
        let app = app.clone();
        async move { Ok(keys::page(&mut app.read(scope.tenant).await?, scope, page).await?) }
    })
    .await
}

/// In force for every request that starts after it has answered.
pub async fn revoke(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Id(id): Id<KeyId>,
) -> Result<Data<Key>, Error> {
    let scope = caller.scope();
    let mut tx = once.begin(&app, scope, &()).await?;
    let now = tx.now;
    // Locked before anything is decided, so that two keys cannot revoke each other at once.
    let admins = keys::lock_live_admins(&mut tx, scope, now).await?;
    let (mut key, scope) = keys::find(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    if admins == [key.id] {
        return Err(Error::Conflict("The last live admin key of a tenant cannot be revoked"));
    }
    if key.revoked_at.is_none() {
        key.revoked_at = Some(now);
        keys::revoke(&mut tx, scope, id, now).await?;
    }
    tx.commit(Data(key)).await
}

/// The key that asks, and whose it is.
pub async fn current(caller: Caller) -> Result<Data<CurrentKey>, Error> {
    let Caller { key, tenant, .. } = caller;
    Ok(Data(CurrentKey {
        id: key.id,
        name: key.name,
        prefix: key.prefix,
        role: key.role,
        mode: key.mode,
        created_at: key.created_at,
        expires_at: key.expires_at,
        tenant,
    }))
}

//! API keys.

use axum::extract::State;
use common::{CreateKey, CreatedKey, CurrentKey, Key, KeyId, List, RollKey};

use super::Unfiltered;
use crate::error::Error;
use crate::http::App;
use crate::http::answer::{Data, ListParams, Streamed};
use crate::http::credentials::{Admin, Caller, Reader};
use crate::http::extract::{Id, Json, NoQuery, Query};
use crate::http::idempotency::Idempotency;
use crate::ops::idempotency::Once;
use crate::ops::keys;
use crate::ops::outcome::{Changed, Created};

pub async fn create(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    Json(body): Json<CreateKey>,
) -> Result<Once<Created<CreatedKey>>, Error> {
    let key = idempotency.of(&body)?;
    app.ops.once(caller.origin(), key, |change| keys::create(change, body)).await
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<Unfiltered<KeyId>>,
) -> Result<Streamed<List<Key>>, Error> {
    let view = app.ops.view(caller.scope);
    let params = ListParams::new(query.after, query.limit);
    Streamed::list(params, move |page| keys::page(view.clone(), page)).await
}

pub async fn roll(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    Id(id): Id<KeyId>,
    Json(body): Json<RollKey>,
) -> Result<Once<Created<CreatedKey>>, Error> {
    let key = idempotency.of(&body)?;
    app.ops.once(caller.origin(), key, |change| keys::roll(change, id, &body)).await
}

pub async fn revoke(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    Id(id): Id<KeyId>,
    _: NoQuery,
) -> Result<Once<Changed<Key>>, Error> {
    let key = idempotency.of(&())?;
    app.ops.once(caller.origin(), key, |change| keys::revoke(change, id)).await
}

/// The request's key, and its tenant.
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

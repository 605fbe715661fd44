//! API keys.

use common::{CreateKey, CreatedKey, CurrentKey, Key, KeyId, List, RevokeKey, RollKey};

use super::Unfiltered;
use crate::error::Error;
use crate::http::answer::{Data, ListParams, Streamed};
use crate::http::credentials::{Caller, Reader};
use crate::http::extract::{Id, Json, OptionalJson, Query};
use crate::http::writer::Writer;
use crate::ops::idempotency::Idempotent;
use crate::ops::keys;
use crate::ops::outcome::{Changed, Created};

pub async fn create(
    writer: Writer,
    Json(body): Json<CreateKey>,
) -> Result<Idempotent<Created<CreatedKey>>, Error> {
    writer.once(body, keys::create).await
}

pub async fn list(
    Reader(view): Reader,
    Query(query): Query<Unfiltered<KeyId>>,
) -> Result<Streamed<List<Key>>, Error> {
    let params = ListParams::new(query.after, query.limit);
    Streamed::list(params, move |page| keys::page(view.clone(), page)).await
}

pub async fn roll(
    writer: Writer,
    Id(id): Id<KeyId>,
    Json(body): Json<RollKey>,
) -> Result<Idempotent<Created<CreatedKey>>, Error> {
    writer.once(body, |change, body| keys::roll(change, id, body)).await
}

pub async fn revoke(
    writer: Writer,
    Id(id): Id<KeyId>,
    OptionalJson(body): OptionalJson<RevokeKey>,
) -> Result<Idempotent<Changed<Key>>, Error> {
    writer.once(body, |change, body| keys::revoke(change, id, body)).await
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

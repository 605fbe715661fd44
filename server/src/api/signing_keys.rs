//! Signing keys.

use axum::extract::State;
use common::{List, RotateSigningKeys, SigningKey, SigningKeyId, SigningKeys};

use super::Unfiltered;
use crate::error::Error;
use crate::http::App;
use crate::http::answer::{ListParams, Streamed};
use crate::http::credentials::Caller;
use crate::http::extract::{Id, Json, NoQuery, Query};
use crate::http::writer::Writer;
use crate::ops::idempotency::Idempotent;
use crate::ops::outcome::{Changed, Created};
use crate::ops::signing_keys;

pub async fn create(
    State(app): State<App>,
    writer: Writer,
    _: NoQuery,
) -> Result<Idempotent<Created<SigningKeys>>, Error> {
    writer.once((), |change, ()| signing_keys::create(change, &app.secrets)).await
}

/// Public keys are for every role.
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<Unfiltered<SigningKeyId>>,
) -> Result<Streamed<List<SigningKey>>, Error> {
    let view = app.ops.view(caller.scope);
    let params = ListParams::new(query.after, query.limit);
    Streamed::list(params, move |page| signing_keys::page(view.clone(), page)).await
}

pub async fn rotate(
    State(app): State<App>,
    writer: Writer,
    Json(body): Json<RotateSigningKeys>,
) -> Result<Idempotent<Changed<SigningKeys>>, Error> {
    let (keys, node) = (&app.secrets, &app.node);
    writer.once(body, |change, body| signing_keys::rotate(change, keys, node, body)).await
}

pub async fn delete(
    writer: Writer,
    Id(id): Id<SigningKeyId>,
    _: NoQuery,
) -> Result<Idempotent<Changed<SigningKey>>, Error> {
    writer.once((), |change, ()| signing_keys::delete(change, id)).await
}

//! License keys, and claims.

use axum::extract::State;
use common::{
    Claim, CreateLicenseKey, CreatedLicenseKey, FindLicenseKey, KeyText, LicenseId, LicenseKey,
    LicenseKeyId, List, Validation,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Unfiltered, validate};
use crate::error::Error;
use crate::http::App;
use crate::http::answer::{Data, ListParams, Streamed};
use crate::http::credentials::{Caller, ReadCaller, Reader, Validator};
use crate::http::extract::{Id, Json, Lenient, Limit, NoQuery, Query};
use crate::http::writer::Writer;
use crate::ops::idempotency::Idempotent;
use crate::ops::outcome::{Changed, Created, Upserted};
use crate::ops::{license_keys, licenses};

pub async fn create(
    writer: Writer,
    Id(id): Id<LicenseId>,
    Json(body): Json<CreateLicenseKey>,
) -> Result<Idempotent<Upserted<CreatedLicenseKey>>, Error> {
    writer.once(body, |change, body| license_keys::create(change, id, body)).await
}

pub async fn of_license(
    Reader(view): Reader,
    Id(id): Id<LicenseId>,
    Query(query): Query<Unfiltered<LicenseKeyId>>,
) -> Result<Streamed<List<LicenseKey>>, Error> {
    licenses::get(view.clone(), id).await?;
    let params = ListParams::new(query.after, query.limit);
    Streamed::list(params, move |page| license_keys::of_license(view.clone(), id, page)).await
}

/// The query of the search for license keys.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct SearchLicenseKeys {
    /// At least the last four characters of a key, in any spelling, such as its last group.
    search: String,
    limit: Option<Limit>,
    /// Only records after the one with this id: the `nextCursor` of the page before.
    after: Option<LicenseKeyId>,
}

pub async fn search(
    Reader(view): Reader,
    Query(query): Query<SearchLicenseKeys>,
) -> Result<Streamed<List<LicenseKey>>, Error> {
    let params = ListParams::new(query.after, query.limit);
    let read = move |page| license_keys::by_ending(view.clone(), query.search.clone(), page);
    Streamed::list(params, read).await
}

/// Limited as claims are, because a key of role `read` must not find keys by guessing them.
pub async fn find(
    State(app): State<App>,
    ReadCaller(caller): ReadCaller,
    Json(body): Json<FindLicenseKey>,
) -> Result<Data<LicenseKey>, Error> {
    let view = app.ops.view(caller.scope);
    limited(&app, &caller, &body.key, license_keys::find(view, &body.key)).await.map(Data)
}

pub async fn reissue(
    writer: Writer,
    Id(id): Id<LicenseKeyId>,
    _: NoQuery,
) -> Result<Idempotent<Created<CreatedLicenseKey>>, Error> {
    writer.once((), |change, ()| license_keys::reissue(change, id)).await
}

pub async fn revoke(
    writer: Writer,
    Id(id): Id<LicenseKeyId>,
    _: NoQuery,
) -> Result<Idempotent<Changed<LicenseKey>>, Error> {
    writer.once((), |change, ()| license_keys::revoke(change, id)).await
}

/// A user who already has the license gets the result of a validation without a lock or a permit to
/// write, so that an application may claim at each start.
pub async fn claim(
    State(app): State<App>,
    Validator(caller): Validator,
    Lenient(body): Lenient<Claim>,
) -> Result<Data<Validation>, Error> {
    let view = app.ops.view(caller.scope);
    let found = limited(&app, &caller, &body.key, license_keys::look_up(&view, &body)).await?;
    let request = caller.validation(body.user_id.clone(), body.product_id);
    if !found.is_user_known {
        app.gate.admit_new_user(caller.key.id, &body.user_id, &request.caller)?;
    }
    if !found.is_assigned {
        let change = app.ops.change(caller.origin()).await?;
        if let Some(claimed) = license_keys::claim(change, found.license_id, &body).await? {
            app.metrics.seats_taken.inc_by(claimed.seats_taken);
            app.metrics.seats_reclaimed.inc_by(claimed.seats_reclaimed);
            return Ok(Data(claimed.answer));
        }
    }
    validate::submit(&app, request).await.map(Data)
}

/// Looks a key up, unless the caller tried too many wrong ones.
async fn limited<T>(
    app: &App,
    caller: &Caller,
    key: &KeyText,
    look_up: impl Future<Output = Result<Option<T>, Error>>,
) -> Result<T, Error> {
    let guesser = (caller.key.id, caller.context.caller.address());
    let found = app.wrong_keys.look_up(guesser, key, look_up).await?;
    found.ok_or(match key.check() {
        Some(false) => Error::LicenseKeyMistyped,
        Some(true) | None => Error::LicenseKeyNotFound,
    })
}

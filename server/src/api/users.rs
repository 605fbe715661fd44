//! Users.

use common::{CreateUser, ForgetUser, ForgottenUser, List, UpdateUser, User, UserId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Leases;
use crate::error::Error;
use crate::http::answer::{ListParams, Single, Streamed};
use crate::http::credentials::Reader;
use crate::http::extract::{Id, Json, JsonAndQuery, Limit, NoQuery, OptionalJson, Query};
use crate::http::if_match::IfMatch;
use crate::http::writer::Writer;
use crate::ops::forget;
use crate::ops::idempotency::Idempotent;
use crate::ops::outcome::{Changed, Upserted};
use crate::ops::users::{self, UserQuery};

pub async fn create(
    writer: Writer,
    Json(body): Json<CreateUser>,
) -> Result<Idempotent<Upserted<User>>, Error> {
    writer.once(body, users::create).await
}

/// The query of the list of users.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListUsers {
    /// Only the user with this external id.
    external_id: Option<String>,
    /// Only users who have these words, from their starts on and in any order, in the external id,
    /// the email, the name or a value of the metadata, ignoring case and accents: "larsen", "ost zoe"
    /// or "@acme.com". The mailbox and the domain of an email are words. A blank or sign at the end
    /// ends the last word. Words behind the third must follow it. At most 64 characters of a word
    /// count.
    search: Option<String>,
    limit: Option<Limit>,
    /// Only records after the one with this id: the `nextCursor` of the page before.
    after: Option<UserId>,
    /// A text that may mean the users, if it is not an external id. At most three users are
    /// returned, the closest first: their names differ in case or punctuation, or by up to two
    /// typos.
    similar_to: Option<String>,
}

pub async fn list(
    Reader(view): Reader,
    Query(query): Query<ListUsers>,
) -> Result<Streamed<List<User>>, Error> {
    let params = ListParams::new(query.after, query.limit);
    let ListUsers { external_id, search, similar_to, .. } = query;
    let query = UserQuery { external_id, search, similar_to };
    Streamed::list(params, move |page| users::page(view.clone(), query.clone(), page)).await
}

pub async fn get(
    Reader(view): Reader,
    Id(id): Id<UserId>,
    _: NoQuery,
) -> Result<Single<User>, Error> {
    users::get(view, id).await.map(Single)
}

pub async fn update(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<UserId>,
    JsonAndQuery(body, leases): JsonAndQuery<UpdateUser, Leases>,
) -> Result<Idempotent<Changed<User>>, Error> {
    writer
        .expecting(expected)
        .dropping_leases(leases.drops())
        .once(body, |change, body| users::update(change, id, body))
        .await
}

pub async fn delete(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<UserId>,
    Query(leases): Query<Leases>,
) -> Result<Idempotent<Changed<User>>, Error> {
    writer
        .expecting(expected)
        .dropping_leases(leases.drops())
        .once((), |change, ()| users::delete(change, id))
        .await
}

/// Forgets a user. Events that are recorded in the meantime are changed after the user.
pub async fn forget(
    writer: Writer,
    Id(user): Id<String>,
    OptionalJson(body): OptionalJson<ForgetUser>,
) -> Result<Idempotent<Changed<ForgottenUser>>, Error> {
    let (ops, origin) = (writer.ops(), writer.origin());
    let replaces_id = body.external_id.unwrap_or_default();
    let person = forget::find(&ops.view(origin.scope), &user, replaces_id).await?;
    let changed = forget::change_events(&ops, &origin, person.as_ref()).await?;
    let forgotten =
        writer.once(body, |change, _| forget::forget(change, person.clone(), changed)).await?;
    forget::change_events(&ops, &origin, person.as_ref()).await?;
    Ok(forgotten)
}

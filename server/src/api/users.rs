//! Users.

use axum::extract::State;
use common::{CreateUser, ExternalId, Timestamp, UpdateUser, User, UserField, UserId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{change, refuse_contradictions};
use crate::App;
use crate::db::{self, Conn};
use crate::error::Error;
use crate::http::answer::{Data, ListParams, Records, Upserted, records};
use crate::http::credentials::{Admin, Reader};
use crate::http::extract::{Id, Json, Limit, Query};
use crate::ops::idempotency::Idempotency;
use crate::store::{Scope, assignments, licenses, seats, users};

const NOT_FOUND: Error = Error::NotFound("user");

/// Makes the user, or updates the one that is known: a validation may have made it already.
pub async fn create(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Json(body): Json<CreateUser>,
) -> Result<Upserted<User>, Error> {
    let scope = caller.scope();
    let mut tx = once.begin(&app, scope, &body).await?;
    let now = tx.now;
    let (made, before) = ensure(&mut tx, scope, &body.external_id, now).await?;
    let user = User {
        email: body.email.or_else(|| before.email.clone()),
        name: body.name.or_else(|| before.name.clone()),
        metadata: body.metadata.or_else(|| before.metadata.clone()),
        ..before.clone()
    };
    let user = store_changes(&mut tx, scope, &before, user, now).await?;
    tx.commit(if made { Upserted::New(user) } else { Upserted::Known(user) }).await
}

/// The user of that name, locked, and whether it had to be made.
pub(super) async fn ensure(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
    now: Timestamp,
) -> db::Result<(bool, User)> {
    if let Some(user) = users::lock_external(conn, scope, external_id).await? {
        return Ok((false, user));
    }
    let user = User {
        id: UserId::new(now),
        tenant_id: scope.tenant,
        external_id: external_id.clone(),
        email: None,
        name: None,
        metadata: None,
        created_at: now,
        updated_at: now,
    };
    // Another request may have made it since the first look.
    let stored = users::insert_or_lock(conn, scope, &user).await?;
    Ok((stored.id == user.id, stored))
}

/// The query of the list of users.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
pub struct ListUsers {
    /// Only the user of this name.
    external_id: Option<String>,
    limit: Option<Limit>,
    after: Option<UserId>,
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<ListUsers>,
) -> Result<Records<User>, Error> {
    let wanted = ListParams { after: query.after.unwrap_or_default().uuid(), limit: query.limit };
    let scope = caller.scope();
    records(wanted, move |page| {
        let (app, named) = (app.clone(), query.external_id.clone());
        async move {
            let mut conn = app.read(scope.tenant).await?;
            let Some(name) = named else { return Ok(users::page(&mut conn, scope, page).await?) };
            // A text that is no user id is nobody's.
            let Ok(name) = name.parse() else { return Ok(Vec::new()) };
            let user = users::find_external(&mut conn, scope, &name).await?;
            Ok(user.into_iter().filter(|user| user.id.uuid() > page.after).collect())
        }
    })
    .await
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<UserId>,
) -> Result<Data<User>, Error> {
    let user = users::find(&mut app.read(caller.tenant.id).await?, caller.scope(), id).await?;
    user.map(Data).ok_or(NOT_FOUND)
}

pub async fn update(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Id(id): Id<UserId>,
    Json(body): Json<UpdateUser>,
) -> Result<Data<User>, Error> {
    let scope = caller.scope();
    let given = [
        (UserField::Email, body.email.is_some()),
        (UserField::Name, body.name.is_some()),
        (UserField::Metadata, body.metadata.is_some()),
    ];
    refuse_contradictions(body.clear.as_deref().unwrap_or_default(), &given)?;
    let mut tx = once.begin(&app, scope, &body).await?;
    let now = tx.now;
    let before = users::lock(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let mut user = before.clone();
    let clear = body.clear.unwrap_or_default();
    let cleared = |field| clear.contains(&field);
    change(&mut user.email, body.email, cleared(UserField::Email));
    change(&mut user.name, body.name, cleared(UserField::Name));
    change(&mut user.metadata, body.metadata, cleared(UserField::Metadata));
    let user = store_changes(&mut tx, scope, &before, user, now).await?;
    tx.commit(Data(user)).await
}

/// Takes the user off all licenses, frees the seats, and deletes it. A later validation makes a new
/// one. The locks come in the order that holds everywhere: the user, the licenses, the seats.
pub async fn delete(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Id(id): Id<UserId>,
) -> Result<Data<User>, Error> {
    let scope = caller.scope();
    let mut tx = once.begin(&app, scope, &()).await?;
    let user = users::lock(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    licenses::lock_of_user(&mut tx, scope, id).await?;
    assignments::lock_of_user(&mut tx, scope, id).await?;
    seats::free_all_of_user(&mut tx, scope, id).await?;
    assignments::delete_of_user(&mut tx, scope, id).await?;
    users::delete(&mut tx, scope, id).await?;
    tx.commit(Data(user)).await
}

/// Stores the user as it now is, unless it is as it was.
async fn store_changes(
    conn: &mut Conn,
    scope: Scope,
    before: &User,
    mut user: User,
    now: Timestamp,
) -> db::Result<User> {
    if user != *before {
        user.updated_at = now;
        users::update(conn, scope, &user).await?;
    }
    Ok(user)
}

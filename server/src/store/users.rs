//! Users.

use common::{ExternalId, User, UserId};

use super::page::{paged, scanned, stop};
use super::{Found, MANY_FOUND, Page, Scope, TextRange};
use crate::db::{AsWritten, Conn, Result, locking};

macro_rules! columns {
    () => {
        "id, (select tenant_id from worlds where worlds.id = users.world) as tenant_id, \
         external_id, email, name, metadata, created_at, updated_at"
    };
}

macro_rules! select {
    ($rest:expr) => {
        concat!("select ", columns!(), " from users where ", $rest)
    };
}

/// Creates the user, or finds the one with that external id, and returns it locked. This is one
/// statement, because the user could be deleted between two.
pub async fn insert_or_lock(conn: &mut Conn, scope: Scope, user: &User) -> Result<User> {
    conn.query(concat!(
        "insert into users (world, id, external_id, email, name, metadata, created_at,
                 updated_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8)
             on conflict (external_id, world) do update set external_id = users.external_id
             returning ",
        columns!()
    ))
    .bind_scope(scope)
    .bind(user.id)
    .bind(&user.external_id)
    .bind(&user.email)
    .bind(&user.name)
    .bind(user.metadata.as_ref().map(AsWritten))
    .bind(user.created_at)
    .bind(user.updated_at)
    .fetch_one()
    .await
}

pub async fn find(conn: &mut Conn, scope: Scope, id: UserId) -> Result<Option<User>> {
    conn.query(select!("id = $2 and world = $1")).bind_scope(scope).bind(id).fetch_optional().await
}

pub async fn find_external(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
) -> Result<Option<User>> {
    conn.query(select!("external_id = $2 and world = $1"))
        .bind_scope(scope)
        .bind(external_id)
        .fetch_optional()
        .await
}

pub async fn lock(conn: &mut Conn, scope: Scope, id: UserId) -> Result<Option<User>> {
    conn.query(locking!(select!("id = $2 and world = $1")))
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await
}

pub async fn lock_external(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
) -> Result<Option<User>> {
    conn.query(locking!(select!("external_id = $2 and world = $1")))
        .bind_scope(scope)
        .bind(external_id)
        .fetch_optional()
        .await
}

pub async fn update(conn: &mut Conn, scope: Scope, user: &User) -> Result<()> {
    conn.query(
        "update users set email = $3, name = $4, metadata = $5, updated_at = $6, external_id = $7
         where id = $2 and world = $1",
    )
    .bind_scope(scope)
    .bind(user.id)
    .bind(&user.email)
    .bind(&user.name)
    .bind(user.metadata.as_ref().map(AsWritten))
    .bind(user.updated_at)
    .bind(&user.external_id)
    .execute()
    .await?;
    Ok(())
}

/// Deletes a user who has no licenses.
pub async fn delete(conn: &mut Conn, scope: Scope, id: UserId) -> Result<()> {
    conn.query("delete from users where id = $2 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .execute()
        .await?;
    Ok(())
}

pub async fn page(conn: &mut Conn, scope: Scope, page: Page<UserId>) -> Result<Vec<User>> {
    conn.query(paged!(page, select!("world = $1 and world > 0"), "id"))
        .bind_scope(scope)
        .bind(page.cursor)
        .bind(page.limit)
        .fetch_all()
        .await
}

/// A page of the users who have a phrase in this range.
pub async fn search(
    conn: &mut Conn,
    scope: Scope,
    phrases: &TextRange,
    page: Page<UserId>,
) -> Result<Found<User, UserId>> {
    if finds_many(conn, scope, phrases).await? {
        return scan(conn, scope, phrases, page).await;
    }
    let few = conn.query(paged!(
        page,
        select!(
            "world = $1 and id in (
                 select user_id from user_phrases
                 where world = $1 and world > 0 and phrase >= $4 and phrase < $5)"
        ),
        "id"
    ));
    let few = few.bind_scope(scope).bind(page.cursor).bind(page.limit).bind_range(phrases);
    Ok(Found { records: few.fetch_all().await?, rest: None })
}

/// The same in the order of the list, for so many that few need to be read.
async fn scan(
    conn: &mut Conn,
    scope: Scope,
    phrases: &TextRange,
    page: Page<UserId>,
) -> Result<Found<User, UserId>> {
    let matches = conn.query(scanned!(
        page,
        columns!(),
        "users" where "world = $1 and world > 0",
        "exists (
             select 1 from user_phrases p
             where p.user_id = users.id and p.world = users.world
                 and p.phrase >= $5 and p.phrase < $6)",
        "id"
    ));
    let matches = matches.bind_scope(scope).bind_scan(page).bind_range(phrases);
    let records = matches.fetch_all().await?;
    let stop = conn.query(stop!(page, "users" where "world = $1 and world > 0", "id"));
    page.found(records, stop.bind_scope(scope).bind_stop(page)).await
}

/// Whether a search finds more than [`MANY_FOUND`] phrases. It reads no more than that.
async fn finds_many(conn: &mut Conn, scope: Scope, phrases: &TextRange) -> Result<bool> {
    let (found,): (i64,) = conn
        .query(
            "select count(*) from (
                 select 1 from user_phrases
                 where world = $1 and world > 0 and phrase >= $3 and phrase < $4
                 limit $2) found",
        )
        .bind_scope(scope)
        .bind(MANY_FOUND + 1)
        .bind_range(phrases)
        .fetch_one()
        .await?;
    Ok(found > MANY_FOUND)
}

/// Some of the users that [`search`] finds, those with the first `most` phrases, so that it stays
/// fast when many match.
pub async fn search_some(
    conn: &mut Conn,
    scope: Scope,
    phrases: &TextRange,
    most: i64,
) -> Result<Vec<User>> {
    conn.query(select!(
        "world = $1 and id in (
             select user_id from (
                 select user_id from user_phrases
                 where world = $1 and world > 0 and phrase >= $3 and phrase < $4
                 order by phrase limit $2) found)
         order by external_id"
    ))
    .bind_scope(scope)
    .bind(most)
    .bind_range(phrases)
    .fetch_all()
    .await
}

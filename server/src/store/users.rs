//! Users.

use common::{ExternalId, User, UserId};

use super::page::paged;
use super::{MANY_FOUND, Page, Scope, TextRange};
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
        "update users set email = $3, name = $4, metadata = $5, updated_at = $6
         where id = $2 and world = $1",
    )
    .bind_scope(scope)
    .bind(user.id)
    .bind(&user.email)
    .bind(&user.name)
    .bind(user.metadata.as_ref().map(AsWritten))
    .bind(user.updated_at)
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

/// The ranges of a search by prefix: ids as written, emails and names in lower case.
struct Range {
    ids: TextRange,
    folded: TextRange,
}

impl Range {
    fn of(start: &str) -> Self {
        let folded = TextRange::starting_with(&start.to_ascii_lowercase());
        Self { ids: TextRange::starting_with(start), folded }
    }
}

/// A page of the users whose external id, email or name begins with `start`. For emails and names,
/// the case of the letters a to z is ignored.
pub async fn search(
    conn: &mut Conn,
    scope: Scope,
    start: &str,
    page: Page<UserId>,
) -> Result<Vec<User>> {
    let range = Range::of(start);
    let query = if finds_many(conn, scope, &range).await? {
        // No index is used for a `case`, so the index of the list determines the order.
        paged!(
            page,
            select!(
                "world = $1 and world > 0
                     and case when external_id >= $4 and external_id < $5 then true
                         when lower(email) >= $6 and lower(email) < $7 then true
                         when lower(name) >= $6 and lower(name) < $7 then true
                         else false end"
            ),
            "id"
        )
    } else {
        paged!(
            page,
            select!(
                "world = $1 and id in (
                     select id from users where world = $1 and world > 0
                         and external_id >= $4 and external_id < $5
                     union
                     select id from users where world = $1 and world > 0
                         and lower(email) >= $6 and lower(email) < $7 and email is not null
                     union
                     select id from users where world = $1 and world > 0
                         and lower(name) >= $6 and lower(name) < $7 and name is not null)"
            ),
            "id"
        )
    };
    conn.query(query)
        .bind_scope(scope)
        .bind(page.cursor)
        .bind(page.limit)
        .bind_range(&range.ids)
        .bind_range(&range.folded)
        .fetch_all()
        .await
}

/// Whether a search finds more than [`MANY_FOUND`] texts. It reads no more than that.
async fn finds_many(conn: &mut Conn, scope: Scope, range: &Range) -> Result<bool> {
    let (found,): (i64,) = conn
        .query(
            "select count(*) from (
                 select 1 from users where world = $1 and world > 0
                     and external_id >= $3 and external_id < $4
                 union all
                 select 1 from users where world = $1 and world > 0
                     and lower(email) >= $5 and lower(email) < $6 and email is not null
                 union all
                 select 1 from users where world = $1 and world > 0
                     and lower(name) >= $5 and lower(name) < $6 and name is not null
                 limit $2) found",
        )
        .bind_scope(scope)
        .bind(MANY_FOUND + 1)
        .bind_range(&range.ids)
        .bind_range(&range.folded)
        .fetch_one()
        .await?;
    Ok(found > MANY_FOUND)
}

/// Some of the users that [`search`] finds: at most `each` by their external id, their email and
/// their name, so that it stays fast when many texts match. Each list is cut off in its own order.
pub async fn search_some(
    conn: &mut Conn,
    scope: Scope,
    start: &str,
    each: i64,
) -> Result<Vec<User>> {
    let range = Range::of(start);
    conn.query(select!(
        "world = $1 and id in (
             select id from (
                 select id from users where world = $1 and world > 0
                     and external_id >= $3 and external_id < $4
                 order by external_id limit $2) by_external_id
             union
             select id from (
                 select id from users where world = $1 and world > 0
                     and lower(email) >= $5 and lower(email) < $6 and email is not null
                 order by lower(email) limit $2) by_email
             union
             select id from (
                 select id from users where world = $1 and world > 0
                     and lower(name) >= $5 and lower(name) < $6 and name is not null
                 order by lower(name) limit $2) by_name)
         order by external_id"
    ))
    .bind_scope(scope)
    .bind(each)
    .bind_range(&range.ids)
    .bind_range(&range.folded)
    .fetch_all()
    .await
}

//! Users.

use common::{ExternalId, User, UserId};

use super::page::{MAX_SCAN, paged, scanned, stop};
use super::phrases::{self, Named, Search, has_phrase};
use super::table::{insert, table};
use super::{Found, Page, Scope};
use crate::db::{AsWritten, Conn, Result, locking};

table! {
    users of user: User by UserId;
    computed "(select tenant_id from worlds where worlds.id = users.world) as tenant_id";
    fixed { created_at }
    changing {
        external_id, email, name, metadata: user.metadata.as_ref().map(AsWritten), updated_at,
    }
    find update delete page
}

/// A statement that locks a user. It names no other table, because a sharded PostgreSQL would lock
/// that too. The tenant is bound instead.
macro_rules! lock {
    ($condition:literal) => {
        locking!(concat!(
            "select ",
            columns!("$3 as tenant_id"),
            " from users where ",
            $condition,
            " and world = $1"
        ))
    };
}

/// Finds a user, and locks it until the end of the transaction.
pub async fn lock(conn: &mut Conn, scope: Scope, id: UserId) -> Result<Option<User>> {
    let query = conn.query(lock!("id = $2")).bind_scope(scope).bind(id);
    query.bind(scope.tenant).fetch_optional().await
}

/// Creates the user, or finds the one with that external id, and returns it locked. This is one
/// statement, because the user could be deleted between two.
pub async fn insert_or_lock(conn: &mut Conn, scope: Scope, user: &User) -> Result<User> {
    let query = insert!(conn, scope, users {
        id: user.id, external_id: &user.external_id, email: &user.email, name: &user.name,
        metadata: user.metadata.as_ref().map(AsWritten), created_at: user.created_at,
        updated_at: user.updated_at,
    } concat!(
        "on conflict (external_id, world) do update set external_id = users.external_id returning ",
        columns!("$9 as tenant_id")
    ));
    query.bind(scope.tenant).fetch_one().await
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

pub async fn lock_external(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
) -> Result<Option<User>> {
    let query = conn.query(lock!("external_id = $2")).bind_scope(scope).bind(external_id);
    query.bind(scope.tenant).fetch_optional().await
}

/// The condition that a user, whose id is given, has a phrase in a range.
macro_rules! has_word {
    ($user:literal, $from:literal, $until:literal) => {
        has_phrase!("user_phrases", "user_id", $user, $from, $until)
    };
}

/// Returns a page of the users that a search finds.
pub async fn search(
    conn: &mut Conn,
    scope: Scope,
    search: &Search,
    page: Page<UserId>,
) -> Result<Found<User, UserId>> {
    let search = &mut search.clone();
    if !phrases::put_rare_first(conn, scope, Named::Users, search).await? {
        return scan(conn, scope, search, page).await;
    }
    let few = conn.query(paged!(
        page,
        select!(concat!(
            "world = $1 and id in (
                 select user_id from user_phrases
                 where world = $1 and world > 0 and phrase >= $4 and phrase < $5) and ",
            has_word!("users.id", "$6", "$7"),
            " and ",
            has_word!("users.id", "$8", "$9")
        )),
        "id"
    ));
    let few = few.bind_page(scope, page).bind_search(search);
    Ok(Found { records: few.fetch_all().await?, rest: None })
}

/// Returns a page in the order of the list, if the share of matching users is large, so that few
/// users need to be read.
async fn scan(
    conn: &mut Conn,
    scope: Scope,
    search: &Search,
    page: Page<UserId>,
) -> Result<Found<User, UserId>> {
    let matches = conn.query(scanned!(
        page,
        columns!(),
        "users" where "world = $1 and world > 0",
        concat!(
            has_word!("users.id", "$5", "$6"),
            " and ",
            has_word!("users.id", "$7", "$8"),
            " and ",
            has_word!("users.id", "$9", "$10")
        ),
        "id"
    ));
    let matches = matches.bind_scope(scope).bind_scan(page).bind_search(search);
    let records = matches.fetch_all().await?;
    let stop = conn.query(stop!(page, "users" where "world = $1 and world > 0", "id"));
    page.found(records, stop.bind_scope(scope).bind_stop(page)).await
}

/// Some of the users that [`search`] finds, those with the first `most` phrases, so that it stays
/// fast when many match.
pub async fn search_some(
    conn: &mut Conn,
    scope: Scope,
    search: &Search,
    most: i64,
) -> Result<Vec<User>> {
    // The other words may be those of the last of many users with the first one.
    let scan = if search.has_one_word() { most } else { MAX_SCAN };
    conn.query(select!(concat!(
        "world = $1 and id in (
             select user_id from (
                 select user_id, phrase from user_phrases
                 where world = $1 and world > 0 and phrase >= $4 and phrase < $5
                 order by phrase limit $3) found
             where ",
        has_word!("found.user_id", "$6", "$7"),
        " and ",
        has_word!("found.user_id", "$8", "$9"),
        " order by phrase limit $2)
         order by external_id"
    )))
    .bind_scope(scope)
    .bind(most)
    .bind(scan)
    .bind_search(search)
    .fetch_all()
    .await
}

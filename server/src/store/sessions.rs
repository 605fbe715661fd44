//! Sessions in the dashboard. A session belongs to the key that opened it: it is visible wherever
//! the key is, and ends no later than the key.

use common::{KeyId, Mode, Name, Role, SessionId, Timestamp};

use super::Scope;
use super::keys::{Hash, KeyWithTenant, select_key};
use super::table::insert;
use crate::db::{Conn, Result};

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Session {
    pub id: SessionId,
    pub key_id: KeyId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// The address from which it was opened.
    pub address: Option<String>,
    /// The browser's `User-Agent`.
    pub browser: Option<String>,
}

/// A session as a list shows it.
#[derive(sqlx::FromRow)]
pub struct ListedSession {
    #[sqlx(flatten)]
    pub session: Session,
    pub key_name: Name,
    pub role: Role,
    pub mode: Mode,
}

/// A session, with the key that decides whether it is still valid.
#[derive(sqlx::FromRow)]
pub struct SessionWithKey {
    #[sqlx(rename = "session_id")]
    pub id: SessionId,
    #[sqlx(rename = "session_expires_at")]
    pub expires_at: Timestamp,
    #[sqlx(flatten)]
    pub key: KeyWithTenant,
}

/// Finds a session by its hash. The result contains the scope, which is not known before.
pub async fn find_by_hash(conn: &mut Conn, hash: &Hash) -> Result<Option<SessionWithKey>> {
    conn.query(select_key!(
        ", k.world, w.tenant_id, w.tenant_name, s.id as session_id,
         s.expires_at as session_expires_at",
        " from sessions s join keys k on k.id = s.key_id join worlds w on w.id = k.world
          where s.hash = $1"
    ))
    .bind(hash.as_slice())
    .fetch_optional()
    .await
}

/// The scope is that of the session's key.
pub async fn insert(conn: &mut Conn, scope: Scope, session: &Session, hash: &Hash) -> Result<()> {
    let query = insert!(
        conn,
        scope,
        sessions {
            id: session.id,
            key_id: session.key_id,
            created_at: session.created_at,
            expires_at: session.expires_at,
            address: &session.address,
            browser: &session.browser,
            hash: hash.as_slice(),
        }
    );
    query.run().await
}

/// Deletes all but the newest sessions of a key.
pub async fn keep_newest(conn: &mut Conn, scope: Scope, key: KeyId, count: i64) -> Result<()> {
    conn.query(
        "delete from sessions where key_id = $2 and world = $1 and id <= (
             select id from sessions where key_id = $2 and world = $1
             order by id desc limit 1 offset $3)",
    )
    .bind_scope(scope)
    .bind(key)
    .bind(count)
    .run()
    .await
}

/// The matching sessions that have not ended, newest first.
macro_rules! select_listed {
    ($condition:literal) => {
        concat!(
            "select s.id, s.key_id, s.created_at, s.expires_at, s.address, s.browser,
                 k.name as key_name, k.role, w.mode
             from sessions s join keys k on k.id = s.key_id join worlds w on w.id = s.world
             where ",
            $condition,
            " and s.expires_at > $3
                 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)
             order by s.id desc limit $4"
        )
    };
}

/// The newest open sessions of the keys that are visible in the scope.
pub async fn newest(
    conn: &mut Conn,
    scope: Scope,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<ListedSession>> {
    conn.query(select_listed!(
        "s.world in (select id from worlds where tenant_id = $1 and (mode = $2 or $2 = 'live'))
             and s.world > 0"
    ))
    .bind(scope.tenant)
    .bind(scope.mode)
    .bind(now)
    .bind(limit)
    .fetch_all()
    .await
}

/// The newest open sessions of one key, if it is visible in the scope.
pub async fn of_key(
    conn: &mut Conn,
    scope: Scope,
    key: KeyId,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<ListedSession>> {
    conn.query(select_listed!(
        "s.key_id = $5 and w.tenant_id = $1 and (w.mode = $2 or $2 = 'live')"
    ))
    .bind(scope.tenant)
    .bind(scope.mode)
    .bind(now)
    .bind(limit)
    .bind(key)
    .fetch_all()
    .await
}

/// Ends a session of a key that is visible in the scope. Returns whether there was one.
pub async fn delete(conn: &mut Conn, scope: Scope, id: SessionId) -> Result<bool> {
    let deleted = conn
        .query(
            "delete from sessions where id = $1 and world in (
                 select id from worlds where tenant_id = $2 and (mode = $3 or $3 = 'live'))",
        )
        .bind(id)
        .bind(scope.tenant)
        .bind(scope.mode)
        .execute()
        .await?;
    Ok(deleted > 0)
}

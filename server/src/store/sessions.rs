//! Sessions in the dashboard. A session belongs to the key that opened it: whoever sees the key sees
//! its sessions, which are in force no longer than it is.

use common::{KeyId, Mode, Name, Role, SessionId, Timestamp};

use super::keys::{Hash, KeyWithTenant, select_key};
use super::{Scope, delete_portion};
use crate::db::{Conn, Result, Sql};

/// A session, with what tells it from others.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Session {
    pub id: SessionId,
    pub key_id: KeyId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// The address from which it was opened.
    pub address: Option<String>,
    /// What the browser said of itself.
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

/// A session, with the key that decides whether it is in force.
#[derive(sqlx::FromRow)]
pub struct SessionWithKey {
    #[sqlx(rename = "session_id")]
    pub id: SessionId,
    #[sqlx(rename = "session_expires_at")]
    pub expires_at: Timestamp,
    #[sqlx(flatten)]
    pub key: KeyWithTenant,
}

/// Finds a session by its hash. The scope is not known before: the session's key has it.
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
    conn.query(
        "insert into sessions (world, id, key_id, created_at, expires_at, address, browser, hash)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind_scope(scope)
    .bind(session.id)
    .bind(session.key_id)
    .bind(session.created_at)
    .bind(session.expires_at)
    .bind(&session.address)
    .bind(&session.browser)
    .bind(hash.as_slice())
    .execute()
    .await?;
    Ok(())
}

/// Deletes the sessions of a key but for the newest ones.
pub async fn keep_newest(conn: &mut Conn, scope: Scope, key: KeyId, count: i64) -> Result<()> {
    conn.query(
        "delete from sessions where key_id = $2 and world = $1 and id <= (
             select id from sessions where key_id = $2 and world = $1
             order by id desc limit 1 offset $3)",
    )
    .bind_scope(scope)
    .bind(key)
    .bind(count)
    .execute()
    .await?;
    Ok(())
}

/// The sessions in force that match, newest first.
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

/// The newest sessions in force of the keys that the scope sees.
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

/// The newest sessions in force of one key, if the scope sees it.
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

/// Ends a session of a key that the scope sees, and answers whether there was one.
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

/// Deletes some of the sessions that ended before `now`, in every world, and answers whether there
/// may be more. Nodes that do this at once leave each other's rows alone.
pub async fn forget_ended(conn: &mut Conn, now: Timestamp) -> Result<bool> {
    const ENDED: Sql = Sql::Each {
        sqlite: "delete from sessions where id in (
             select id from sessions where expires_at < $1 order by expires_at limit $2)",
        postgres: "delete from sessions where ctid = any(array(
             select ctid from sessions where expires_at < $1
             order by expires_at limit $2 for update skip locked))",
    };
    delete_portion(conn, ENDED, now).await
}

//! Idempotency keys: which requests were completed, and their responses.

use common::Timestamp;

use super::Scope;
use super::table::insert;
use crate::db::{Conn, Result};

/// The response to the request that carried the key.
#[derive(sqlx::FromRow)]
pub struct Answered {
    /// The SHA-256 of the request.
    pub fingerprint: Vec<u8>,
    /// The HTTP status.
    pub status: i32,
    /// The body, or the id of the record whose secret the body contained.
    pub body: Option<String>,
    /// The entity tag of the record in the body.
    pub etag: Option<String>,
}

/// The response stored under that name, unless it is older than `since`.
pub async fn find(
    conn: &mut Conn,
    scope: Scope,
    name: &str,
    since: Timestamp,
) -> Result<Option<Answered>> {
    conn.query(
        "select fingerprint, status, body, etag from idempotency_keys
         where name = $2 and world = $1 and created_at >= $3",
    )
    .bind_scope(scope)
    .bind(name)
    .bind(since)
    .fetch_optional()
    .await
}

/// Claims the name for a request that has no response yet. Returns whether it was free. If several
/// nodes claim it at the same time, one gets it, and the others wait until that one has committed.
pub async fn claim(
    conn: &mut Conn,
    scope: Scope,
    name: &str,
    fingerprint: &[u8],
    now: Timestamp,
) -> Result<bool> {
    let query = insert!(conn, scope, idempotency_keys {
        name: name, fingerprint: fingerprint, status: 0, created_at: now,
    } "on conflict (name, world) do nothing");
    Ok(query.execute().await? == 1)
}

pub async fn settle(
    conn: &mut Conn,
    scope: Scope,
    name: &str,
    status: i32,
    body: &str,
    etag: Option<&str>,
) -> Result<()> {
    conn.query(
        "update idempotency_keys set status = $3, body = $4, etag = $5
         where name = $2 and world = $1",
    )
    .bind_scope(scope)
    .bind(name)
    .bind(status)
    .bind(body)
    .bind(etag)
    .run()
    .await
}

/// Deletes a name that was used before `since`.
pub async fn forget(conn: &mut Conn, scope: Scope, name: &str, since: Timestamp) -> Result<()> {
    conn.query(
        "delete from idempotency_keys
         where name = $2 and world = $1 and created_at < $3",
    )
    .bind_scope(scope)
    .bind(name)
    .bind(since)
    .run()
    .await
}

//! The nodes that serve a PostgreSQL database, and the ids of their secret keys.

use chrono::TimeDelta;
use common::Timestamp;

use super::uptime::LONGEST_GAP;
use crate::db::{Conn, Result};

/// Retention of the row of a node that was killed.
const RETENTION: TimeDelta = TimeDelta::days(1);

/// Notes that the node serves, at a time of the clock that all nodes share.
pub async fn note(conn: &mut Conn, node: &str, secret_keys: &str, now: Timestamp) -> Result<()> {
    const NOTE: &str = "insert into nodes (node, secret_keys, seen_at) values ($1, $2, $3)
                        on conflict (node) do update
                        set secret_keys = excluded.secret_keys, seen_at = excluded.seen_at";
    conn.query(NOTE).bind(node).bind(secret_keys).bind(now).execute().await?;
    let forgotten = "delete from nodes where seen_at < $1";
    conn.query(forgotten).bind(now.plus(-RETENTION)).run().await
}

/// Whether another node than `own` serves and has this secret key.
pub async fn others_have(conn: &mut Conn, own: &str, key: &str, now: Timestamp) -> Result<bool> {
    let sql = "select secret_keys from nodes where node <> $1 and seen_at >= $2";
    let since = now.plus(-LONGEST_GAP);
    let others: Vec<(String,)> = conn.query(sql).bind(own).bind(since).fetch_all().await?;
    Ok(others.iter().any(|(keys,)| keys.split(' ').any(|id| id == key)))
}

pub async fn remove(conn: &mut Conn, node: &str) -> Result<()> {
    conn.query("delete from nodes where node = $1").bind(node).run().await
}

//! Number of requests of each key per hour. Every node adds its own counts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use common::{KeyId, Timestamp};
use sqlx::types::Json;

use super::Scope;
use crate::db::{Conn, Result, Sql};

/// The uses of a key that have not been stored yet.
#[derive(Clone)]
pub struct KeyUse {
    pub last_at: Timestamp,
    /// The address of the latest use, if known.
    pub last_address: Option<IpAddr>,
    /// The number of uses per hour, by the start of the hour.
    pub hours: BTreeMap<Timestamp, i64>,
}

impl KeyUse {
    pub fn new(now: Timestamp) -> Self {
        Self { last_at: now, last_address: None, hours: BTreeMap::new() }
    }
}

/// Adds to the counts of keys whose rows the transaction has locked, so no two nodes add to one key
/// at the same time, and they cannot deadlock.
pub async fn add(conn: &mut Conn, uses: &[&(KeyId, KeyUse)]) -> Result<()> {
    const ADD: Sql = Sql::Each {
        sqlite: "insert into key_uses (key_id, hour, count)
                 select unhex(value ->> 0), value ->> 1, value ->> 2
                 from json_each($1) where true
                 on conflict (key_id, hour) do update set count = key_uses.count + excluded.count",
        postgres: "insert into key_uses (key_id, hour, count)
                   select cast(value ->> 0 as uuid),
                       timestamptz 'epoch' + cast(value ->> 1 as bigint) * interval '1 ms',
                       cast(value ->> 2 as bigint)
                   from jsonb_array_elements($1)
                   on conflict (key_id, hour)
                       do update set count = key_uses.count + excluded.count",
    };
    let hours = |(key, uses): &&(KeyId, KeyUse)| {
        let key = key.uuid().simple();
        let row = move |(hour, count): (&Timestamp, &i64)| (key, hour.millis(), *count);
        uses.hours.iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<_> = uses.iter().flat_map(hours).collect();
    conn.query(ADD).bind(Json(rows)).run().await
}

/// Counts the uses of a key in the hours that began after `since`. The scope is that of the key.
pub async fn count(conn: &mut Conn, scope: Scope, key: KeyId, since: Timestamp) -> Result<i64> {
    let (count,): (i64,) = conn
        .query(
            "select cast(coalesce(sum(u.count), 0) as bigint)
             from keys k join key_uses u on u.key_id = k.id
             where k.id = $2 and k.world = $1 and u.hour > $3",
        )
        .bind_scope(scope)
        .bind(key)
        .bind(since)
        .fetch_one()
        .await?;
    Ok(count)
}

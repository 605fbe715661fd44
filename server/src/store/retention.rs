//! Deletes rows beyond their retention, in all worlds.

use crate::db::{Db, Result, Sql, Value};

/// The most rows that one statement deletes, since it holds SQLite's only writer.
const PORTION: i64 = 500;

/// Deletes the rows before `horizon`, the oldest first. Other writers can go in between. Nodes that
/// do so at the same time skip each other's rows on PostgreSQL.
pub async fn delete_old<'q>(db: &Db, rows: OldRows, horizon: impl Value<'q> + Copy) -> Result<()> {
    let mut deleted = PORTION as u64;
    while deleted == PORTION as u64 {
        let mut conn = db.write().await?;
        deleted = conn.query(rows.0).bind(horizon).bind(PORTION).execute().await?;
    }
    Ok(())
}

/// The old rows of a table: those whose column of time, or of ids, is before a horizon.
#[derive(Clone, Copy)]
pub struct OldRows(Sql);

macro_rules! old_rows {
    ($table:literal ($key:literal) by $age:literal $($listed:literal)?) => {
        OldRows(Sql::Three {
            sqlite: old_rows!(@ $table ($key) by $age $($listed)?),
            // `ctid` is the place of a row on its server.
            sharded: old_rows!(@ $table ($key) by $age $($listed)?),
            postgres: concat!(
                "delete from ", $table, " where ctid = any(array(select ctid from ", $table,
                " where ", $age, " < $1", $(" ", $listed,)? " order by ", $age, " limit $2
                for update skip locked))"
            ),
        })
    };
    (@ $table:literal ($key:literal) by $age:literal $($listed:literal)?) => {
        concat!(
            "delete from ", $table, " where (", $key, ") in (select ", $key, " from ", $table,
            " where ", $age, " < $1", $(" ", $listed,)? " order by ", $age, " limit $2)"
        )
    };
}

pub const EVENTS: OldRows = old_rows!("events" ("id") by "id");
pub const IDEMPOTENCY_KEYS: OldRows = old_rows!("idempotency_keys" ("name, world") by "created_at");
pub const KEY_USES: OldRows = old_rows!("key_uses" ("key_id, hour") by "hour");
pub const OUTCOMES: OldRows =
    old_rows!("outcomes" ("world, hour, outcome") by "hour" "and world > 0");
pub const OUTCOME_DAYS: OldRows =
    old_rows!("outcome_days" ("world, day, outcome") by "day" "and world > 0");
pub const PLAN_DAYS: OldRows =
    old_rows!("plan_days" ("world, day, plan_id") by "day" "and world > 0");
pub const REFUSALS: OldRows = old_rows!(
    "refusals" ("external_id, world, hour, reason") by "hour" "and world > 0"
);
pub const SESSIONS: OldRows = old_rows!("sessions" ("id") by "expires_at");
pub const WEBHOOK_FAILURES: OldRows = old_rows!("webhook_failures" ("id, world") by "at");

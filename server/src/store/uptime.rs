//! Time at which licd was last known to respond. Seats become idle only while users could be
//! validated.

use chrono::TimeDelta;
use common::Timestamp;

use crate::db::{Conn, Result, Sql};

/// Maximum age of the record before licd counts as away.
pub const LONGEST_GAP: TimeDelta = TimeDelta::seconds(90);

#[derive(sqlx::FromRow)]
pub struct Uptime {
    /// The time by the clock that all nodes share; none on SQLite, whose only node has its own.
    pub now: Option<Timestamp>,
    pub seen_at: Timestamp,
    /// Time at which licd was back after its last outage.
    pub resumed_at: Option<Timestamp>,
    /// For how long it had been away.
    pub away_seconds: Option<i64>,
}

/// None if no node has ever been seen.
pub async fn find(conn: &mut Conn) -> Result<Option<Uptime>> {
    const FIND: Sql = Sql::Each {
        sqlite: "select null as now, seen_at, resumed_at, away_seconds from uptime",
        postgres: "select date_trunc('milliseconds', clock_timestamp()) as now, seen_at,
                       resumed_at, away_seconds from uptime",
    };
    conn.query(FIND).fetch_optional().await
}

/// Notes that licd answers, and if it did not for a while, since when and for how long. Of two
/// absences in a row the longer one counts, until ten times its length has passed. Returns by how
/// much `now` is ahead of the clock that all nodes share, if there is one.
pub async fn note(conn: &mut Conn, now: Timestamp) -> Result<Option<TimeDelta>> {
    let Some(before) = find(conn).await? else {
        const FIRST: &str = "insert into uptime (one, seen_at) values (1, $1)
                             on conflict (one) do nothing";
        conn.query(FIRST).bind(now).execute().await?;
        return Ok(None);
    };
    let offset = before.now.map(|shared| now.since(shared));
    let now = before.now.unwrap_or(now);
    let gap = now.since(before.seen_at).abs();
    if gap <= LONGEST_GAP {
        const SEEN: &str = "update uptime set seen_at = $1";
        conn.query(SEEN).bind(now).execute().await?;
        return Ok(offset);
    }
    let former = before.away_seconds.zip(before.resumed_at);
    let former = former.filter(|(away, at)| now.since(*at).num_seconds() < 10 * away);
    let away = former.map_or(0, |(away, _)| away).max(gap.num_seconds());
    const RESUMED: &str = "update uptime set seen_at = $1, resumed_at = $1, away_seconds = $2
                           where seen_at = $3";
    conn.query(RESUMED).bind(now).bind(away).bind(before.seen_at).execute().await?;
    Ok(offset)
}

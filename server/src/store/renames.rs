//! The events that tell which external ids a user has had.

use common::{ExternalId, Timestamp, UserId};

use super::Scope;
use crate::db::{Conn, Result};

/// A change of a user's external id.
#[derive(sqlx::FromRow)]
pub struct Rename {
    /// The sequence of the event that recorded it.
    pub sequence: i64,
    pub time: Timestamp,
    /// The external id before.
    pub former_id: ExternalId,
}

/// The renames of a user, newest first, as far as their events are kept.
pub async fn renames(conn: &mut Conn, scope: Scope, user: UserId) -> Result<Vec<Rename>> {
    conn.query(
        "select sequence, time, previous ->> 'externalId' as former_id from events
         where subject_id = $2 and world = $1 and event_type = 'user.updated'
             and previous ->> 'externalId' is not null
         order by sequence desc limit 100",
    )
    .bind_scope(scope)
    .bind(user.to_string())
    .fetch_all()
    .await
}

/// The sequence of the event that recorded the creation of a user, if it is kept.
pub async fn creation_of(conn: &mut Conn, scope: Scope, user: UserId) -> Result<Option<i64>> {
    let found: Option<(i64,)> = conn
        .query(
            "select sequence from events
             where subject_id = $2 and world = $1 and event_type = 'user.created' limit 1",
        )
        .bind_scope(scope)
        .bind(user.to_string())
        .fetch_optional()
        .await?;
    Ok(found.map(|(sequence,)| sequence))
}

/// Returns the user of the last event before `sequence` with this external id.
pub async fn last_user_of(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
    sequence: i64,
) -> Result<Option<UserId>> {
    let found: Option<(String,)> = conn
        .query(
            "select related ->> 'userId' from events
             where external_id = $2 and world = $1 and sequence < $3
             order by sequence desc limit 1",
        )
        .bind_scope(scope)
        .bind(external_id)
        .bind(sequence)
        .fetch_optional()
        .await?;
    Ok(found.and_then(|(id,)| id.parse().ok()))
}

//! Statements that remove personal data from other tables than `users`.

use common::{ExternalId, RelatedRecords, UserId};
use serde_json::{Map, Value};

use super::Scope;
use crate::db::{AsWritten, Conn, Result};

/// The external ids in the events whose subject is the user.
pub async fn external_ids_of(
    conn: &mut Conn,
    scope: Scope,
    user: UserId,
) -> Result<Vec<(ExternalId,)>> {
    conn.query(
        "select external_id from events
         where subject_id = $2 and world = $1 and external_id is not null
         union select previous ->> 'externalId' from events
         where subject_id = $2 and world = $1 and previous ->> 'externalId' is not null",
    )
    .bind_scope(scope)
    .bind(user.to_string())
    .fetch_all()
    .await
}

/// The internal ids of the users in the events with this external id, the last one first.
pub async fn users_of(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
) -> Result<Vec<UserId>> {
    let found: Vec<(String, i64)> = conn
        .query(
            "select related ->> 'userId', max(sequence) from events
             where external_id = $2 and world = $1 and related ->> 'userId' is not null
             group by related ->> 'userId' order by max(sequence) desc",
        )
        .bind_scope(scope)
        .bind(external_id)
        .fetch_all()
        .await?;
    Ok(found.into_iter().filter_map(|(id, _)| id.parse().ok()).collect())
}

/// The members of an event that contain data of users.
#[derive(sqlx::FromRow)]
pub struct EventData {
    pub sequence: i64,
    pub related: AsWritten<RelatedRecords>,
    pub object: AsWritten<Map<String, Value>>,
    pub previous: Option<AsWritten<Map<String, Value>>>,
}

/// The next events after a sequence that have this external id.
pub async fn event_data(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
    after: i64,
    limit: i64,
) -> Result<Vec<EventData>> {
    conn.query(
        "select sequence, related, object, previous from events
         where external_id = $2 and world = $1 and sequence > $3 order by sequence limit $4",
    )
    .bind_scope(scope)
    .bind(external_id)
    .bind(after)
    .bind(limit)
    .fetch_all()
    .await
}

/// Replaces the members of an event that contain data of users.
pub async fn set_event_data(conn: &mut Conn, scope: Scope, data: &EventData) -> Result<()> {
    conn.query(
        "update events set external_id = $3, related = $4, object = $5, previous = $6
         where world = $1 and sequence = $2",
    )
    .bind_scope(scope)
    .bind(data.sequence)
    .bind(data.related.0.external_id.as_ref())
    .bind(AsWritten(&data.related.0))
    .bind(AsWritten(&data.object.0))
    .bind(data.previous.as_ref().map(|json| AsWritten(&json.0)))
    .run()
    .await
}

/// Moves the refusals of one external id to another. Of two for the same hour and reason, one is
/// deleted.
pub async fn rename_refusals(
    conn: &mut Conn,
    scope: Scope,
    from: &ExternalId,
    to: &ExternalId,
) -> Result<()> {
    conn.query(
        "update refusals set external_id = $3
         where external_id = $2 and world = $1 and not exists (
             select 1 from refusals other
             where other.external_id = $3 and other.world = $1
                 and other.hour = refusals.hour and other.reason = refusals.reason)",
    )
    .bind_scope(scope)
    .bind(from)
    .bind(to)
    .execute()
    .await?;
    conn.query("delete from refusals where external_id = $2 and world = $1")
        .bind_scope(scope)
        .bind(from)
        .run()
        .await
}

/// Removes the metadata of the user's assignments.
pub async fn clear_metadata_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<u64> {
    conn.query(
        "update assignments set metadata = null
         where user_id = $2 and world = $1 and metadata is not null",
    )
    .bind_scope(scope)
    .bind(user)
    .execute()
    .await
}

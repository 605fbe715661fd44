//! Events: the changes in each world, numbered in the order of commit.

use common::{
    ActorType, Event, EventActor, EventData, EventId, EventReason, EventSubject, EventType,
    ExternalId, KeyId, Open, RelatedRecords, SessionId, SubjectType, Timestamp,
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use sqlx::types::Json;

use super::page::{scanned, stop};
use super::{Found, Page, Scope, World};
use crate::db::{AsWritten, Conn, Result, Sql};

/// An event to be stored. JSON columns are text here, because PostgreSQL would change the order of
/// members within the statement's input.
pub struct EventRow<'a> {
    pub world: World,
    pub sequence: i64,
    pub id: EventId,
    pub kind: EventType,
    pub actor_kind: ActorType,
    pub actor_key: Option<KeyId>,
    pub actor_session: Option<SessionId>,
    pub actor_name: Option<&'a str>,
    pub subject_kind: SubjectType,
    pub subject_id: &'a str,
    pub external_id: Option<&'a ExternalId>,
    pub related: String,
    pub object: String,
    pub previous: Option<String>,
    pub request_id: Option<&'a str>,
    pub reason: Option<EventReason>,
}

/// Serialized as an array, which both databases parse faster than an object.
impl Serialize for EventRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let key = self.actor_key.map(|id| id.uuid().simple());
        let session = self.actor_session.map(|id| id.uuid().simple());
        let row = (
            (self.world.number(), self.sequence, self.id.uuid().simple(), self.kind),
            (self.actor_kind, key, self.actor_name, session),
            (self.subject_kind, self.subject_id, self.external_id),
            (&self.related, &self.object, &self.previous, self.request_id, self.reason),
        );
        row.serialize(serializer)
    }
}

/// Advances a world's event counter by `count`, and returns its new value. The counter stays locked
/// until the end of the transaction, and transactions that advance several do so in the order of
/// worlds.
pub async fn advance(conn: &mut Conn, world: World, count: i64) -> Result<i64> {
    let sql = "update event_counters set last = last + $2 where world = $1 returning last";
    let (last,): (i64,) = conn.query(sql).bind(world).bind(count).fetch_one().await?;
    Ok(last)
}

macro_rules! insert {
    ($item:expr) => {
        insert!(
            $item,
            "world",
            "coalesce(actor_name, (select k.name from keys k where k.id = item.actor_key))",
            "item"
        )
    };
    ($item:expr, $world:literal, $name:literal, $from:literal) => {
        concat!(
            "with item as (",
            $item,
            ")
             insert into events (world, sequence, id, event_type, time, actor_type, actor_key,
                 actor_session, actor_name, subject_type, subject_id, external_id, related,
                 object, previous, request_id, reason)
             select ",
            $world,
            ", sequence, id, event_type, $2, actor_type, actor_key, actor_session, ",
            $name,
            ", subject_type, subject_id, external_id, related, object, previous, request_id,
                 reason
             from ",
            $from,
            " order by n"
        )
    };
}
macro_rules! item {
    ($where:literal) => {
        concat!(
            "select n, cast(value #>> '{0,0}' as integer) as world,
                 cast(value #>> '{0,1}' as bigint) as sequence,
                 cast(value #>> '{0,2}' as uuid) as id, value #>> '{0,3}' as event_type,
                 value #>> '{1,0}' as actor_type, cast(value #>> '{1,1}' as uuid) as actor_key,
                 value #>> '{1,2}' as actor_name,
                 cast(value #>> '{1,3}' as uuid) as actor_session,
                 value #>> '{2,0}' as subject_type,
                 value #>> '{2,1}' as subject_id, value #>> '{2,2}' as external_id,
                 cast(value #>> '{3,0}' as json) as related,
                 cast(value #>> '{3,1}' as json) as object,
                 cast(value #>> '{3,2}' as json) as previous, value #>> '{3,3}' as request_id,
                 value #>> '{3,4}' as reason
             from jsonb_array_elements($1) with ordinality as element (value, n) ",
            $where
        )
    };
}
const INSERT: Sql = Sql::Three {
    sqlite: insert!(
        "select key as n, value ->> '$[0][0]' as world, value ->> '$[0][1]' as sequence,
             unhex(value ->> '$[0][2]') as id, value ->> '$[0][3]' as event_type,
             value ->> '$[1][0]' as actor_type, unhex(value ->> '$[1][1]') as actor_key,
             value ->> '$[1][2]' as actor_name, unhex(value ->> '$[1][3]') as actor_session,
             value ->> '$[2][0]' as subject_type,
             value ->> '$[2][1]' as subject_id, value ->> '$[2][2]' as external_id,
             value ->> '$[3][0]' as related, value ->> '$[3][1]' as object,
             value ->> '$[3][2]' as previous, value ->> '$[3][3]' as request_id,
             value ->> '$[3][4]' as reason
         from json_each($1)"
    ),
    postgres: insert!(item!("")),
    // Rows that come from a table of the world are inserted where the world is.
    sharded: insert!(
        item!("where cast(value #>> '{0,0}' as integer) = cast($1 #>> '{0,0,0}' as integer)"),
        "c.world",
        "actor_name",
        "item join event_counters c on c.world = item.world"
    ),
};

/// Stores `events`. If the name of a key is not given, the stored one is used; on a sharded database
/// it must be given, and all events are of one world.
pub async fn insert(conn: &mut Conn, events: &[EventRow<'_>], now: Timestamp) -> Result<()> {
    conn.query(INSERT).bind(Json(events)).bind(now).run().await
}

/// The filters of a list of events.
#[derive(Clone, Copy, Default)]
pub struct EventFilter<'a> {
    pub kind: Option<&'a str>,
    /// Several types, each between commas.
    pub kinds: Option<&'a str>,
    pub subject: Option<&'a str>,
    pub user: Option<&'a str>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// By this key, itself or in its sessions.
    pub actor: Option<KeyId>,
}

#[derive(sqlx::FromRow)]
struct StoredEventRow {
    sequence: i64,
    id: EventId,
    #[sqlx(rename = "event_type")]
    kind: String,
    time: Timestamp,
    actor_type: String,
    actor_key: Option<KeyId>,
    actor_session: Option<SessionId>,
    actor_name: Option<String>,
    subject_type: String,
    subject_id: String,
    related: AsWritten<RelatedRecords>,
    object: AsWritten<Map<String, Value>>,
    previous: Option<AsWritten<Map<String, Value>>>,
    request_id: Option<String>,
    reason: Option<String>,
}

impl From<StoredEventRow> for Event {
    fn from(row: StoredEventRow) -> Self {
        Self {
            id: row.id,
            sequence: row.sequence,
            kind: row.kind.into(),
            time: row.time,
            actor: EventActor {
                kind: row.actor_type.into(),
                id: row.actor_session.map_or_else(
                    || row.actor_key.map(|id| id.to_string()),
                    |id| Some(id.to_string()),
                ),
                name: row.actor_name,
                key_id: row.actor_key,
            },
            subject: EventSubject { kind: row.subject_type.into(), id: row.subject_id },
            related: row.related.0,
            data: EventData {
                object: row.object.0,
                previous: row.previous.map(|json| json.0),
                reason: row.reason.map(Open::from),
            },
            request_id: row.request_id,
        }
    }
}

macro_rules! columns {
    () => {
        "sequence, id, event_type, time, actor_type, actor_key, actor_session, actor_name,
             subject_type, subject_id, related, object, previous, request_id, reason"
    };
}

/// The events with these sequences, as far as they are still kept.
pub async fn these(conn: &mut Conn, scope: Scope, sequences: &[i64]) -> Result<Vec<Event>> {
    macro_rules! these {
        ($sequences:literal) => {
            concat!(
                "select ",
                columns!(),
                " from events
                 where world = $1 and sequence in (",
                $sequences,
                ") order by sequence"
            )
        };
    }
    const THESE: Sql = Sql::Each {
        sqlite: these!("select value from json_each($2)"),
        postgres: these!("select cast(value as bigint) from jsonb_array_elements_text($2)"),
    };
    let rows: Vec<StoredEventRow> =
        conn.query(THESE).bind_scope(scope).bind(Json(sequences)).fetch_all().await?;
    Ok(rows.into_iter().map(Event::from).collect())
}

pub async fn find(conn: &mut Conn, scope: Scope, id: EventId) -> Result<Option<Event>> {
    let sql = concat!("select ", columns!(), " from events where id = $2 and world = $1");
    let row: Option<StoredEventRow> =
        conn.query(sql).bind_scope(scope).bind(id).fetch_optional().await?;
    Ok(row.map(Event::from))
}

/// Facts that decide whether an event is to be sent.
#[derive(sqlx::FromRow)]
pub struct Outline {
    pub sequence: i64,
    #[sqlx(rename = "event_type")]
    pub kind: String,
    #[sqlx(rename = "subject_id")]
    pub subject: String,
}

/// The next events after a sequence.
pub async fn outlines(
    conn: &mut Conn,
    scope: Scope,
    after: i64,
    limit: i64,
) -> Result<Vec<Outline>> {
    conn.query(
        "select sequence, event_type, subject_id from events
         where world = $1 and sequence > $2 order by sequence limit $3",
    )
    .bind_scope(scope)
    .bind(after)
    .bind(limit)
    .fetch_all()
    .await
}

/// The sequences of the oldest event that is kept, and of the last one: the former is one more if
/// none is kept.
pub async fn bounds(conn: &mut Conn, scope: Scope) -> Result<(i64, i64)> {
    conn.query(
        "select coalesce((select min(sequence) from events where world = $1), last + 1), last
         from event_counters where world = $1",
    )
    .bind_scope(scope)
    .fetch_one()
    .await
}

/// A page of the events. The most selective filter determines the index, and its value is `$5`.
pub async fn page(
    conn: &mut Conn,
    scope: Scope,
    filter: EventFilter<'_>,
    page: Page<i64>,
) -> Result<Found<Event, i64>> {
    macro_rules! found_by {
        ($condition:literal) => {
            (
                scanned!(
                    page,
                    columns!(),
                    "events" where $condition,
                    "(cast($6 as text) is null or external_id = $6)
                         and (cast($7 as text) is null or event_type = $7)
                         and (time >= $8 or $8 is null) and (time < $9 or $9 is null)
                         and (cast($10 as text) is null
                              or cast($10 as text) like '%,' || event_type || ',%')
                         and (cast($11 as uuid) is null or actor_key = $11)",
                    "sequence"
                ),
                stop!(page, "events" where $condition, "sequence"),
            )
        };
    }
    let EventFilter { subject, user, kind, kinds, from, to, actor } = filter;
    let (matches, stop) = match (subject, user, kind) {
        (Some(_), ..) => found_by!("world = $1 and subject_id = $5"),
        (None, Some(_), _) => found_by!("world = $1 and external_id = $5"),
        (None, None, Some(_)) => found_by!("world = $1 and event_type = $5 and world > 0"),
        (None, None, None) => found_by!("world = $1 and cast($5 as text) is null"),
    };
    let value = subject.or(user).or(kind);
    let is_filtered = from.is_some()
        || to.is_some()
        || kinds.is_some()
        || actor.is_some()
        || [subject, user, kind].into_iter().flatten().count() > 1;
    let page = if is_filtered { page } else { page.without_filter() };
    let matches = conn.query(matches).bind_scope(scope).bind_scan(page);
    let matches = matches.bind(value).bind(user).bind(kind);
    let matches = matches.bind(from).bind(to).bind(kinds).bind(actor);
    let rows: Vec<StoredEventRow> = matches.fetch_all().await?;
    let records = rows.into_iter().map(Event::from).collect();
    page.found(records, conn.query(stop).bind_scope(scope).bind_stop(page).bind(value)).await
}

/// Returns the sequence of the first event at a time or later, if the times of events increase.
/// Uses a binary search.
pub async fn first_at(conn: &mut Conn, scope: Scope, time: Timestamp) -> Result<i64> {
    const BOUNDS: &str = "select coalesce(min(sequence), 1), coalesce(max(sequence), 0) from events
                          where world = $1";
    const TIME: &str = "select time from events where world = $1 and sequence = $2";
    let (first, last): (i64, i64) = conn.query(BOUNDS).bind_scope(scope).fetch_one().await?;
    let (mut earlier, mut later) = (first - 1, last + 1);
    while later - earlier > 1 {
        let middle = earlier + (later - earlier) / 2;
        let found: Option<(Timestamp,)> =
            conn.query(TIME).bind_scope(scope).bind(middle).fetch_optional().await?;
        match found {
            Some((at,)) if at >= time => later = middle,
            _ => earlier = middle,
        }
    }
    Ok(later)
}

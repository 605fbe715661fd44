//! Records events, and numbers them in each world.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use common::{EventId, KeyId, Timestamp};
use tokio::sync::watch;

use super::{Actor, NewEvent, Origin, as_text};
use crate::db::{Conn, Result, Tx};
use crate::store::batch_rows::by_world;
use crate::store::events::{self, EventRow};
use crate::store::{World, keys};

/// Changes with each commit of events by this process.
static RECORDED: LazyLock<watch::Sender<()>> = LazyLock::new(watch::Sender::default);

/// Returns a receiver that changes when this process has recorded events.
pub fn recorded() -> watch::Receiver<()> {
    RECORDED.subscribe()
}

/// Commits a transaction with its events, in the given order. When it returns, everything is on disk.
/// Nothing comes between the events and the commit, because events are numbered under a lock, so that
/// each world's sequence follows the order of commits, without gaps.
pub async fn commit(mut tx: Tx, events: &[(Origin, NewEvent)], now: Timestamp) -> Result<()> {
    record(&mut tx, events, now).await?;
    tx.commit().await?;
    if !events.is_empty() {
        RECORDED.send_replace(());
    }
    Ok(())
}

async fn record(conn: &mut Conn, events: &[(Origin, NewEvent)], now: Timestamp) -> Result<()> {
    let names = key_names(conn, events).await?;
    for events in by_world(conn, events, |event| world(event)) {
        record_together(conn, &events, &names, now).await?;
    }
    Ok(())
}

fn world((origin, event): &(Origin, NewEvent)) -> World {
    event.scope.unwrap_or(origin.scope).world
}

/// The names of keys that act and whose names are not known, which only a sharded database does not
/// add by itself.
async fn key_names(
    conn: &mut Conn,
    events: &[(Origin, NewEvent)],
) -> Result<HashMap<KeyId, String>> {
    if !conn.is_sharded() {
        return Ok(HashMap::new());
    }
    let nameless = events.iter().map(|(origin, _)| &origin.actor);
    let nameless = nameless.filter(|actor| actor.name().is_none()).filter_map(Actor::key);
    let nameless: BTreeSet<KeyId> = nameless.collect();
    match nameless.is_empty() {
        true => Ok(HashMap::new()),
        false => keys::names(conn, nameless).await,
    }
}

async fn record_together(
    conn: &mut Conn,
    events: &[&(Origin, NewEvent)],
    names: &HashMap<KeyId, String>,
    now: Timestamp,
) -> Result<()> {
    let mut counts = BTreeMap::new();
    for event in events {
        *counts.entry(world(event)).or_insert(0) += 1;
    }
    let mut sequences = BTreeMap::new();
    for (world, count) in counts {
        let last = events::advance(conn, world, count).await?;
        // The number before the world's first event.
        sequences.insert(world, last - count);
    }
    let mut rows = Vec::with_capacity(events.len());
    for event in events {
        let world = world(event);
        let sequence = sequences.entry(world).or_default();
        *sequence += 1;
        let (origin, event) = event;
        rows.push(EventRow {
            world,
            sequence: *sequence,
            id: EventId::new(now),
            kind: event.kind,
            actor_kind: origin.actor.kind(),
            actor_key: origin.actor.key(),
            actor_session: origin.actor.session(),
            actor_name: origin
                .actor
                .name()
                .or_else(|| origin.actor.key().and_then(|key| names.get(&key)).map(String::as_str)),
            subject_kind: event.subject.0,
            subject_id: &event.subject.1,
            external_id: event.related.external_id.as_ref(),
            related: as_text(&event.related),
            object: event.object.to_string(),
            previous: event.previous.as_ref().map(as_text),
            request_id: origin.request_id.as_deref(),
            reason: event.reason,
        });
    }
    events::insert(conn, &rows, now).await
}

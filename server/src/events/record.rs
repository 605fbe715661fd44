//! Records events, and numbers them in each world.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use common::{EventId, Timestamp};
use tokio::sync::watch;

use super::{NewEvent, Origin, as_text};
use crate::db::{Conn, Result, Tx};
use crate::store::events::{self, EventRow};

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
    if events.is_empty() {
        return Ok(());
    }
    let world = |(origin, event): &(Origin, NewEvent)| event.scope.unwrap_or(origin.scope).world;
    let mut counts = BTreeMap::new();
    for event in events {
        *counts.entry(world(event)).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts.into_iter().collect();
    let mut sequences = events::advance(conn, &counts).await?;
    // Back to the number before each world's first event.
    for (world, count) in counts {
        sequences.entry(world).and_modify(|sequence| *sequence -= count);
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
            actor_name: origin.actor.name(),
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

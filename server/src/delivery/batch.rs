//! Reads the next batch of a delivery: events after the cursor, or events of blocked subjects.

use std::collections::{BTreeMap, BTreeSet};

use common::{Event, EventPattern, Timestamp};

use crate::db::{self, Conn};
use crate::store::Page;
use crate::store::events::{self, EventFilter};
use crate::store::webhooks::DeliveryState;
use crate::store::webhooks::sending::{self, BlockedSubject, DueWebhook};

/// Maximum number of events that are examined for a page, of events in a page, and of their bytes.
const WINDOW: i64 = 2000;
const PAGE: usize = 100;
const PAGE_BYTES: usize = 64 * 1024;
/// Maximum number of events per query, because each may be large.
const READ: usize = 10;
/// Maximum number of subjects that a failing receiver is probed with.
pub const PROBES: usize = 3;
/// Maximum number of blocked subjects in a batch for a receiver that accepts events.
const BLOCKED: usize = 8;
/// Maximum number of blocked subjects of a webhook. At this number the cursor stops.
const MAX_BLOCKED: usize = 1000;

/// Events that are sent together.
pub struct Batch {
    pub blocked: Vec<BlockedLane>,
    /// Events after the cursor whose subjects are not blocked.
    pub page: Vec<Event>,
    /// Sequence up to which the page holds everything that is to be sent.
    pub end: i64,
    /// Range of deleted events: those after the first sequence and before the second.
    pub expired: Option<(i64, i64)>,
}

/// The next events of a blocked subject.
pub struct BlockedLane {
    pub subject: BlockedSubject,
    pub events: Vec<Event>,
    /// Sequence of the subject's next event after `events`, if it has more up to the cursor.
    pub further: Option<i64>,
}

/// Reads all blocked subjects of a webhook.
pub async fn blocked(
    conn: &mut Conn,
    due: &DueWebhook,
) -> db::Result<BTreeMap<String, BlockedSubject>> {
    if due.blocked == 0 {
        return Ok(BTreeMap::new());
    }
    let blocked = sending::blocked(conn, due.scope, due.webhook.id).await?;
    Ok(blocked.into_iter().map(|subject| (subject.id.clone(), subject)).collect())
}

impl Batch {
    /// Reads the next batch: events of blocked subjects, or events after the cursor. Never both,
    /// because a subject is unblocked when its lane reaches the cursor, which must not move in the
    /// meantime. For a failing receiver, the batch is a probe.
    pub async fn read(
        conn: &mut Conn,
        due: &DueWebhook,
        state: &DeliveryState,
        blocked: &BTreeMap<String, BlockedSubject>,
        prefers_blocked: bool,
    ) -> db::Result<Self> {
        let (cursor, now) = (state.sequence, Timestamp::now());
        let is_failing = state.failing_since.is_some();
        let mut batch = Self { blocked: Vec::new(), page: Vec::new(), end: cursor, expired: None };
        let sends_blocked = prefers_blocked && !is_failing && has_due_blocked(blocked, now);
        if !sends_blocked && blocked.len() < MAX_BLOCKED {
            batch.read_page(conn, due, blocked).await?;
        }
        if !batch.page.is_empty() && is_failing {
            batch.probe();
        }
        if batch.page.is_empty() && batch.end == cursor {
            let most = if is_failing { PROBES } else { BLOCKED };
            for subject in
                blocked.values().filter(|subject| subject.next_attempt_at <= now).take(most)
            {
                batch.blocked.push(read_blocked(conn, due, subject, cursor).await?);
            }
        }
        Ok(batch)
    }

    /// Whether there is nothing to send or to skip.
    pub fn is_empty(&self, cursor: i64) -> bool {
        self.page.is_empty() && self.blocked.is_empty() && self.end == cursor
    }

    /// Reads the page after the cursor.
    async fn read_page(
        &mut self,
        conn: &mut Conn,
        due: &DueWebhook,
        blocked: &BTreeMap<String, BlockedSubject>,
    ) -> db::Result<()> {
        let (scope, cursor) = (due.scope, self.end);
        let outlines = events::outlines(conn, scope, cursor, WINDOW).await?;
        let first = outlines.first().map_or(due.last + 1, |first| first.sequence);
        if first > cursor + 1 {
            self.expired = Some((cursor, first));
        }
        self.end = outlines.last().map_or(first - 1, |last| last.sequence);
        let mut wanted: Vec<i64> = Vec::new();
        for outline in outlines {
            if !subscribes(due, &outline.kind) || blocked.contains_key(&outline.subject) {
                continue;
            }
            if wanted.len() == PAGE {
                self.end = outline.sequence - 1;
                break;
            }
            wanted.push(outline.sequence);
        }
        let mut bytes = 0;
        for (at, part) in wanted.chunks(READ).enumerate() {
            if bytes >= PAGE_BYTES {
                self.end = wanted[at * READ] - 1;
                break;
            }
            for event in events::these(conn, scope, part).await? {
                bytes += size(&event);
                self.page.push(event);
            }
        }
        Ok(())
    }

    /// Shortens the page to end at the first event of the last probed subject. Other events in
    /// between stay in the page, but are not sent.
    fn probe(&mut self) {
        let mut subjects = BTreeSet::new();
        let mut last = 0;
        for event in &self.page {
            if subjects.len() < PROBES && subjects.insert(event.subject.id.clone()) {
                last = event.sequence;
            }
        }
        self.page.retain(|event| event.sequence <= last);
        self.end = last;
    }
}

/// Whether the webhook subscribes to events of this type.
fn subscribes(due: &DueWebhook, kind: &str) -> bool {
    let types = due.webhook.event_types.as_ref();
    types.is_none_or(|types| types.0.iter().any(|it| EventPattern::matches(it, kind)))
}

async fn read_blocked(
    conn: &mut Conn,
    due: &DueWebhook,
    subject: &BlockedSubject,
    cursor: i64,
) -> db::Result<BlockedLane> {
    let filter = EventFilter { subject: Some(&subject.id), ..EventFilter::default() };
    let page = Page::oldest_first(subject.sequence - 1, READ as i64);
    let mut found = events::page(conn, due.scope, filter, page).await?.records;
    let further = found.last().filter(|_| found.len() == READ).map(|last| last.sequence + 1);
    let further = further.filter(|further| *further <= cursor);
    found.retain(|event| event.sequence <= cursor && subscribes(due, &event.kind.to_string()));
    Ok(BlockedLane { subject: subject.clone(), events: found, further })
}

/// Whether an event of a blocked subject is due.
pub fn has_due_blocked(blocked: &BTreeMap<String, BlockedSubject>, now: Timestamp) -> bool {
    blocked.values().any(|subject| subject.next_attempt_at <= now)
}

/// Returns the size of the event in bytes.
fn size(event: &Event) -> usize {
    serde_json::to_vec(event).map_or(0, |text| text.len())
}

//! What a turn sends next: the events after the cursor, and those of held subjects.

use std::collections::{BTreeMap, BTreeSet};

use common::{Event, EventPattern, Timestamp};

use super::schedule::State;
use crate::db::{self, Conn};
use crate::store::Page;
use crate::store::events::{self, EventFilter};
use crate::store::webhooks::sending::{self, DueWebhook, Hold};

/// How many events are looked at for a page, how many it has, and how many bytes.
const WINDOW: i64 = 2000;
const PAGE: usize = 100;
const PAGE_BYTES: usize = 64 * 1024;
/// How many events are read at once, as each may be large.
const READ: usize = 10;
/// How many subjects a failing receiver is asked about.
pub const PROBES: usize = 3;
/// How many held subjects a receiver that takes events is sent at once.
const HELD: usize = 8;
/// With so many held subjects no more are read.
const MOST_HOLDS: usize = 1000;
/// What is sent at once.
pub struct Portion {
    pub holds: Vec<HoldLane>,
    /// What follows the cursor, of subjects without a hold.
    pub page: Vec<Event>,
    /// Up to here nothing else is to be sent.
    pub end: i64,
    /// The events after the first sequence and before the second were deleted.
    pub expired: Option<(i64, i64)>,
}

/// The next events of a held subject.
pub struct HoldLane {
    pub hold: Hold,
    pub events: Vec<Event>,
    /// Where the subject's further events begin, if there are any up to the cursor.
    pub further: Option<i64>,
}

/// All holds of a webhook, by subject.
pub async fn holds(conn: &mut Conn, due: &DueWebhook) -> db::Result<BTreeMap<String, Hold>> {
    if due.held == 0 {
        return Ok(BTreeMap::new());
    }
    let holds = sending::holds(conn, due.scope, due.webhook.id).await?;
    Ok(holds.into_iter().map(|hold| (hold.subject.clone(), hold)).collect())
}

impl Portion {
    /// What is to be sent next: of held subjects, or what follows the cursor. Never both, as a hold
    /// ends at the cursor, and this would move on past its subject meanwhile. A failing receiver gets
    /// the first events of a few subjects.
    pub async fn read(
        conn: &mut Conn,
        due: &DueWebhook,
        state: &State,
        holds: &BTreeMap<String, Hold>,
        prefers_held: bool,
    ) -> db::Result<Self> {
        let (cursor, now) = (state.sequence, Timestamp::now());
        let is_failing = state.failing_since.is_some();
        let mut portion = Self { holds: Vec::new(), page: Vec::new(), end: cursor, expired: None };
        let is_held = prefers_held && !is_failing && has_due(holds, now);
        if !is_held && holds.len() < MOST_HOLDS {
            portion.read_page(conn, due, holds).await?;
        }
        if !portion.page.is_empty() && is_failing {
            portion.probe();
        }
        if portion.page.is_empty() && portion.end == cursor {
            let most = if is_failing { PROBES } else { HELD };
            for hold in holds.values().filter(|hold| hold.next_attempt_at <= now).take(most) {
                portion.holds.push(read_hold(conn, due, hold, cursor).await?);
            }
        }
        Ok(portion)
    }

    /// There is nothing to send, nor to skip.
    pub fn is_empty(&self, cursor: i64) -> bool {
        self.page.is_empty() && self.holds.is_empty() && self.end == cursor
    }

    /// Reads on from the cursor.
    async fn read_page(
        &mut self,
        conn: &mut Conn,
        due: &DueWebhook,
        holds: &BTreeMap<String, Hold>,
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
            if !sends(due, &outline.kind) || holds.contains_key(&outline.subject) {
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

    /// Cuts the page to the first event each of a few subjects. Events in between stay, and are not
    /// sent.
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

/// Whether the webhook is for events of this type.
fn sends(due: &DueWebhook, kind: &str) -> bool {
    let types = due.webhook.event_types.as_ref();
    types.is_none_or(|types| types.0.iter().any(|it| EventPattern::matches(it, kind)))
}

async fn read_hold(
    conn: &mut Conn,
    due: &DueWebhook,
    hold: &Hold,
    cursor: i64,
) -> db::Result<HoldLane> {
    let filter = EventFilter { subject: Some(&hold.subject), ..EventFilter::default() };
    let page = Page::oldest_first(hold.sequence - 1, READ as i64);
    let mut found = events::page(conn, due.scope, filter, page).await?.records;
    let further = found.last().filter(|_| found.len() == READ).map(|last| last.sequence + 1);
    let further = further.filter(|further| *further <= cursor);
    found.retain(|event| event.sequence <= cursor && sends(due, &event.kind.to_string()));
    Ok(HoldLane { hold: hold.clone(), events: found, further })
}

/// Whether a hold is due.
pub fn has_due(holds: &BTreeMap<String, Hold>, now: Timestamp) -> bool {
    holds.values().any(|hold| hold.next_attempt_at <= now)
}

/// About how many bytes the event takes.
fn size(event: &Event) -> usize {
    serde_json::to_vec(event).map_or(0, |text| text.len())
}

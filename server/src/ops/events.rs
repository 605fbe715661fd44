//! Lists of events, and their retention.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use chrono::Duration;
use common::{Event, EventId, EventType, KeyId, Line, Timestamp};
use uuid::Uuid;

use super::renames::Period;
use super::view::View;
use crate::db::{self, Db};
use crate::error::Error;
use crate::store::events::{self, EventFilter};
use crate::store::{Collected, Order, Page, retention};

/// Filters of a list of events, as the caller wrote them.
#[derive(Clone, Default)]
pub struct EventQuery {
    /// Types of the events. Empty for all types.
    pub kinds: Vec<String>,
    /// Id of the subject.
    pub subject: Option<String>,
    /// External ids of the user that the events are about, each with the range of sequences in
    /// which the user had it; see [`periods_of`](super::renames::periods_of). `None` for all users.
    pub user: Option<Vec<Period>>,
    pub times: EventTimes,
    /// The key that caused the events, itself or in its sessions.
    pub actor: Option<KeyId>,
}

/// Returns those of the types that people cause; no types stand for all. Without any, the result has
/// a type that no event has.
pub fn by_people(kinds: &[String]) -> Vec<String> {
    let is_meant = |kind: &&EventType| {
        kind.is_by_people() && (kinds.is_empty() || kinds.iter().any(|it| it == kind.as_str()))
    };
    let found: Vec<String> =
        EventType::ALL.iter().filter(is_meant).map(ToString::to_string).collect();
    if found.is_empty() { vec![String::new()] } else { found }
}

/// Time range of events.
#[derive(Clone, Default)]
pub struct EventTimes {
    /// Earliest time.
    from: Option<Timestamp>,
    /// Time before which all events are.
    to: Option<Timestamp>,
    /// Range of sequences that contains all these events, to read no others. `None` for all
    /// sequences.
    range: Option<Range<i64>>,
}

/// Maximum difference between the times of neighbouring events. Events are in the order of commit,
/// but have the times of their requests.
const MAX_DISORDER: Duration = Duration::minutes(1);

impl EventTimes {
    /// Finds the range of sequences for these times. A list does this once for all of its pages.
    pub async fn find(
        view: &View,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<Self, Error> {
        if from.is_none() && to.is_none() {
            return Ok(Self::default());
        }
        let mut tx = view.snapshot().await?;
        let start = match from {
            Some(from) => events::first_at(&mut tx, view.scope, from.plus(-MAX_DISORDER)).await?,
            None => 0,
        };
        let end = match to {
            Some(to) => events::first_at(&mut tx, view.scope, to.plus(MAX_DISORDER)).await?,
            None => i64::MAX,
        };
        Ok(Self { from, to, range: Some(start..end) })
    }
}

/// Fails if `after` is beyond the last event. The caller has then read another state of the
/// database, such as one before a restore, and would miss events.
pub async fn refuse_ahead(view: &View, after: i64) -> Result<(), Error> {
    let (_, last) = events::bounds(&mut view.read().await?, view.scope).await?;
    if after > last { Err(Error::SequenceAhead(last)) } else { Ok(()) }
}

/// Returns events after a sequence in the order of commit, or events before one, newest first.
pub async fn page(view: View, query: EventQuery, page: Page<i64>) -> Result<Vec<Event>, Error> {
    // PostgreSQL cannot store such a text, so no event contains it.
    let mut texts = query.kinds.iter().chain(&query.subject);
    if !texts.all(|text| text.parse::<Line>().is_ok()) {
        return Ok(Vec::new());
    }
    let (kind, kinds) = match query.kinds.as_slice() {
        [] => (None, None),
        [kind] => (Some(kind.as_str()), None),
        kinds => (None, Some(format!(",{},", kinds.join(",")))),
    };
    let filter = EventFilter {
        kind,
        kinds: kinds.as_deref(),
        subject: query.subject.as_deref(),
        user: None,
        from: query.times.from,
        to: query.times.to,
        actor: query.actor,
    };
    let range = query.times.range.unwrap_or(0..i64::MAX);
    let Some(mut periods) = query.user else { return within(&view, filter, page, range).await };
    if page.order == Order::NewestFirst {
        periods.reverse();
    }
    let mut found = Vec::new();
    for Period { external_id, sequences } in &periods {
        let limit = page.limit - found.len() as i64;
        let range = range.start.max(sequences.start)..range.end.min(sequences.end);
        if limit > 0 && !range.is_empty() {
            let filter = EventFilter { user: Some(external_id.as_str()), ..filter };
            found.extend(within(&view, filter, Page { limit, ..page }, range).await?);
        }
    }
    Ok(found)
}

/// Returns a page of the events in the range of sequences.
async fn within(
    view: &View,
    filter: EventFilter<'_>,
    page: Page<i64>,
    range: Range<i64>,
) -> Result<Vec<Event>, Error> {
    let (cursor, last) = match page.order {
        Order::OldestFirst => (page.cursor.max(range.start - 1), range.end - 1),
        Order::NewestFirst => (page.cursor.min(range.end), range.start),
    };
    let mut found = Collected::new(Page { cursor, ..page });
    while let Some(page) = found.next.filter(|page| page.reaches(last)) {
        found.add(events::page(&mut *view.snapshot().await?, view.scope, filter, page).await?);
    }
    found.records.retain(|event| range.contains(&event.sequence));
    Ok(found.records)
}

/// Retention of events: a number of days, or forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention(Option<u16>);

impl Retention {
    /// Returns the number of days. `None` if events are kept forever.
    pub fn days(self) -> Option<u16> {
        self.0
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self(Some(400))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("must be a number of days from 1 to 10000, such as 400 or 400d, or forever")]
pub struct MalformedRetention;

impl FromStr for Retention {
    type Err = MalformedRetention;

    fn from_str(text: &str) -> Result<Self, MalformedRetention> {
        if text == "forever" {
            return Ok(Self(None));
        }
        let days = text.strip_suffix('d').unwrap_or(text).parse().ok();
        match days {
            Some(days @ 1..=10_000) => Ok(Self(Some(days))),
            _ => Err(MalformedRetention),
        }
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(days) => write!(f, "{days}d"),
            None => f.write_str("forever"),
        }
    }
}

/// Deletes events beyond the retention.
pub async fn forget_old(db: &Db, retention: Retention, now: Timestamp) -> db::Result<()> {
    let Some(days) = retention.0 else { return Ok(()) };
    let horizon = now.plus(-Duration::days(days.into()));
    // An id starts with its time, in 48 bits of milliseconds.
    let oldest = EventId::from(Uuid::from_u128(u128::from(horizon.millis()) << 80));
    retention::delete_old(db, retention::EVENTS, oldest).await
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_and_writes_its_setting() {
        for text in ["400d", "1d", "10000d", "forever"] {
            assert_eq!(text.parse::<Retention>().unwrap().to_string(), text);
        }
        assert_eq!("400".parse::<Retention>().unwrap().to_string(), "400d");
        for text in ["", "d", "0d", "-1d", "10001d", "400dd", "1y", "never"] {
            assert!(text.parse::<Retention>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_retention_that_reads_back_or_an_error(text in "\\PC*|[+0-9]{0,6}d?") {
            if let Ok(retention) = text.parse::<Retention>() {
                prop_assert_eq!(retention.to_string().parse::<Retention>().ok(), Some(retention));
            }
        }
    }
}

//! The feed of events, each in a line with what it changed.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::TimeDelta;
use common::{Event, EventType, Key, Timestamp, day_of};
use serde::Deserialize;

use super::event_line::EventLine;
use super::{Chip, Layout, Pager, Paging, Viewer, page};
use crate::error::Error;
use crate::http::extract::Query;
use crate::ops::events::{self, EventQuery, EventTimes};
use crate::ops::{keys, renames};
use crate::store::Page;

/// Maximum number of keys to choose from.
const KEYS: i64 = 100;

#[derive(Template)]
#[template(path = "events.html")]
struct EventsPage {
    layout: Layout,
    filter: EventsFilter,
    chips: Vec<Chip>,
    /// The newest keys, of which one may be chosen.
    keys: Vec<Key>,
    events: Vec<Event>,
    pager: Pager,
}

/// The query of the feed. An empty filter matches everything.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct EventsFilter {
    #[serde(rename = "type")]
    kind: String,
    subject: String,
    user: String,
    /// `people`, or empty for everything.
    by: String,
    /// The key that caused the events.
    actor: String,
    /// A day in UTC.
    day: String,
    before: String,
}

/// The links above the feed: their names, and how many days ago they show.
const DAYS: [(&str, i64); 2] = [("By people today", 0), ("Yesterday", 1)];

pub async fn list(
    Viewer(visitor): Viewer,
    Query(filter): Query<EventsFilter>,
) -> Result<Response, Error> {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let view = visitor.view();
    let kinds: Vec<String> = given(&filter.kind).into_iter().collect();
    let day = day_of(&filter.day).map(Timestamp::start_of);
    let end = day.map(Timestamp::end_of_day);
    let query = EventQuery {
        kinds: if filter.by.is_empty() { kinds } else { events::by_people(&kinds) },
        times: EventTimes::find(&view, day, end).await?,
        // No event has the nil id.
        actor: given(&filter.actor).map(|id| id.parse().unwrap_or_default()),
        subject: given(filter.subject.trim()),
        user: match given(&filter.user) {
            Some(text) => Some(renames::periods_of(&view, &text).await?),
            None => None,
        },
    };
    let fields = [
        ("type", &*filter.kind),
        ("subject", &*filter.subject),
        ("user", &*filter.user),
        ("by", &*filter.by),
        ("actor", &*filter.actor),
        ("day", &*filter.day),
    ];
    let paging = Paging { others: &fields, ..Paging::new(&filter.before) };
    let list = format!("{}/events", visitor.layout.base());
    let chips = Chip::all(&view, &list, &fields, [("User", "user"), ("Record", "subject")]).await?;
    let keys = keys::page(view.clone(), Page::newest_first(None, KEYS)).await?;
    let mut events = events::page(view, query, paging.page()).await?;
    let pager = paging.pager(&mut events, |event| event.sequence);
    let layout = visitor.layout;
    page(StatusCode::OK, &EventsPage { layout, filter, chips, keys, events, pager })
}

impl EventsFilter {
    fn is_empty(&self) -> bool {
        let Self { kind, subject, user, by, actor, day, .. } = self;
        [kind, subject, user, by, actor, day].iter().all(|text| text.is_empty())
    }

    /// Links to the changes by people of a day: name, day, and whether it is shown.
    fn days(&self) -> impl Iterator<Item = (&'static str, String, bool)> {
        DAYS.into_iter().map(|(name, days)| {
            let day = Timestamp::now().plus(-TimeDelta::days(days)).date().to_string();
            (name, day.clone(), day == self.day && !self.by.is_empty())
        })
    }
}

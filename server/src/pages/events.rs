//! The feed of events, each in a line with what it changed.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use common::{Event, EventType};
use serde::Deserialize;

use super::event_line::EventLine;
use super::{Chip, Layout, Pager, Paging, Viewer, page};
use crate::error::Error;
use crate::http::extract::Query;
use crate::ops::events::{self, EventQuery};
use crate::ops::renames;

#[derive(Template)]
#[template(path = "events.html")]
struct EventsPage {
    layout: Layout,
    filter: EventsFilter,
    chips: Vec<Chip>,
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
    before: String,
}

pub async fn list(
    Viewer(visitor): Viewer,
    Query(filter): Query<EventsFilter>,
) -> Result<Response, Error> {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let view = visitor.view();
    let query = EventQuery {
        kinds: given(&filter.kind).into_iter().collect(),
        subject: given(filter.subject.trim()),
        user: match given(&filter.user) {
            Some(text) => Some(renames::periods_of(&view, &text).await?),
            None => None,
        },
        ..EventQuery::default()
    };
    let fields = [("type", &*filter.kind), ("subject", &*filter.subject), ("user", &*filter.user)];
    let paging = Paging { others: &fields, ..Paging::new(&filter.before) };
    let list = format!("{}/events", visitor.layout.base());
    let chips = Chip::all(&view, &list, &fields, [("User", "user"), ("Record", "subject")]).await?;
    let mut events = events::page(view, query, paging.page()).await?;
    let pager = paging.pager(&mut events, |event| event.sequence);
    page(StatusCode::OK, &EventsPage { layout: visitor.layout, filter, chips, events, pager })
}

impl EventsFilter {
    fn is_empty(&self) -> bool {
        self.kind.is_empty() && self.subject.is_empty() && self.user.is_empty()
    }
}

//! The feed of events, with what each of them changed.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use common::{Event, EventType, Open};
use serde::Deserialize;
use serde_json::Value;

use super::event_line::{EventLine, is_deletion};
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

/// Changes that an event made to a record.
struct Changes<'a> {
    title: &'static str,
    /// Whether the record existed before, and still does.
    has_before: bool,
    members: Vec<Member<'a>>,
}

/// A member of the record, with its values as JSON.
struct Member<'a> {
    name: &'a str,
    before: String,
    after: String,
}

/// The members that changed; of a new or deleted record, all that have a value.
fn changes(event: &Event) -> Changes<'_> {
    let object = &event.data.object;
    let after = |name: &str| object.get(name).map(Value::to_string).unwrap_or_default();
    if let Some(previous) = &event.data.previous {
        let members = previous.iter().map(|(name, before)| {
            let (before, after) = (before.to_string(), after(name));
            Member { name, before, after }
        });
        return Changes { title: "Changed", has_before: true, members: members.collect() };
    }
    let given = object.iter().filter(|(_, value)| !value.is_null());
    let members = given
        .map(|(name, value)| Member { name, before: String::new(), after: value.to_string() })
        .collect();
    let title = match &event.kind {
        Open::Known(EventType::LicenseUnassigned | EventType::SeatFreed) => "Deleted with",
        _ if is_deletion(event) => "Deleted with",
        _ => "Created with",
    };
    Changes { title, has_before: false, members }
}

impl Changes<'_> {
    fn names(&self) -> String {
        self.members.iter().map(|member| member.name).collect::<Vec<_>>().join(", ")
    }
}

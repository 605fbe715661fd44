//! Events.

use common::{Event, EventPattern, EventType, EventsBy, Invalid, KeyId, List, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::answer::{ListParams, Streamed};
use crate::http::credentials::Reader;
use crate::http::extract::{Limit, ListOrder, Query, Sequence, filter};
use crate::ops::events::{self, EventQuery, EventTimes};
use crate::ops::renames;

/// The query of the list of events.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListEvents {
    /// Only events of these types, separated by commas, such as `seat.taken,license.*`.
    #[schemars(with = "Option<String>")]
    r#type: Option<EventTypes>,
    /// Only events about the record with this id.
    subject: Option<String>,
    /// Only events about this user, by the internal id or the caller's own identifier. They include
    /// the events under identifiers that the user had before.
    user_id: Option<String>,
    limit: Option<Limit>,
    /// Only events after the one with this sequence number; if the newest come first, those before
    /// it.
    after: Option<Sequence>,
    /// Only events of this time or later.
    from: Option<Timestamp>,
    /// Only events before this time.
    to: Option<Timestamp>,
    /// Order of the events.
    #[serde(default)]
    order: ListOrder,
    /// Only events that this API key caused, itself or in its sessions.
    #[serde(default, deserialize_with = "filter")]
    #[schemars(with = "Option<String>")]
    actor: Option<KeyId>,
    by: Option<EventsBy>,
}

/// The types that the patterns of a list stand for, each once.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct EventTypes(Vec<String>);

impl TryFrom<String> for EventTypes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let patterns: Result<Vec<EventPattern>, Invalid> =
            text.split(',').map(str::parse).collect();
        // As serde says what a value must be.
        let patterns = patterns.map_err(|Invalid(rule)| format!("{text}, expected {rule}"))?;
        let is_meant = |kind: &&&str| {
            patterns.iter().any(|pattern| EventPattern::matches(pattern.as_str(), kind))
        };
        let kinds = EventType::WORDS.iter().filter(is_meant);
        Ok(Self(kinds.map(|kind| (*kind).to_owned()).collect()))
    }
}

pub async fn list(
    Reader(view): Reader,
    Query(query): Query<ListEvents>,
) -> Result<Streamed<List<Event>>, Error> {
    let ListEvents { r#type: kind, subject, user_id: user, from, to, order, .. } = query;
    let after = query.after.map(|after| after.0);
    let params = ListParams { order, ..ListParams::new(after, query.limit) };
    if let (ListOrder::Oldest, Some(after)) = (order, after) {
        events::refuse_ahead(&view, after).await?;
    }
    let kinds = kind.map(|kinds| kinds.0).unwrap_or_default();
    let kinds = if query.by.is_some() { events::by_people(&kinds) } else { kinds };
    let times = EventTimes::find(&view, from, to).await?;
    let user = match user {
        Some(text) => Some(renames::periods_of(&view, &text).await?),
        None => None,
    };
    let query = EventQuery { kinds, subject, user, times, actor: query.actor };
    Streamed::list(params, move |page| events::page(view.clone(), query.clone(), page)).await
}

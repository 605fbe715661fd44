//! Events.

use common::{Event, EventType, List, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::answer::{ListParams, Streamed};
use crate::http::credentials::Reader;
use crate::http::extract::{Limit, ListOrder, Query, Sequence};
use crate::ops::events::{self, EventQuery, EventTimes};

/// The query of the list of events.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListEvents {
    /// Only events of this type.
    #[schemars(with = "Option<String>", extend("enum" = EventType::WORDS))]
    r#type: Option<EventType>,
    /// Only events about the record with this id.
    subject: Option<String>,
    /// Only events about this user, by the caller's own identifier.
    user_id: Option<String>,
    limit: Option<Limit>,
    /// Only events after the one with this sequence number; if the newest come first, those before
    /// it.
    after: Option<Sequence>,
    /// Only events of this time or later.
    from: Option<Timestamp>,
    /// Only events before this time.
    to: Option<Timestamp>,
    /// Which events come first.
    #[serde(default)]
    order: ListOrder,
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
    let kind = kind.map(|kind| kind.to_string());
    let times = EventTimes::find(&view, from, to).await?;
    let query = EventQuery { kind, subject, user, times };
    Streamed::list(params, move |page| events::page(view.clone(), query.clone(), page)).await
}

//! Events.

use axum::extract::State;
use common::{Event, EventType, List};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::App;
use crate::http::answer::{ListParams, Streamed};
use crate::http::credentials::Reader;
use crate::http::extract::{Limit, Query, Sequence};
use crate::ops::events::{self, EventQuery};

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
    /// Only events after the one with this sequence number.
    after: Option<Sequence>,
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<ListEvents>,
) -> Result<Streamed<List<Event>>, Error> {
    let view = app.ops.view(caller.scope);
    let params = ListParams { after: query.after.map(|after| after.0), limit: query.limit };
    let ListEvents { r#type: kind, subject, user_id: user, .. } = query;
    let kind = kind.map(|kind| kind.to_string());
    let query = EventQuery { kind, subject, user };
    Streamed::list(params, move |page| events::page(view.clone(), query.clone(), page)).await
}

//! The use of a license.

use axum::extract::State;
use common::{ActivationId, LicenseId, Paged, Usage};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::App;
use crate::http::answer::{ListParams, Streamed};
use crate::http::credentials::Reader;
use crate::http::extract::{Id, Limit, Query};
use crate::http::json::text;
use crate::ops::usage::{self, LicenseUsage};

/// The query of a license's usage.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct PageOfUsage {
    limit: Option<Limit>,
    /// Only records after the one with this id: the `nextCursor` of the page before.
    after: Option<ActivationId>,
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<LicenseId>,
    Query(query): Query<PageOfUsage>,
) -> Result<Streamed<Paged<Usage>>, Error> {
    let view = app.ops.view(caller.scope);
    let params = ListParams::new(query.after, query.limit);
    let page = params.first_long_page();
    let LicenseUsage { license, seats, users, first } = usage::read(&view, id, page).await?;
    let head = format!(r#"{{"license":{},"activations":["#, text(&license)?);
    let tail = format!(r#"],"totalActivations":{seats},"activeSeats":{users}}}"#);
    Streamed::paged(&head, &tail, query.limit, (page, first), move |page| {
        usage::page(view.clone(), id, page)
    })
}

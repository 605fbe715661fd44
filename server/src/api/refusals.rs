//! Validations that were refused.

use axum::extract::State;
use common::{RefusalId, UserRefusal};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::App;
use crate::http::credentials::Reader;
use crate::http::extract::{Limit, Query};
use crate::http::newest_first::{DEFAULT_LIMIT, DescendingPage};
use crate::ops::outcomes;

/// The query of the list of refusals.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRefusals {
    /// Only the refusals of this user, by the caller's own identifier.
    user_id: Option<String>,
    /// The greatest number of records; 100 if absent.
    limit: Option<Limit>,
    /// Only records after the one with this id: the `nextCursor` of the page before.
    after: Option<RefusalId>,
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<ListRefusals>,
) -> Result<DescendingPage<UserRefusal>, Error> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, |limit| limit.0);
    // One record more than requested shows whether more follow.
    let (view, user) = (app.ops.view(caller.scope), query.user_id.as_deref());
    let refusals = outcomes::refusals(view, user, query.after, limit + 1).await?;
    Ok(DescendingPage::page(refusals, limit, |refusal| refusal.id.to_string()))
}

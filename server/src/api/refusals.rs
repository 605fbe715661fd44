//! Validations that were refused.

use axum::extract::State;
use common::{ExternalId, RefusalId, UserRefusal};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::error::Error;
use crate::http::credentials::Reader;
use crate::http::extract::{Limit, Query};
use crate::http::newest_first::{DEFAULT_LIMIT, NewestFirst};
use crate::store::outcomes;

/// The query of the list of refusals.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
pub struct ListRefusals {
    /// Only the refusals of this user, by the caller's own identifier.
    user_id: Option<String>,
    /// How many records to answer at most; 100, when absent.
    limit: Option<Limit>,
    after: Option<RefusalId>,
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<ListRefusals>,
) -> Result<NewestFirst<UserRefusal>, Error> {
    let scope = caller.scope();
    let limit = query.limit.map_or(DEFAULT_LIMIT, |limit| limit.0);
    // One more than is answered shows whether more follow.
    let (before, most) = (query.after, limit + 1);
    let mut conn = app.read(scope.tenant).await?;
    let refusals = match query.user_id.as_deref().map(str::parse::<ExternalId>) {
        None => outcomes::refusals(&mut conn, scope, before, most).await?,
        Some(Ok(user)) => outcomes::refusals_of_user(&mut conn, scope, &user, before, most).await?,
        // No user has a text that is no user id.
        Some(Err(_)) => Vec::new(),
    };
    Ok(NewestFirst::page(refusals, limit, |refusal| refusal.id.to_string()))
}

//! Who uses a license.

use axum::extract::State;
use common::{ActivationId, Fixed, LicenseId, Paged, Usage};
use schemars::JsonSchema;
use serde::Deserialize;

use super::licenses::NOT_FOUND;
use crate::App;
use crate::answer::{Pages, cut};
use crate::auth::Reader;
use crate::error::Error;
use crate::extract::{Id, Limit, Query};
use crate::store::{Page, activations, licenses};

/// The query of a license's usage.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct PageOfUsage {
    limit: Option<Limit>,
    after: Option<ActivationId>,
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<LicenseId>,
    Query(query): Query<PageOfUsage>,
) -> Result<Pages<Usage>, Error> {
    let scope = caller.scope();
    let mut tx = app.snapshot(scope.tenant).await?;
    let license = licenses::find(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let after = query.after.unwrap_or_default().uuid();
    let limit = query.limit.map_or(i64::MAX - 1, |limit| limit.0);
    let page = Page { after, limit: limit + 1 };
    let mut activations = activations::page_of_license(&mut tx, scope, id, page).await?;
    let next_cursor = cut(&mut activations, limit);
    let (total_activations, active_seats) = activations::count(&mut tx, scope, id).await?;
    let data = Usage { license, activations, total_activations, active_seats };
    Ok(Pages(Paged { success: Fixed, data, next_cursor }))
}

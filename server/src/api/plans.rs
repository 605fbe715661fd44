//! Plans.

use axum::extract::State;
use common::{CreatePlan, List, Plan, PlanId, ProductId, UpdatePlan};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::App;
use crate::http::answer::{ListParams, Single, Streamed};
use crate::http::credentials::{Admin, Reader};
use crate::http::extract::{Id, Json, Limit, NoQuery, Query, filter};
use crate::http::idempotency::Idempotency;
use crate::http::if_match::IfMatch;
use crate::ops::idempotency::Once;
use crate::ops::outcome::{Changed, Created};
use crate::ops::plans;

pub async fn create(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    Json(body): Json<CreatePlan>,
) -> Result<Once<Created<Plan>>, Error> {
    let key = idempotency.of(&body)?;
    app.ops.once(caller.origin(), key, |change| plans::create(change, body)).await
}

/// The query of the list of plans.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListPlans {
    /// Only this product's plans.
    #[serde(default, deserialize_with = "filter")]
    #[schemars(with = "Option<String>")]
    product_id: Option<ProductId>,
    limit: Option<Limit>,
    /// Only records after the one with this id: the `nextCursor` of the page before.
    after: Option<PlanId>,
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<ListPlans>,
) -> Result<Streamed<List<Plan>>, Error> {
    let view = app.ops.view(caller.scope);
    let params = ListParams::new(query.after, query.limit);
    let product = query.product_id;
    Streamed::list(params, move |page| plans::page(view.clone(), product, page)).await
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<PlanId>,
    _: NoQuery,
) -> Result<Single<Plan>, Error> {
    plans::get(app.ops.view(caller.scope), id).await.map(Single)
}

pub async fn update(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    IfMatch(expected): IfMatch,
    Id(id): Id<PlanId>,
    Json(body): Json<UpdatePlan>,
) -> Result<Once<Changed<Plan>>, Error> {
    let key = idempotency.of(&body)?;
    app.ops
        .once(caller.origin(), key, |change| plans::update(change.expecting(expected), id, body))
        .await
}

pub async fn delete(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    IfMatch(expected): IfMatch,
    Id(id): Id<PlanId>,
    _: NoQuery,
) -> Result<Once<Changed<Plan>>, Error> {
    let key = idempotency.of(&())?;
    app.ops.once(caller.origin(), key, |change| plans::delete(change.expecting(expected), id)).await
}

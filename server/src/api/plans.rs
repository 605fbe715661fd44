//! Plans.

use common::{CreatePlan, List, Plan, PlanId, ProductId, UpdatePlan};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::answer::{ListParams, Single, Streamed};
use crate::http::credentials::Reader;
use crate::http::extract::{Id, Json, Limit, NoQuery, Query, filter};
use crate::http::if_match::IfMatch;
use crate::http::writer::Writer;
use crate::ops::idempotency::Idempotent;
use crate::ops::outcome::{Changed, Created};
use crate::ops::plans;

pub async fn create(
    writer: Writer,
    Json(body): Json<CreatePlan>,
) -> Result<Idempotent<Created<Plan>>, Error> {
    writer.once(body, plans::create).await
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
    Reader(view): Reader,
    Query(query): Query<ListPlans>,
) -> Result<Streamed<List<Plan>>, Error> {
    let params = ListParams::new(query.after, query.limit);
    let product = query.product_id;
    Streamed::list(params, move |page| plans::page(view.clone(), product, page)).await
}

pub async fn get(
    Reader(view): Reader,
    Id(id): Id<PlanId>,
    _: NoQuery,
) -> Result<Single<Plan>, Error> {
    plans::get(view, id).await.map(Single)
}

pub async fn update(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<PlanId>,
    Json(body): Json<UpdatePlan>,
) -> Result<Idempotent<Changed<Plan>>, Error> {
    writer.expecting(expected).once(body, |change, body| plans::update(change, id, body)).await
}

pub async fn delete(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<PlanId>,
    _: NoQuery,
) -> Result<Idempotent<Changed<Plan>>, Error> {
    writer.expecting(expected).once((), |change, ()| plans::delete(change, id)).await
}

//! Plans.

use axum::extract::State;
use common::{CreatePlan, List, Plan, PlanField, PlanId, ProductId, UpdatePlan};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{change, refuse_contradictions};
use crate::App;
use crate::error::Error;
use crate::http::answer::{Created, Data, ListParams, Streamed};
use crate::http::credentials::{Admin, Reader};
use crate::http::extract::{Id, Json, Limit, Query, filter};
use crate::ops::idempotency::Idempotency;
use crate::store::{plans, products};

const NOT_FOUND: Error = Error::NotFound("plan");

pub async fn create(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Json(body): Json<CreatePlan>,
) -> Result<Created<Plan>, Error> {
    let scope = caller.scope;
    let mut tx = once.begin(&app, scope, &body).await?;
    let now = tx.now;
    let plan = Plan {
        id: PlanId::new(now),
        product_id: body.product_id,
        name: body.name,
        description: body.description,
        max_seats: body.max_seats,
        expires_in_days: body.expires_in_days,
        features: body.features.unwrap_or_default(),
        created_at: now,
        updated_at: now,
    };
    let product = products::find(&mut tx, scope, plan.product_id).await?;
    product.ok_or_else(|| Error::unknown("productId", "product"))?;
    plans::insert(&mut tx, scope, &plan).await?;
    tx.commit(Created(plan)).await
}

/// The query of the list of plans.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
pub struct ListPlans {
    /// Only this product's plans.
    #[serde(default, deserialize_with = "filter")]
    #[schemars(with = "Option<ProductId>")]
    product_id: Option<ProductId>,
    limit: Option<Limit>,
    after: Option<PlanId>,
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<ListPlans>,
) -> Result<Streamed<List<Plan>>, Error> {
    let wanted = ListParams { after: query.after, limit: query.limit };
    let scope = caller.scope;
    Streamed::list(wanted, move |page| {
        let app = app.clone();
        async move {
            let mut conn = app.read(scope.tenant).await?;
            Ok(match query.product_id {
                Some(product) => plans::page_of_product(&mut conn, scope, product, page).await?,
                None => plans::page(&mut conn, scope, page).await?,
            })
        }
    })
    .await
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<PlanId>,
) -> Result<Data<Plan>, Error> {
    let plan = plans::find(&mut app.read(caller.tenant.id).await?, caller.scope, id).await?;
    plan.map(Data).ok_or(NOT_FOUND)
}

pub async fn update(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Id(id): Id<PlanId>,
    Json(body): Json<UpdatePlan>,
) -> Result<Data<Plan>, Error> {
    let scope = caller.scope;
    let given = [
        (PlanField::Description, body.description.is_some()),
        (PlanField::MaxSeats, body.max_seats.is_some()),
        (PlanField::ExpiresInDays, body.expires_in_days.is_some()),
    ];
    refuse_contradictions(body.clear.as_deref().unwrap_or_default(), &given)?;
    let mut tx = once.begin(&app, scope, &body).await?;
    let now = tx.now;
    let before = plans::lock(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let mut plan = before.clone();
    let clear = body.clear.unwrap_or_default();
    let cleared = |field| clear.contains(&field);
    plan.name = body.name.unwrap_or(plan.name);
    plan.features = body.features.unwrap_or(plan.features);
    change(&mut plan.description, body.description, cleared(PlanField::Description));
    change(&mut plan.max_seats, body.max_seats, cleared(PlanField::MaxSeats));
    let days = &mut plan.expires_in_days;
    change(days, body.expires_in_days, cleared(PlanField::ExpiresInDays));
    if plan != before {
        plan.updated_at = now;
        plans::update(&mut tx, scope, &plan).await?;
    }
    tx.commit(Data(plan)).await
}

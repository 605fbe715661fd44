//! Products.

use axum::extract::State;
use common::{CreateProduct, List, Product, ProductField, ProductId, UpdateProduct};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{change, refuse_contradictions};
use crate::App;
use crate::error::Error;
use crate::http::answer::{Created, Data, ListParams, Streamed};
use crate::http::credentials::{Admin, Reader};
use crate::http::extract::{Id, Json, Limit, Query};
use crate::ops::idempotency::Idempotency;
use crate::store::products;

const NOT_FOUND: Error = Error::NotFound("product");

pub async fn create(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Json(body): Json<CreateProduct>,
) -> Result<Created<Product>, Error> {
    let scope = caller.scope;
    let mut tx = once.begin(&app, scope, &body).await?;
    let now = tx.now;
    let product = Product {
        id: ProductId::new(now),
        name: body.name,
        description: body.description,
        created_at: now,
        updated_at: now,
    };
    products::insert(&mut tx, scope, &product).await?;
    tx.commit(Created(product)).await
}

/// The query of the list of products.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ListProducts {
    limit: Option<Limit>,
    after: Option<ProductId>,
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<ListProducts>,
) -> Result<Streamed<List<Product>>, Error> {
    let wanted = ListParams { after: query.after, limit: query.limit };
    let scope = caller.scope;
    Streamed::list(wanted, move |page| {
        let app = app.clone();
        async move { Ok(products::page(&mut app.read(scope.tenant).await?, scope, page).await?) }
    })
    .await
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<ProductId>,
) -> Result<Data<Product>, Error> {
    let product = products::find(&mut app.read(caller.tenant.id).await?, caller.scope, id).await?;
    product.map(Data).ok_or(NOT_FOUND)
}

pub async fn update(
    State(app): State<App>,
    Admin(caller): Admin,
    once: Idempotency,
    Id(id): Id<ProductId>,
    Json(body): Json<UpdateProduct>,
) -> Result<Data<Product>, Error> {
    let scope = caller.scope;
    let clear = body.clear.as_deref().unwrap_or_default();
    let cleared = clear.contains(&ProductField::Description);
    refuse_contradictions(clear, &[(ProductField::Description, body.description.is_some())])?;
    let mut tx = once.begin(&app, scope, &body).await?;
    let now = tx.now;
    let before = products::lock(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let mut product = before.clone();
    product.name = body.name.unwrap_or(product.name);
    change(&mut product.description, body.description, cleared);
    if product != before {
        product.updated_at = now;
        products::update(&mut tx, scope, &product).await?;
    }
    tx.commit(Data(product)).await
}

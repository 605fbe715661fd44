//! Products.

use axum::extract::State;
use common::{CreateProduct, List, Product, ProductId, UpdateProduct};

use super::Unfiltered;
use crate::error::Error;
use crate::http::App;
use crate::http::answer::{ListParams, Single, Streamed};
use crate::http::credentials::{Admin, Reader};
use crate::http::extract::{Id, Json, NoQuery, Query};
use crate::http::idempotency::Idempotency;
use crate::http::if_match::IfMatch;
use crate::ops::idempotency::Once;
use crate::ops::outcome::{Changed, Created};
use crate::ops::products;

pub async fn create(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    Json(body): Json<CreateProduct>,
) -> Result<Once<Created<Product>>, Error> {
    let key = idempotency.of(&body)?;
    app.ops.once(caller.origin(), key, |change| products::create(change, body)).await
}

pub async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Query(query): Query<Unfiltered<ProductId>>,
) -> Result<Streamed<List<Product>>, Error> {
    let view = app.ops.view(caller.scope);
    let params = ListParams::new(query.after, query.limit);
    Streamed::list(params, move |page| products::page(view.clone(), page)).await
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<ProductId>,
    _: NoQuery,
) -> Result<Single<Product>, Error> {
    products::get(app.ops.view(caller.scope), id).await.map(Single)
}

pub async fn update(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    IfMatch(expected): IfMatch,
    Id(id): Id<ProductId>,
    Json(body): Json<UpdateProduct>,
) -> Result<Once<Changed<Product>>, Error> {
    let key = idempotency.of(&body)?;
    app.ops
        .once(caller.origin(), key, |change| products::update(change.expecting(expected), id, body))
        .await
}

pub async fn delete(
    State(app): State<App>,
    Admin(caller): Admin,
    idempotency: Idempotency,
    IfMatch(expected): IfMatch,
    Id(id): Id<ProductId>,
    _: NoQuery,
) -> Result<Once<Changed<Product>>, Error> {
    let key = idempotency.of(&())?;
    app.ops
        .once(caller.origin(), key, |change| products::delete(change.expecting(expected), id))
        .await
}

//! Products.

use common::{CreateProduct, List, Product, ProductId, UpdateProduct};

use super::Unfiltered;
use crate::error::Error;
use crate::http::answer::{ListParams, Single, Streamed};
use crate::http::credentials::Reader;
use crate::http::extract::{Id, Json, NoQuery, Query};
use crate::http::if_match::IfMatch;
use crate::http::writer::Writer;
use crate::ops::idempotency::Idempotent;
use crate::ops::outcome::{Changed, Created};
use crate::ops::products;

pub async fn create(
    writer: Writer,
    Json(body): Json<CreateProduct>,
) -> Result<Idempotent<Created<Product>>, Error> {
    writer.once(body, products::create).await
}

pub async fn list(
    Reader(view): Reader,
    Query(query): Query<Unfiltered<ProductId>>,
) -> Result<Streamed<List<Product>>, Error> {
    let params = ListParams::new(query.after, query.limit);
    Streamed::list(params, move |page| products::page(view.clone(), page)).await
}

pub async fn get(
    Reader(view): Reader,
    Id(id): Id<ProductId>,
    _: NoQuery,
) -> Result<Single<Product>, Error> {
    products::get(view, id).await.map(Single)
}

pub async fn update(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<ProductId>,
    Json(body): Json<UpdateProduct>,
) -> Result<Idempotent<Changed<Product>>, Error> {
    writer.expecting(expected).once(body, |change, body| products::update(change, id, body)).await
}

pub async fn delete(
    writer: Writer,
    IfMatch(expected): IfMatch,
    Id(id): Id<ProductId>,
    _: NoQuery,
) -> Result<Idempotent<Changed<Product>>, Error> {
    writer.expecting(expected).once((), |change, ()| products::delete(change, id)).await
}

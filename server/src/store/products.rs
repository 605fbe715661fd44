//! Products.

use std::collections::HashMap;

use common::{Name, Product, ProductId};
use sqlx::types::Json;

use super::batch_rows::{BatchRow, over_rows};
use super::table::table;
use super::{Page, Scope};
use crate::db::{Conn, Result, Sql};

table! {
    products of product: Product by ProductId;
    fixed { created_at }
    changing { name, description, updated_at }
    insert find lock update delete page
}

/// The names of those products that exist.
pub async fn names(
    conn: &mut Conn,
    scope: Scope,
    products: impl IntoIterator<Item = ProductId>,
) -> Result<HashMap<ProductId, Name>> {
    const NAMES: Sql = over_rows!(
        "select products.id, products.name from item
         join products on products.id = item.id and products.world = item.world"
    );
    let rows: Vec<_> = products.into_iter().map(|id| BatchRow::product(scope, id)).collect();
    let names: Vec<(ProductId, Name)> = conn.query(NAMES).bind(Json(rows)).fetch_all().await?;
    Ok(names.into_iter().collect())
}

//! Products.

use std::collections::HashMap;

use common::{Name, Product, ProductId};
use sqlx::types::Json;

use super::batch_rows::{BatchRow, over_rows};
use super::page::paged;
use super::{Page, Scope};
use crate::db::{Conn, Result, Sql, locking};

macro_rules! select {
    ($rest:expr) => {
        concat!(
            "select id, name, description, created_at, updated_at from products ",
            "where ",
            $rest
        )
    };
}

pub async fn insert(conn: &mut Conn, scope: Scope, product: &Product) -> Result<()> {
    conn.query(
        "insert into products (world, id, name, description, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind_scope(scope)
    .bind(product.id)
    .bind(&product.name)
    .bind(&product.description)
    .bind(product.created_at)
    .bind(product.updated_at)
    .execute()
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, scope: Scope, id: ProductId) -> Result<Option<Product>> {
    conn.query(select!("id = $2 and world = $1")).bind_scope(scope).bind(id).fetch_optional().await
}

pub async fn lock(conn: &mut Conn, scope: Scope, id: ProductId) -> Result<Option<Product>> {
    conn.query(locking!(select!("id = $2 and world = $1")))
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await
}

pub async fn update(conn: &mut Conn, scope: Scope, product: &Product) -> Result<()> {
    conn.query(
        "update products set name = $3, description = $4, updated_at = $5
         where id = $2 and world = $1",
    )
    .bind_scope(scope)
    .bind(product.id)
    .bind(&product.name)
    .bind(&product.description)
    .bind(product.updated_at)
    .execute()
    .await?;
    Ok(())
}

/// Deletes a product; the database refuses if it has plans.
pub async fn delete(conn: &mut Conn, scope: Scope, id: ProductId) -> Result<()> {
    conn.query("delete from products where id = $2 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .execute()
        .await?;
    Ok(())
}

pub async fn page(conn: &mut Conn, scope: Scope, page: Page<ProductId>) -> Result<Vec<Product>> {
    conn.query(paged!(page, select!("world = $1 and world > 0"), "id"))
        .bind_scope(scope)
        .bind(page.cursor)
        .bind(page.limit)
        .fetch_all()
        .await
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

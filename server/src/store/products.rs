//! Products.

use common::{Product, ProductId};

use super::page::paged;
use super::{Page, Scope};
use crate::db::{Conn, Result, locking};

/// The one list of columns.
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

pub async fn page(conn: &mut Conn, scope: Scope, page: Page<ProductId>) -> Result<Vec<Product>> {
    conn.query(paged!(page, select!("world = $1 and world > 0"), "id"))
        .bind_scope(scope)
        .bind(page.cursor)
        .bind(page.limit)
        .fetch_all()
        .await
}

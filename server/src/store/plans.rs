//! Plans.

use common::{Plan, PlanId, ProductId};
use sqlx::types::Json;

use super::{Page, Scope};
use crate::db::{Conn, Result, locking};

/// The one list of columns; what follows narrows the scope further.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, product_id, name, description, max_seats, expires_in_days, features, \
             created_at, updated_at from plans ",
            "where tenant_id = $1 and mode = $2 and ",
            $rest
        )
    };
}

pub async fn insert(conn: &mut Conn, scope: Scope, plan: &Plan) -> Result<()> {
    conn.query(
        "insert into plans (tenant_id, mode, id, product_id, name, description, max_seats,
             expires_in_days, features, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind_scope(scope)
    .bind(plan.id)
    .bind(plan.product_id)
    .bind(&plan.name)
    .bind(&plan.description)
    .bind(plan.max_seats)
    .bind(plan.expires_in_days)
    .bind(Json(&plan.features))
    .bind(plan.created_at)
    .bind(plan.updated_at)
    .execute()
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, scope: Scope, id: PlanId) -> Result<Option<Plan>> {
    conn.query(select!("id = $3")).bind_scope(scope).bind(id).fetch_optional().await
}

pub async fn lock(conn: &mut Conn, scope: Scope, id: PlanId) -> Result<Option<Plan>> {
    conn.query(locking!(select!("id = $3"))).bind_scope(scope).bind(id).fetch_optional().await
}

pub async fn update(conn: &mut Conn, scope: Scope, plan: &Plan) -> Result<()> {
    conn.query(
        "update plans set name = $4, description = $5, max_seats = $6, expires_in_days = $7,
             features = $8, updated_at = $9
         where tenant_id = $1 and mode = $2 and id = $3",
    )
    .bind_scope(scope)
    .bind(plan.id)
    .bind(&plan.name)
    .bind(&plan.description)
    .bind(plan.max_seats)
    .bind(plan.expires_in_days)
    .bind(Json(&plan.features))
    .bind(plan.updated_at)
    .execute()
    .await?;
    Ok(())
}

pub async fn page(conn: &mut Conn, scope: Scope, page: Page<PlanId>) -> Result<Vec<Plan>> {
    conn.query(select!("id > $3 order by id limit $4"))
        .bind_scope(scope)
        .bind(page.after)
        .bind(page.limit)
        .fetch_all()
        .await
}

pub async fn page_of_product(
    conn: &mut Conn,
    scope: Scope,
    product: ProductId,
    page: Page<PlanId>,
) -> Result<Vec<Plan>> {
    conn.query(select!("product_id = $3 and id > $4 order by id limit $5"))
        .bind_scope(scope)
        .bind(product)
        .bind(page.after)
        .bind(page.limit)
        .fetch_all()
        .await
}

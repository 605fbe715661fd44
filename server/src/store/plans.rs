//! Plans.

use std::collections::HashMap;

use common::{Name, Plan, PlanId, ProductId};
use sqlx::types::Json;

use super::batch_rows::{BatchRow, over_rows};
use super::page::paged;
use super::{Page, Scope};
use crate::db::{Conn, Result, Sql, locking};

macro_rules! select {
    ($rest:expr) => {
        concat!(
            "select id, product_id, name, description, max_seats, expires_in_days, features, \
             created_at, updated_at, seat_idle_minutes, grace_days, expires_from, \
             max_lease_seconds from plans ",
            "where ",
            $rest
        )
    };
}

pub async fn insert(conn: &mut Conn, scope: Scope, plan: &Plan) -> Result<()> {
    conn.query(
        "insert into plans (world, id, product_id, name, description, max_seats,
             expires_in_days, features, created_at, updated_at, seat_idle_minutes, grace_days,
             expires_from, max_lease_seconds)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
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
    .bind(plan.seat_idle_minutes)
    .bind(plan.grace_days)
    .bind(plan.expires_from)
    .bind(plan.max_lease_seconds)
    .execute()
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, scope: Scope, id: PlanId) -> Result<Option<Plan>> {
    conn.query(select!("id = $2 and world = $1")).bind_scope(scope).bind(id).fetch_optional().await
}

pub async fn lock(conn: &mut Conn, scope: Scope, id: PlanId) -> Result<Option<Plan>> {
    conn.query(locking!(select!("id = $2 and world = $1")))
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await
}

pub async fn update(conn: &mut Conn, scope: Scope, plan: &Plan) -> Result<()> {
    conn.query(
        "update plans set name = $3, description = $4, max_seats = $5, expires_in_days = $6,
             features = $7, updated_at = $8, seat_idle_minutes = $9, grace_days = $10,
             expires_from = $11, max_lease_seconds = $12
         where id = $2 and world = $1",
    )
    .bind_scope(scope)
    .bind(plan.id)
    .bind(&plan.name)
    .bind(&plan.description)
    .bind(plan.max_seats)
    .bind(plan.expires_in_days)
    .bind(Json(&plan.features))
    .bind(plan.updated_at)
    .bind(plan.seat_idle_minutes)
    .bind(plan.grace_days)
    .bind(plan.expires_from)
    .bind(plan.max_lease_seconds)
    .execute()
    .await?;
    Ok(())
}

/// Deletes a plan; the database refuses if it has licenses.
pub async fn delete(conn: &mut Conn, scope: Scope, id: PlanId) -> Result<()> {
    conn.query("delete from plans where id = $2 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .execute()
        .await?;
    Ok(())
}

pub async fn page(conn: &mut Conn, scope: Scope, page: Page<PlanId>) -> Result<Vec<Plan>> {
    conn.query(paged!(page, select!("world = $1 and world > 0"), "id"))
        .bind_scope(scope)
        .bind(page.cursor)
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
    conn.query(paged!(page, select!("product_id = $4 and world = $1 and world > 0"), "id"))
        .bind_scope(scope)
        .bind(page.cursor)
        .bind(page.limit)
        .bind(product)
        .fetch_all()
        .await
}

/// The names of those plans that exist.
pub async fn names(
    conn: &mut Conn,
    scope: Scope,
    plans: impl IntoIterator<Item = PlanId>,
) -> Result<HashMap<PlanId, Name>> {
    const NAMES: Sql = over_rows!(
        "select plans.id, plans.name from item
         join plans on plans.id = item.id and plans.world = item.world"
    );
    let rows: Vec<_> = plans.into_iter().map(|id| BatchRow::plan(scope, id)).collect();
    let names: Vec<(PlanId, Name)> = conn.query(NAMES).bind(Json(rows)).fetch_all().await?;
    Ok(names.into_iter().collect())
}

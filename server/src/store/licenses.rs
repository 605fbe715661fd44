//! Licenses. Their counters of seats are in `seats`.

use common::{License, LicenseId, PlanId, UserId};
use sqlx::types::Json;

use super::{Page, Scope};
use crate::db::{Conn, Result, locking};

/// The one list of columns.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, product_id, plan_id, status, max_seats, expires_at, features, created_at, \
             updated_at from licenses ",
            "where ",
            $rest
        )
    };
}

pub async fn insert(conn: &mut Conn, scope: Scope, license: &License) -> Result<()> {
    conn.query(
        "insert into licenses (world, id, product_id, plan_id, status, max_seats,
             expires_at, features, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind_scope(scope)
    .bind(license.id)
    .bind(license.product_id)
    .bind(license.plan_id)
    .bind(license.status)
    .bind(license.max_seats)
    .bind(license.expires_at)
    .bind(Json(&license.features))
    .bind(license.created_at)
    .bind(license.updated_at)
    .execute()
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, scope: Scope, id: LicenseId) -> Result<Option<License>> {
    conn.query(select!("id = $2 and world = $1")).bind_scope(scope).bind(id).fetch_optional().await
}

/// Whoever changes a license, or its seats, locks it first.
pub async fn lock(conn: &mut Conn, scope: Scope, id: LicenseId) -> Result<Option<License>> {
    conn.query(locking!(select!("id = $2 and world = $1")))
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await
}

/// Locks all licenses of a user, who is locked, in the order of their ids.
pub async fn lock_of_user(conn: &mut Conn, scope: Scope, user: UserId) -> Result<()> {
    conn.query(locking!(
        "select id from licenses where world = $1 and id in (
             select license_id from assignments where user_id = $2 and world = $1)
         order by id"
    ))
    .bind_scope(scope)
    .bind(user)
    .execute()
    .await?;
    Ok(())
}

pub async fn update(conn: &mut Conn, scope: Scope, license: &License) -> Result<()> {
    conn.query(
        "update licenses set status = $3, max_seats = $4, expires_at = $5, features = $6,
             updated_at = $7
         where id = $2 and world = $1",
    )
    .bind_scope(scope)
    .bind(license.id)
    .bind(license.status)
    .bind(license.max_seats)
    .bind(license.expires_at)
    .bind(Json(&license.features))
    .bind(license.updated_at)
    .execute()
    .await?;
    Ok(())
}

pub async fn page(conn: &mut Conn, scope: Scope, page: Page) -> Result<Vec<License>> {
    conn.query(select!("world = $1 and world > 0 and id > $2 order by id limit $3"))
        .bind_scope(scope)
        .bind(page.after)
        .bind(page.limit)
        .fetch_all()
        .await
}

pub async fn page_of_plan(
    conn: &mut Conn,
    scope: Scope,
    plan: PlanId,
    page: Page,
) -> Result<Vec<License>> {
    conn.query(select!("plan_id = $2 and world = $1 and id > $3 order by id limit $4"))
        .bind_scope(scope)
        .bind(plan)
        .bind(page.after)
        .bind(page.limit)
        .fetch_all()
        .await
}

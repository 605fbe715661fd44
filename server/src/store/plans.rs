//! Plans.

use std::collections::HashMap;

use common::{Name, Plan, PlanId, ProductId};
use sqlx::types::Json;

use super::batch_rows::{BatchRow, over_rows};
use super::page::paged;
use super::table::table;
use super::{Page, Scope};
use crate::db::{Conn, Result, Sql};

table! {
    plans of plan: Plan by PlanId;
    fixed { product_id, created_at }
    changing {
        name, description, max_seats, expires_in_days, features: Json(&plan.features), updated_at,
        seat_idle_minutes, grace_days, expires_from, max_lease_seconds,
    }
    insert find lock update delete page
}

pub async fn page_of_product(
    conn: &mut Conn,
    scope: Scope,
    product: ProductId,
    page: Page<PlanId>,
) -> Result<Vec<Plan>> {
    conn.query(paged!(page, select!("product_id = $4 and world = $1 and world > 0"), "id"))
        .bind_page(scope, page)
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

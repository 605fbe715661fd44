//! Plans.

use common::{Plan, PlanId, ProductId};
use sqlx::types::Json;

use super::page::paged;
use super::table::table;
use super::{Page, Scope};
use crate::db::{Conn, Result};

table! {
    plans of plan: Plan by PlanId;
    fixed { product_id, created_at }
    changing {
        name, description, max_seats, expires_in_days, features: Json(&plan.features), updated_at,
        seat_idle_minutes: plan.terms.seat_idle_minutes, grace_days: plan.terms.grace_days,
        max_lease_seconds: plan.terms.max_lease_seconds, expires_from, trial,
    }
    insert find lock update delete page names
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

//! Plans.

use common::{CreatePlan, Plan, PlanField, PlanId, ProductId, UpdatePlan};

use super::change::{Change, Events};
use super::members::{check_floating, refuse_contradictions, update as update_member};
use super::outcome::{Changed, Created};
use super::view::View;
use crate::error::{Error, on_broken_reference};
use crate::events::NewEvent;
use crate::store::{Page, plans};

const NOT_FOUND: Error = Error::NotFound("plan");
const IN_USE: Error = Error::Conflict("Only a plan without licenses can be deleted");

pub async fn create(mut change: Change, new: CreatePlan) -> Result<Created<Plan>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let plan = Plan {
        id: PlanId::new(now),
        product_id: new.product_id,
        name: new.name,
        description: new.description,
        max_seats: new.max_seats,
        expires_in_days: new.expires_in_days,
        features: new.features.unwrap_or_default(),
        created_at: now,
        updated_at: now,
        seat_idle_minutes: new.seat_idle_minutes,
        grace_days: new.grace_days,
        expires_from: new.expires_from,
        max_lease_seconds: new.max_lease_seconds,
    };
    check_floating(plan.seat_idle_minutes, plan.max_seats)?;
    let unknown = Error::unknown("productId", "product");
    plans::insert(&mut change, scope, &plan).await.map_err(on_broken_reference(unknown))?;
    let event = NewEvent::plan_created(&plan);
    Ok(change.commit(Created(plan), event).await?)
}

pub async fn get(view: View, id: PlanId) -> Result<Plan, Error> {
    plans::find(&mut view.read().await?, view.scope, id).await?.ok_or(NOT_FOUND)
}

pub async fn page(
    view: View,
    product: Option<ProductId>,
    page: Page<PlanId>,
) -> Result<Vec<Plan>, Error> {
    let mut conn = view.read().await?;
    Ok(match product {
        Some(product) => plans::page_of_product(&mut conn, view.scope, product, page).await?,
        None => plans::page(&mut conn, view.scope, page).await?,
    })
}

pub async fn update(
    mut change: Change,
    id: PlanId,
    update: UpdatePlan,
) -> Result<Changed<Plan>, Error> {
    let scope = change.scope();
    let clear = update.clear.unwrap_or_default();
    let given = [
        (PlanField::Description, update.description.is_some()),
        (PlanField::MaxSeats, update.max_seats.is_some()),
        (PlanField::ExpiresInDays, update.expires_in_days.is_some()),
        (PlanField::SeatIdleMinutes, update.seat_idle_minutes.is_some()),
        (PlanField::GraceDays, update.grace_days.is_some()),
        (PlanField::ExpiresFrom, update.expires_from.is_some()),
        (PlanField::MaxLeaseSeconds, update.max_lease_seconds.is_some()),
    ];
    refuse_contradictions(&clear, &given)?;
    let before = plans::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    change.check(&before)?;
    let mut plan = before.clone();
    let cleared = |field| clear.contains(&field);
    plan.name = update.name.unwrap_or(plan.name);
    plan.features = update.features.unwrap_or(plan.features);
    update_member(&mut plan.description, update.description, cleared(PlanField::Description));
    update_member(&mut plan.max_seats, update.max_seats, cleared(PlanField::MaxSeats));
    let days = &mut plan.expires_in_days;
    update_member(days, update.expires_in_days, cleared(PlanField::ExpiresInDays));
    let idle = &mut plan.seat_idle_minutes;
    update_member(idle, update.seat_idle_minutes, cleared(PlanField::SeatIdleMinutes));
    update_member(&mut plan.grace_days, update.grace_days, cleared(PlanField::GraceDays));
    update_member(&mut plan.expires_from, update.expires_from, cleared(PlanField::ExpiresFrom));
    let lease = &mut plan.max_lease_seconds;
    update_member(lease, update.max_lease_seconds, cleared(PlanField::MaxLeaseSeconds));
    check_floating(plan.seat_idle_minutes, plan.max_seats)?;
    if plan == before {
        return Ok(change.commit(Changed(plan), Events::none()).await?);
    }
    plan.updated_at = change.time_after(before.updated_at);
    plans::update(&mut change, scope, &plan).await?;
    let event = NewEvent::plan_updated(&before, &plan);
    Ok(change.commit(Changed(plan), event).await?)
}

/// Deletes a plan without licenses.
pub async fn delete(mut change: Change, id: PlanId) -> Result<Changed<Plan>, Error> {
    let scope = change.scope();
    let plan = plans::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    change.check(&plan)?;
    plans::delete(&mut change, scope, id).await.map_err(on_broken_reference(IN_USE))?;
    let event = NewEvent::plan_deleted(&plan);
    Ok(change.commit(Changed(plan), event).await?)
}

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
    let (scope, now, terms) = (change.scope(), change.now, new.terms());
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
        terms,
        expires_from: new.expires_from,
        trial: new.trial.unwrap_or_default(),
    };
    check_floating(terms.seat_idle_minutes, plan.max_seats)?;
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
    refuse_contradictions(&update)?;
    let terms = update.terms();
    let clear = update.clear.unwrap_or_default();
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
    update_member(&mut plan.expires_from, update.expires_from, cleared(PlanField::ExpiresFrom));
    plan.trial = update.trial.unwrap_or(plan.trial);
    plan.terms.update(terms, &clear);
    check_floating(plan.terms.seat_idle_minutes, plan.max_seats)?;
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

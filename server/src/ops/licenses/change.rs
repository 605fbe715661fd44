//! Changes and deletes licenses. Each change locks the license, as changes of seats do.

use std::collections::BTreeSet;

use common::{
    EventType, ExpiresInDays, LicenseDetails, LicenseField, LicenseId, LicenseKey, MaxSeats, Plan,
    RenewFrom, RenewLicense, Status, Terms, Timestamp, UpdateLicense,
};

use super::{NOT_FOUND, unknown_plan};
use crate::error::{Error, on_broken_reference};
use crate::events::NewEvent;
use crate::ops::change::{Change, Events};
use crate::ops::members::{
    check_floating, refuse_contradictions, update as update_member, update_metadata,
};
use crate::ops::outcome::Changed;
use crate::store::batch_rows::BatchRow;
use crate::store::events::EventFilter;
use crate::store::{Collected, Page, events, license_keys, licenses, phrases, plans, seats};

const EVER_ASSIGNED: Error =
    Error::Conflict("Only a license that was never assigned can be deleted. Revoke it instead");

const START_OR_END: &str =
    "A license starts with its first validation or has an end. Send only one of both";
const HAS_BEGUN: Error = Error::Conflict(
    "The days have begun. Release or unassign the users who hold a seat, or set expiresAt",
);

const NOT_RENEWABLE: Error =
    Error::Conflict("A suspended or revoked license cannot be renewed. Activate it first");
const NOT_STARTED: Error =
    Error::Conflict("The license starts with its first validation. Change startsWithDays instead");
const ENDLESS: Error = Error::Conflict("The license has no end to renew");
const STILL_ENDED: Error =
    Error::Conflict("The term from the old end has passed already. Renew from today instead");
const SHORTER: Error =
    Error::Conflict("The license already ends later than the renewed term would");

pub async fn update(
    mut change: Change,
    id: LicenseId,
    update: UpdateLicense,
) -> Result<Changed<LicenseDetails>, Error> {
    refuse_contradictions(&update)?;
    let terms = update.terms();
    let clear = update.clear.unwrap_or_default();
    let cleared = |field| clear.contains(&field);
    let ends = update.expires_at.is_some() || cleared(LicenseField::ExpiresAt);
    if ends && update.starts_with_days.is_some() {
        return Err(Error::invalid("startsWithDays", START_OR_END));
    }
    if update.add_seats.is_some() && (update.max_seats.is_some() || cleared(LicenseField::MaxSeats))
    {
        return Err(Error::invalid("addSeats", "Send either addSeats or maxSeats, not both"));
    }
    let scope = change.scope();
    let plan = match update.plan_id {
        Some(id) => Some(plans::find(&mut change, scope, id).await?.ok_or_else(unknown_plan)?),
        None => None,
    };
    let edit = |details: &mut LicenseDetails| {
        if let Some(plan) = plan {
            take_plan(details, plan);
        }
        details.terms.of_plan.update(terms, &clear);
        update_member(&mut details.terms.starts_with_days, update.starts_with_days, ends);
        update_member(&mut details.name, update.name, cleared(LicenseField::Name));
        let license = &mut details.license;
        license.features = update.features.unwrap_or_else(|| license.features.clone());
        update_member(&mut license.max_seats, update.max_seats, cleared(LicenseField::MaxSeats));
        if let Some(added) = update.add_seats {
            license.max_seats = Some(plus_seats(license.max_seats, added)?);
        }
        let is_cleared = cleared(LicenseField::ExpiresAt) || update.starts_with_days.is_some();
        update_member(&mut license.expires_at, update.expires_at, is_cleared);
        check_floating(details.terms.seat_idle_minutes, details.license.max_seats)?;
        let is_cleared = cleared(LicenseField::Metadata);
        update_metadata(&mut details.metadata, update.metadata, update.merge_metadata, is_cleared)
    };
    modify(change, id, edit, NewEvent::license_updated).await
}

pub async fn set_status(
    change: Change,
    id: LicenseId,
    status: Status,
) -> Result<Changed<LicenseDetails>, Error> {
    let edit = |details: &mut LicenseDetails| {
        details.license.status = status;
        Ok(())
    };
    modify(change, id, edit, NewEvent::license_status_changed).await
}

fn plus_seats(limit: Option<MaxSeats>, added: MaxSeats) -> Result<MaxSeats, Error> {
    let limit =
        limit.ok_or_else(|| Error::invalid("addSeats", "The license has no limit to add to"))?;
    let sum = i64::from(limit.get()) + i64::from(added.get());
    MaxSeats::new(sum).map_err(|rule| Error::invalid("addSeats", format!("The limit {rule}")))
}

/// Renews a license. The end moves by the plan's term or the given one, and an expired license
/// becomes active.
pub async fn renew(
    mut change: Change,
    id: LicenseId,
    request: RenewLicense,
) -> Result<Changed<LicenseDetails>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let before = licenses::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    change.check(&before)?;
    let plan = plans::find(&mut change, scope, before.plan_id).await?;
    let end = renewed_end(&before, request, plan.and_then(|plan| plan.expires_in_days), now)?;
    let mut after = before.clone();
    after.license.expires_at = Some(end);
    after.license.status = Status::Active;
    after.license.updated_at = change.time_after(before.updated_at);
    licenses::update(&mut change, scope, &after).await?;
    let mut active = before.clone();
    active.license.status = Status::Active;
    let activated = (before.status != Status::Active)
        .then(|| NewEvent::license_status_changed(&before, &active));
    let renewed = NewEvent::license_renewed(&active, &after);
    let events: Vec<_> = activated.into_iter().chain([renewed]).collect();
    Ok(change.commit(Changed(after), events).await?)
}

/// Returns the end of a license if it is renewed now. `days` are those of its plan.
pub fn renewed_end(
    license: &LicenseDetails,
    request: RenewLicense,
    days: Option<ExpiresInDays>,
    now: Timestamp,
) -> Result<Timestamp, Error> {
    if let Status::Suspended | Status::Revoked = license.status {
        return Err(NOT_RENEWABLE);
    }
    if license.terms.starts_with_days.is_some() {
        return Err(NOT_STARTED);
    }
    let end = license.expires_at.ok_or(ENDLESS)?;
    let start = match request.from {
        Some(RenewFrom::End) => end,
        Some(RenewFrom::Today) => now,
        None => license.renews_from(&license.terms, now),
    };
    let renewed = match request.term {
        Some(term) => term.after(start),
        None => start.plus_term(days.ok_or_else(|| {
            Error::invalid("for", "Licenses of the plan have no term. Send one, such as 1y")
        })?),
    };
    let renewed = renewed
        .ok_or_else(|| Error::invalid("for", "The license would end after the year 9999"))?;
    if renewed <= now {
        return Err(STILL_ENDED);
    }
    if renewed < end {
        return Err(SHORTER);
    }
    Ok(renewed)
}

/// Applies the plan to the license, except for its end. A license that has not started has no end
/// yet, and gets the days of the plan, if any.
fn take_plan(details: &mut LicenseDetails, plan: Plan) {
    let waits = details.terms.starts_with_days;
    let days = waits.and(plan.expires_in_days).or(waits);
    details.terms = Terms { of_plan: plan.terms, starts_with_days: days };
    details.license.plan_id = plan.id;
    details.license.product_id = plan.product_id;
    details.license.max_seats = plan.max_seats;
    details.license.features = plan.features;
}

/// Changes a license while it is locked. `updatedAt` stays if nothing changes.
async fn modify(
    mut change: Change,
    id: LicenseId,
    edit: impl FnOnce(&mut LicenseDetails) -> Result<(), Error>,
    event: impl FnOnce(&LicenseDetails, &LicenseDetails) -> NewEvent,
) -> Result<Changed<LicenseDetails>, Error> {
    let scope = change.scope();
    let before = licenses::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    change.check(&before)?;
    let mut after = before.clone();
    edit(&mut after)?;
    if after == before {
        return Ok(change.commit(Changed(after), Events::none()).await?);
    }
    let (terms, former) = (after.terms, before.terms);
    if terms.starts_with_days.is_some() && terms.starts_with_days != former.starts_with_days {
        let (held, _) = seats::count(&mut change, scope, id).await?;
        if held > 0 {
            return Err(HAS_BEGUN);
        }
    }
    let idle = terms.floating(after.max_seats);
    if let Some(idle) = idle.filter(|_| idle != former.floating(before.max_seats)) {
        // Holders who validate as often as the old idle time requires get the whole new time once.
        let row = BatchRow::license_at(scope, id, change.now.plus(idle.duration()));
        seats::set_idle_at(&mut change, &[row]).await?;
    }
    after.license.updated_at = change.time_after(before.updated_at);
    let updated = licenses::update(&mut change, scope, &after).await;
    updated.map_err(on_broken_reference(unknown_plan()))?;
    if (&after.name, &after.metadata) != (&before.name, &before.metadata) {
        let found_by = phrases::of_license(after.name.as_ref(), after.metadata.as_ref());
        phrases::set_of_license(&mut change, scope, id, found_by).await?;
    }
    let event = event(&before, &after);
    Ok(change.commit(Changed(after), event).await?)
}

/// Deletes a license that was never assigned, as far as its events show. Fails if a user could
/// still claim it with one of its keys, because the key may be sold, unless the change revokes the
/// keys.
pub async fn delete(
    mut change: Change,
    id: LicenseId,
    revokes_keys: bool,
) -> Result<Changed<LicenseDetails>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let license = licenses::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    change.check(&license)?;
    let keys = license_keys::claimable(&mut change, scope, id, now).await?;
    if let (Some(key), false) = (keys.first(), revokes_keys) {
        return Err(Error::ClaimableKey(key.display_name()));
    }
    phrases::set_of_license(&mut change, scope, id, BTreeSet::new()).await?;
    license_keys::delete_of_license(&mut change, scope, id).await?;
    licenses::delete(&mut change, scope, id).await.map_err(on_broken_reference(EVER_ASSIGNED))?;
    // No user has the license. If one had it before, an event says that it was unassigned.
    let (subject, kind) = (id.to_string(), EventType::LicenseUnassigned.as_str());
    let filter =
        EventFilter { subject: Some(&subject), kind: Some(kind), ..EventFilter::default() };
    let mut last = Collected::new(Page::newest_first(None, 1));
    while let Some(page) = last.next {
        last.add(events::page(&mut change, scope, filter, page).await?);
    }
    if !last.records.is_empty() {
        return Err(EVER_ASSIGNED);
    }
    let revoked = keys.iter().map(|key| {
        let after = LicenseKey { revoked_at: Some(now), ..key.clone() };
        NewEvent::license_key_revoked(&license.license, key, &after)
    });
    let events: Vec<_> = revoked.chain([NewEvent::license_deleted(&license)]).collect();
    Ok(change.commit(Changed(license), events).await?)
}

//! Licenses: creating and listing them, and their users.

mod assign;
mod change;
mod names;
mod transfer;

use chrono::Duration;
use common::{
    ActivationId, AssignmentId, CreateLicense, ExpiresFrom, License, LicenseAssignment,
    LicenseDetails, LicenseId, LicenseKeyId, LicenseState, LicenseTotals, LicenseWithSeats, Plan,
    PlanId, ProductId, SeatsTaken, Status, Terms, Timestamp,
};

use super::change::{Change, Events};
use super::outcome::Upserted;
use super::view::View;
use crate::error::{Error, on_broken_reference};
use crate::events::NewEvent;
use crate::store::licenses::{LicenseFilter, Suffixes};
use crate::store::phrases::Search;
use crate::store::{Collected, Page, assignments, licenses, phrases, plans};
use crate::validation::LastChecks;

use assign::Assignee;
pub(super) use assign::{NOT_ASSIGNED, add};
pub use assign::{Unassigned, assign, unassign};
pub use change::{delete, renew, renewed_end, set_status, update};
pub use names::{Names, names};
pub use transfer::transfer;

pub use crate::store::assignments::{AssignedUser, SeatHolder};

pub(super) const NOT_FOUND: Error = Error::NotFound("license");

fn unknown_plan() -> Error {
    Error::unknown("planId", "plan")
}

/// Maximum count of users without a seat, because a license may have a million.
pub const MAX_COUNTED: i64 = 1001;
/// Maximum number of licenses whose totals a search counts.
const MAX_SEARCHED: i64 = 1000;

/// Creates a license. It ends at `expiresAt`, or after the days of `new` or else of its plan.
pub async fn create(change: Change, new: CreateLicense) -> Result<Upserted<LicenseDetails>, Error> {
    create_ending(change, new, |end| end).await
}

/// Creates a license as [`create`] does, but it ends at the end of its last day.
pub async fn create_through_the_day(
    change: Change,
    new: CreateLicense,
) -> Result<Upserted<LicenseDetails>, Error> {
    create_ending(change, new, Timestamp::end_of_day).await
}

async fn create_ending(
    mut change: Change,
    mut new: CreateLicense,
    end_of_days: impl FnOnce(Timestamp) -> Timestamp,
) -> Result<Upserted<LicenseDetails>, Error> {
    let (scope, now) = (change.scope(), change.now);
    if new.expires_at.is_some() && new.expires_in_days.is_some() {
        return Err(Error::invalid(
            "expiresAt",
            "Send either expiresAt or expiresInDays, not both",
        ));
    }
    if new.unless_held && new.assign_to.is_none() {
        return Err(Error::invalid("unlessHeld", "unlessHeld requires assignTo"));
    }
    let plan = plans::find(&mut change, scope, new.plan_id).await?;
    let plan = plan.ok_or_else(unknown_plan)?;
    let assignee = match new.assign_to.take() {
        Some(to) => Some(Assignee::lock(&mut change, to).await?),
        None => None,
    };
    if let Some(assignee) = assignee.as_ref().filter(|_| new.unless_held)
        && let Some(held) = assignee.license_of(&mut change, plan.id).await?
    {
        return Ok(change.commit(Upserted::Existing(held), Events::none()).await?);
    }
    let details = of_plan(plan, new, now, end_of_days);
    // The plan may have been deleted in the meantime.
    licenses::insert(&mut change, scope, &details)
        .await
        .map_err(on_broken_reference(unknown_plan()))?;
    let found_by = phrases::of_license(details.name.as_ref(), details.metadata.as_ref());
    phrases::add_to_license(&mut change, scope, details.id, found_by).await?;
    let mut events = Vec::from_iter(assignee.as_ref().and_then(Assignee::user_created));
    events.push(NewEvent::license_created(&details));
    if let Some(assignee) = assignee {
        events.push(assignee.assign(&mut change, &details).await?.1);
    }
    Ok(change.commit(Upserted::New(details), events).await?)
}

/// Returns a license of the plan. `end_of_days` is applied to an end that follows from days.
fn of_plan(
    plan: Plan,
    new: CreateLicense,
    now: Timestamp,
    end_of_days: impl FnOnce(Timestamp) -> Timestamp,
) -> LicenseDetails {
    let days = new.expires_in_days.or(plan.expires_in_days);
    let waits = plan.expires_from == Some(ExpiresFrom::FirstValidation) && new.expires_at.is_none();
    let terms = Terms { of_plan: plan.terms, starts_with_days: days.filter(|_| waits) };
    let days = days.filter(|_| !waits);
    let end_of_days = days.map(|days| end_of_days(now.plus(Duration::days(days.get().into()))));
    let license = License {
        id: LicenseId::new(now),
        product_id: plan.product_id,
        plan_id: plan.id,
        status: Status::Active,
        max_seats: plan.max_seats,
        expires_at: new.expires_at.or(end_of_days),
        features: plan.features,
        created_at: now,
        updated_at: now,
    };
    LicenseDetails { license, name: new.name, metadata: new.metadata, terms }
}

pub async fn get(view: View, id: LicenseId) -> Result<LicenseWithSeats, Error> {
    licenses::find_with_seats(&mut view.read().await?, view.scope, id).await?.ok_or(NOT_FOUND)
}

/// Filter of a list, as the caller wrote it.
#[derive(Clone, Default)]
pub struct LicenseQuery {
    pub plan: Option<PlanId>,
    pub product: Option<ProductId>,
    pub status: Option<Status>,
    /// State at a given time. An active license that has ended by then counts as expired or in grace.
    pub state: Option<(LicenseState, Timestamp)>,
    /// External id of a user to whom the licenses are assigned.
    pub user: Option<String>,
    /// With an end at or after the first time and before the second.
    pub ends: Option<(Timestamp, Timestamp)>,
    /// In force at a given time, with this share of the seats taken.
    pub seats: Option<(SeatsTaken, Timestamp)>,
    /// Whether their plans are trials.
    pub trial: Option<bool>,
    /// End of the id, or starts of words of the name or metadata.
    pub search: Option<String>,
    /// Starts of words of the name or metadata.
    pub name: Option<String>,
}

/// A filter, and the end of the id that its licenses have.
type FilterAndIdEnd = (LicenseFilter, Option<IdEnd>);

impl LicenseQuery {
    /// Returns the filters whose licenses match the query: those with the end of an id, and those
    /// with the words of a search.
    fn filters(self) -> Vec<FilterAndIdEnd> {
        // A text that is not a valid external id matches nothing.
        let Ok(user) = self.user.as_deref().map(str::parse).transpose() else { return Vec::new() };
        let filter = LicenseFilter {
            plan: self.plan,
            product: self.product,
            status: self.status,
            state: self.state,
            user,
            ends: self.ends,
            seats: self.seats,
            trial: self.trial,
            ..LicenseFilter::default()
        };
        let by_id = self.name.is_none();
        let search = self.search.or(self.name).unwrap_or_default().to_ascii_lowercase();
        let end = search.strip_prefix("lic_").unwrap_or(&search);
        if end.is_empty() {
            // Every id ends with the empty text.
            return vec![(filter, None)];
        }
        let end = IdEnd::parse(end).filter(|_| by_id).map(|end| {
            let suffixes = Some(Suffixes::ending_like(end.id, end.characters));
            (LicenseFilter { suffixes, ..filter.clone() }, Some(end))
        });
        let words = Search::parse(&search)
            .map(|search| (LicenseFilter { search: Some(search), ..filter }, None));
        end.into_iter().chain(words).collect()
    }
}

/// Returns the licenses that match the whole query.
pub async fn page(
    view: View,
    query: LicenseQuery,
    page: Page<LicenseId>,
) -> Result<Vec<LicenseWithSeats>, Error> {
    let mut all = Vec::new();
    for (filter, end) in query.filters() {
        let mut found = Collected::new(Page { limit: IdEnd::limit(end, page.limit), ..page });
        while let Some(page) = found.next {
            let mut tx = view.snapshot().await?;
            found.add(licenses::page(&mut tx, view.scope, &filter, page).await?);
        }
        all.extend(found.records.into_iter().filter(|it| IdEnd::admits(end, it.id)));
    }
    page.order.sort_by_key(&mut all, |license| license.id);
    all.dedup_by_key(|license| license.id);
    all.truncate(page.limit as usize);
    Ok(all)
}

/// Returns the licenses that match a query with a period of ends, soonest first, after the one with
/// this end and id.
pub async fn by_end(
    view: View,
    query: LicenseQuery,
    after: Option<(Timestamp, LicenseId)>,
    limit: i64,
) -> Result<Vec<LicenseWithSeats>, Error> {
    let Some((from, _)) = query.ends else { return Ok(Vec::new()) };
    // The nil id sorts before all licenses that end at the same time.
    let start = (from, LicenseId::default());
    let after = after.map_or(start, |after| after.max(start));
    let mut all = Vec::new();
    for (filter, end) in query.filters() {
        let mut found = Collected::new(Page::oldest_first(after, IdEnd::limit(end, limit)));
        while let Some(page) = found.next {
            let mut tx = view.snapshot().await?;
            found.add(licenses::by_end(&mut tx, view.scope, &filter, page).await?);
        }
        all.extend(found.records.into_iter().filter(|it| IdEnd::admits(end, it.id)));
    }
    all.sort_by_key(|license| (license.expires_at, license.id));
    all.dedup_by_key(|license| license.id);
    all.truncate(limit as usize);
    Ok(all)
}

/// Returns the sums of the licenses that match the whole query.
pub async fn totals(view: View, query: LicenseQuery) -> Result<LicenseTotals, Error> {
    if query.search.as_ref().is_none_or(String::is_empty) {
        let mut totals = LicenseTotals { complete: true, ..LicenseTotals::default() };
        for (filter, _) in query.filters() {
            totals = licenses::totals(&mut *view.snapshot().await?, view.scope, &filter).await?;
        }
        return Ok(totals);
    }
    // The two filters of a search may have licenses in common.
    let all = page(view, query, Page::newest_first(None, MAX_SEARCHED + 1)).await?;
    let complete = all.len() as i64 <= MAX_SEARCHED;
    let counted = all.iter().take(MAX_SEARCHED as usize);
    Ok(counted.fold(LicenseTotals { complete, ..LicenseTotals::default() }, |sum, license| {
        LicenseTotals {
            licenses: sum.licenses + 1,
            seats: sum.seats + license.max_seats.map_or(0, |limit| limit.get().into()),
            unlimited: sum.unlimited + i64::from(license.max_seats.is_none()),
            held: sum.held + i64::from(license.seats.used),
            complete,
        }
    }))
}

/// Returns the assignments of the license with users and seats, optionally only those claimed with
/// one key. Empty if the license does not exist.
pub async fn assignments(
    view: View,
    id: LicenseId,
    claimed_with: Option<LicenseKeyId>,
    page: Page<AssignmentId>,
) -> Result<Vec<LicenseAssignment>, Error> {
    let (mut conn, scope) = (view.read().await?, view.scope);
    let mut page = assignments::page_of_license(&mut conn, scope, id, claimed_with, page).await?;
    page.iter_mut()
        .filter_map(|it| it.activation.as_mut())
        .for_each(|it| view.last_checks.show(it));
    Ok(page)
}

/// Returns the users who hold a seat on the license, in the order of their seats. Empty if the
/// license does not exist.
pub async fn holders(
    view: View,
    id: LicenseId,
    page: Page<ActivationId>,
) -> Result<Vec<SeatHolder>, Error> {
    let mut conn = view.read().await?;
    let mut holders = assignments::holders(&mut conn, view.scope, id, page).await?;
    show_checks(id, &mut holders, &view.last_checks);
    Ok(holders)
}

/// Updates the last checks of the license's seats with those in memory.
pub(super) fn show_checks(license: LicenseId, holders: &mut [SeatHolder], checks: &LastChecks) {
    for holder in holders {
        let place = (holder.user.user_id, license);
        holder.last_checked_at = checks.latest(place, holder.activation_id, holder.last_checked_at);
    }
}

/// Returns the users who have the license but hold no seat, in the order of assignment.
pub async fn waiting(
    view: View,
    id: LicenseId,
    page: Page<AssignmentId>,
) -> Result<Vec<AssignedUser>, Error> {
    Ok(assignments::waiting(&mut view.read().await?, view.scope, id, page).await?)
}

/// Returns the number of users in [`waiting`], at most [`MAX_COUNTED`].
pub async fn count_waiting(view: View, id: LicenseId) -> Result<i64, Error> {
    let mut conn = view.read().await?;
    Ok(assignments::count_waiting(&mut conn, view.scope, id, MAX_COUNTED).await?)
}

/// Last characters of an id.
#[derive(Clone, Copy)]
struct IdEnd {
    /// Some id with this ending.
    id: LicenseId,
    characters: u32,
}

impl IdEnd {
    const LONGEST: usize = 26;

    fn parse(end: &str) -> Option<Self> {
        let characters = (1..=Self::LONGEST).contains(&end.len()).then_some(end.len() as u32)?;
        Some(Self { id: format!("lic_{end:0>26}").parse().ok()?, characters })
    }

    /// The limit of a page that may have licenses without the whole ending, of which those with it
    /// may come last. Few licenses share a suffix.
    fn limit(this: Option<Self>, limit: i64) -> i64 {
        this.filter(|end| end.characters > Suffixes::CHARACTERS).map_or(limit, |_| i64::MAX)
    }

    fn admits(this: Option<Self>, id: LicenseId) -> bool {
        this.is_none_or(|end| end.is_of(id))
    }

    fn is_of(self, id: LicenseId) -> bool {
        let others = 5 * self.characters;
        others >= u128::BITS
            || (id.uuid().as_u128() ^ self.id.uuid().as_u128()) << (u128::BITS - others) == 0
    }
}

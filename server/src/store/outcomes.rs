//! Outcomes of validations: hourly counts, and refused users. Each node adds its own, in batches.

use common::{
    Invalid, LicenseId, PlanId, ProductId, Reason, RefusalId, Timestamp, UserRefusal, hour_of,
};
use sqlx::types::Json;
use uuid::Uuid;

use super::page::{scanned, stop};
use super::{Found, Page, Scope};
use crate::db::{Conn, Result, Sql};

/// Number of validations of an hour that had one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeCount {
    pub hour: Timestamp,
    /// None for valid ones.
    pub reason: Option<Reason>,
    pub count: i64,
}

/// The value of the column for valid validations.
const VALID: &str = "valid";

/// Returns the reason of a stored outcome, which valid ones lack. An error if only a later release
/// knows it.
pub(super) fn reason_of(outcome: &str) -> std::result::Result<Option<Reason>, Invalid> {
    match outcome {
        VALID => Ok(None),
        reason => reason.parse().map(Some),
    }
}

/// Adds to the counts of the worlds. The rows are locked in their order, which must be the same on
/// every node.
pub async fn add_counts(conn: &mut Conn, counts: &[(Scope, OutcomeCount)]) -> Result<()> {
    const ADD: Sql = Sql::Each {
        sqlite: "insert into outcomes (world, hour, outcome, count)
                 select value ->> 0, value ->> 1, value ->> 2, value ->> 3
                 from json_each($1) where true order by key
                 on conflict (world, hour, outcome)
                     do update set count = outcomes.count + excluded.count",
        postgres: "insert into outcomes (world, hour, outcome, count)
                   select cast(value ->> 0 as integer),
                       timestamptz 'epoch' + cast(value ->> 1 as bigint) * interval '1 ms',
                       value ->> 2, cast(value ->> 3 as bigint)
                   from jsonb_array_elements($1) with ordinality as element (value, n) order by n
                   on conflict (world, hour, outcome)
                       do update set count = outcomes.count + excluded.count",
    };
    let row = |(scope, count): &(Scope, OutcomeCount)| {
        let outcome = count.reason.map_or(VALID, Reason::as_str);
        (scope.world.number(), count.hour.millis(), outcome, count.count)
    };
    let rows: Vec<_> = counts.iter().map(row).collect();
    conn.query(ADD).bind(Json(rows)).run().await
}

/// The counts of the hours from `from` until before `to`, oldest first. Outcomes that only a later
/// release knows are left out.
pub async fn counts(
    conn: &mut Conn,
    scope: Scope,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<OutcomeCount>> {
    let rows: Vec<(Timestamp, String, i64)> = conn
        .query(
            "select hour, outcome, count from outcomes
             where world = $1 and hour >= $2 and hour < $3 order by hour",
        )
        .bind_scope(scope)
        .bind(from)
        .bind(to)
        .fetch_all()
        .await?;
    let count = |(hour, outcome, count): (Timestamp, String, i64)| {
        Some(OutcomeCount { hour, reason: reason_of(&outcome).ok()?, count })
    };
    Ok(rows.into_iter().filter_map(count).collect())
}

/// If the user was already refused for the same reason in that hour, the counts are added up and
/// the latest license is kept.
macro_rules! add_to_known {
    () => {
        "on conflict (external_id, world, hour, reason) do update set
             count = refusals.count + excluded.count,
             license_id = case when excluded.last_at >= refusals.last_at
                 then excluded.license_id else refusals.license_id end,
             first_at = case when excluded.first_at < refusals.first_at
                 then excluded.first_at else refusals.first_at end,
             last_at = case when excluded.last_at > refusals.last_at
                 then excluded.last_at else refusals.last_at end"
    };
}

/// Adds refusals, merging them into the stored ones. The rows are locked in their order, which must
/// be the same on every node.
pub async fn add_refusals(conn: &mut Conn, refusals: &[(Scope, UserRefusal)]) -> Result<()> {
    const ADD: Sql = Sql::Each {
        sqlite: concat!(
            "insert into refusals (id, world, external_id, reason, license_id, hour, count,
                 first_at, last_at)
             select unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3,
                 unhex(value ->> 4), value ->> 5, value ->> 6, value ->> 7, value ->> 8
             from json_each($1) where true order by key ",
            add_to_known!()
        ),
        postgres: concat!(
            "insert into refusals (id, world, external_id, reason, license_id, hour, count,
                 first_at, last_at)
             select cast(value ->> 0 as uuid), cast(value ->> 1 as integer), value ->> 2,
                 value ->> 3, cast(value ->> 4 as uuid),
                 timestamptz 'epoch' + cast(value ->> 5 as bigint) * interval '1 ms',
                 cast(value ->> 6 as bigint),
                 timestamptz 'epoch' + cast(value ->> 7 as bigint) * interval '1 ms',
                 timestamptz 'epoch' + cast(value ->> 8 as bigint) * interval '1 ms'
             from jsonb_array_elements($1) with ordinality as element (value, n) order by n ",
            add_to_known!()
        ),
    };
    let row = |(scope, refusal): &(Scope, UserRefusal)| {
        let license = refusal.license_id.map(|id| id.uuid().simple());
        let [hour, first, last] =
            [refusal.hour, refusal.first_at, refusal.last_at].map(Timestamp::millis);
        let (id, user) = (refusal.id.uuid().simple(), refusal.user_id.clone());
        (
            id,
            scope.world.number(),
            user,
            refusal.reason.clone(),
            license,
            hour,
            refusal.count,
            first,
            last,
        )
    };
    let rows: Vec<_> = refusals.iter().map(row).collect();
    conn.query(ADD).bind(Json(rows)).run().await
}

/// Filter of a list of refusals. All given conditions must match.
#[derive(Clone, Default)]
pub struct RefusalFilter {
    /// The caller's own identifier of the user, who may have been deleted.
    pub user: Option<String>,
    pub reason: Option<Reason>,
    /// Last refused then or later.
    pub from: Option<Timestamp>,
    /// First refused before.
    pub to: Option<Timestamp>,
    pub product: Option<ProductId>,
    pub plan: Option<PlanId>,
    pub license: Option<LicenseId>,
}

impl RefusalFilter {
    /// Whether all refusals match, or all of a user, which have an index.
    fn is_of_user_alone(&self) -> bool {
        let Self { user: _, reason, from, to, product, plan, license } = self;
        reason.is_none()
            && (from, to) == (&None, &None)
            && (product, plan, license) == (&None, &None, &None)
    }
}

/// The refusals in the order of their ids, which does not change while counts grow.
pub async fn refusals(
    conn: &mut Conn,
    scope: Scope,
    filter: &RefusalFilter,
    page: Page<RefusalId>,
) -> Result<Found<UserRefusal, RefusalId>> {
    macro_rules! found_by {
        ($condition:literal) => {
            (
                scanned!(
                    page,
                    "id, external_id, reason, license_id, hour, count, first_at, last_at",
                    "refusals" where $condition,
                    "(cast($6 as text) is null or external_id = $6)
                         and (cast($7 as text) is null or reason = $7)
                         and (cast($8 as timestamptz) is null or last_at >= $8)
                         and (cast($9 as timestamptz) is null or first_at < $9)
                         and (cast($10 as uuid) is null or license_id = $10)
                         and (cast($11 as uuid) is null or exists (
                             select 1 from licenses l where l.id = refusals.license_id
                                 and l.world = $1 and l.product_id = $11))
                         and (cast($12 as uuid) is null or exists (
                             select 1 from licenses l where l.id = refusals.license_id
                                 and l.world = $1 and l.plan_id = $12))",
                    "id"
                ),
                stop!(page, "refusals" where $condition, "id"),
            )
        };
    }
    let (matches, stop) = match filter.user {
        Some(_) => found_by!("external_id = $6 and world = $1 and id >= $5"),
        None => found_by!("world = $1 and world > 0 and id >= $5"),
    };
    let page = if filter.is_of_user_alone() { page.without_filter() } else { page };
    // An id is made in the hour of its refusals or later.
    let oldest = filter
        .from
        .map_or(Uuid::nil(), |from| Uuid::from_u128(u128::from(hour_of(from).millis()) << 80));
    let records = conn
        .query(matches)
        .bind_scope(scope)
        .bind_scan(page)
        .bind(oldest)
        .bind(filter.user.as_ref())
        .bind(filter.reason)
        .bind(filter.from)
        .bind(filter.to)
        .bind(filter.license)
        .bind(filter.product)
        .bind(filter.plan)
        .fetch_all()
        .await?;
    let stop = conn.query(stop).bind_scope(scope).bind_stop(page).bind(oldest);
    let stop = match &filter.user {
        Some(user) => stop.bind(user),
        None => stop,
    };
    page.found(records, stop).await
}

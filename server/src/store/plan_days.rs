//! Numbers of plans by day, as counted from the licenses, and the validations by day.

use common::{Numbers, Outcomes, PlanNumbers, Timestamp};
use uuid::Uuid;

use super::Scope;
use super::outcomes::reason_of;
use super::table::insert;
use crate::db::{Conn, Result};

/// In place of a plan: all plans, and all but those of trials. Only `active` is stored for them.
pub const ALL_PLANS: Uuid = Uuid::nil();
pub const WITHOUT_TRIALS: Uuid = Uuid::max();

/// Numbers of a plan, and those of the day before that are complete only when it is over.
#[derive(sqlx::FromRow)]
pub struct CountedPlan {
    #[sqlx(flatten)]
    pub plan: PlanNumbers,
    pub started_before: i64,
    pub ended_before: i64,
}

/// Counts the licenses of each plan. `today` is the start of the day.
pub async fn count_licenses(
    conn: &mut Conn,
    scope: Scope,
    now: Timestamp,
    [yesterday, today]: [Timestamp; 2],
) -> Result<Vec<CountedPlan>> {
    conn.query(
        "select plan_id,
             count(*) filter (where in_force) as licenses,
             coalesce(sum(max_seats) filter (where in_force), 0) as seats,
             count(*) filter (where in_force and max_seats is null) as unlimited,
             coalesce(sum(seats_used) filter (where in_force and max_seats is not null), 0)
                 as held_limited,
             coalesce(sum(seats_used) filter (where in_force and max_seats is null), 0)
                 as held_unlimited,
             cast(0 as bigint) as active,
             count(*) filter (where in_force and max_seats > 1 and seats_used = max_seats)
                 as full_seats,
             count(*) filter (where in_force and seats_used > max_seats) as over_seats,
             count(*) filter (where waits) as waiting,
             coalesce(sum(max_seats) filter (where waits), 0) as waiting_seats,
             count(*) filter (where created_at >= $4) as started,
             count(*) filter (where ended_at >= $4) as ended,
             count(*) filter (where created_at >= $3 and created_at < $4) as started_before,
             count(*) filter (where ended_at >= $3 and ended_at < $4) as ended_before
         from (
             select plan_id, max_seats, seats_used, created_at,
                 status = 'active' and pending_days is not null as waits,
                 status = 'active' and pending_days is null
                     and (expires_at is null or coalesce(grace_ends_at, expires_at) > $2)
                     as in_force,
                 case when status = 'revoked' then updated_at
                     when coalesce(grace_ends_at, expires_at) <= $2
                         then coalesce(grace_ends_at, expires_at) end as ended_at
             from licenses where world = $1 and world > 0) counted
         group by plan_id order by plan_id",
    )
    .bind_scope(scope)
    .bind(now)
    .bind(yesterday)
    .bind(today)
    .fetch_all()
    .await
}

/// Counts the users with a valid validation since a time, by plan; then all of them, and those of
/// plans that are not trials.
pub async fn count_active(
    conn: &mut Conn,
    scope: Scope,
    since: Timestamp,
) -> Result<(Vec<(Uuid, i64)>, [i64; 2])> {
    macro_rules! seen {
        () => {
            " from assignments s
             join licenses l on l.id = s.license_id and l.world = s.world
             where s.world = $1 and s.world > 0
                 and coalesce(s.last_checked_at, s.last_seen_at) >= $2"
        };
    }
    let by_plan =
        concat!("select l.plan_id, count(distinct s.user_id)", seen!(), " group by l.plan_id");
    let by_plan = conn.query(by_plan).bind_scope(scope).bind(since).fetch_all().await?;
    let totals = concat!(
        "select count(distinct s.user_id), count(distinct case when (
             select p.trial from plans p where p.id = l.plan_id and p.world = $1)
             then null else s.user_id end)",
        seen!()
    );
    let (all, without_trials) =
        conn.query(totals).bind_scope(scope).bind(since).fetch_one().await?;
    Ok((by_plan, [all, without_trials]))
}

/// Deletes the rows of a day, which are written again.
pub async fn delete(conn: &mut Conn, scope: Scope, day: Timestamp) -> Result<()> {
    let delete = conn.query("delete from plan_days where world = $1 and day = $2");
    delete.bind_scope(scope).bind(day).run().await
}

/// Another node may have inserted the row.
pub async fn insert(
    conn: &mut Conn,
    scope: Scope,
    day: Timestamp,
    plan: Uuid,
    it: &Numbers,
) -> Result<()> {
    let insert = insert!(conn, scope, plan_days {
        day: day, plan_id: plan, licenses: it.licenses, seats: it.seats,
        unlimited: it.unlimited, held_limited: it.held_limited,
        held_unlimited: it.held_unlimited, active: it.active, full_seats: it.full,
        over_seats: it.over, waiting: it.waiting, waiting_seats: it.waiting_seats,
        started: it.started, ended: it.ended,
    } "on conflict (world, day, plan_id) do nothing");
    insert.run().await
}

/// Completes the row of a day that is over.
pub async fn complete(
    conn: &mut Conn,
    scope: Scope,
    day: Timestamp,
    counted: &CountedPlan,
) -> Result<()> {
    conn.query(
        "update plan_days set started = $4, ended = $5
         where world = $1 and day = $2 and plan_id = $3 and (started < $4 or ended < $5)",
    )
    .bind_scope(scope)
    .bind(day)
    .bind(counted.plan.plan_id)
    .bind(counted.started_before)
    .bind(counted.ended_before)
    .run()
    .await
}

/// Adds up the hours of a day by outcome.
pub async fn sum_outcomes(
    conn: &mut Conn,
    scope: Scope,
    day: Timestamp,
    end: Timestamp,
) -> Result<()> {
    conn.query(
        "insert into outcome_days (world, day, outcome, count)
         select world, cast($2 as timestamptz), outcome, cast(sum(count) as bigint)
         from outcomes where world = $1 and hour >= $2 and hour < $3 group by world, outcome
         on conflict (world, day, outcome) do update set count = excluded.count",
    )
    .bind_scope(scope)
    .bind(day)
    .bind(end)
    .run()
    .await
}

/// The last day with numbers before a time.
pub async fn last_day(
    conn: &mut Conn,
    scope: Scope,
    before: Timestamp,
) -> Result<Option<Timestamp>> {
    let query = conn.query("select max(day) from plan_days where world = $1 and day < $2");
    let (day,): (Option<Timestamp>,) = query.bind_scope(scope).bind(before).fetch_one().await?;
    Ok(day)
}

/// Numbers of a plan, or of all, on a day.
#[derive(sqlx::FromRow)]
pub struct PlanDay {
    pub day: Timestamp,
    pub plan_id: Uuid,
    #[sqlx(flatten)]
    pub numbers: Numbers,
}

/// The numbers of the plans on the days from `from` until before `to`, in the order of the days;
/// those of trial plans only if they are wanted.
pub async fn of_days(
    conn: &mut Conn,
    scope: Scope,
    (from, to): (Timestamp, Timestamp),
    with_trials: bool,
) -> Result<Vec<PlanDay>> {
    conn.query(
        "select day, plan_id, licenses, seats, unlimited, held_limited, held_unlimited, active,
             full_seats, over_seats, waiting, waiting_seats, started, ended
         from plan_days
         where world = $1 and day >= $2 and day < $3 and (cast($4 as boolean) or plan_id not in (
             select id from plans where world = $1 and world > 0 and trial))
         order by day, plan_id",
    )
    .bind_scope(scope)
    .bind(from)
    .bind(to)
    .bind(with_trials)
    .fetch_all()
    .await
}

/// The validations of the days from `from` until before `to`.
pub async fn outcomes(
    conn: &mut Conn,
    scope: Scope,
    (from, to): (Timestamp, Timestamp),
) -> Result<Outcomes> {
    let rows: Vec<(String, i64)> = conn
        .query(
            "select outcome, cast(sum(count) as bigint) from outcome_days
             where world = $1 and day >= $2 and day < $3 group by outcome",
        )
        .bind_scope(scope)
        .bind(from)
        .bind(to)
        .fetch_all()
        .await?;
    let mut outcomes = Outcomes::default();
    for (outcome, count) in rows {
        // Outcomes that only a later release knows are left out.
        if let Ok(reason) = reason_of(&outcome) {
            outcomes.add(reason, count);
        }
    }
    Ok(outcomes)
}

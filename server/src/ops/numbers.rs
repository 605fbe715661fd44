//! Numbers of plans by day: a background task counts them, and others read them.

use std::collections::{BTreeMap, HashMap};

use chrono::{Datelike, Months, NaiveDate, TimeDelta};
use common::{
    MonthNumbers, MonthStatistics, Name, Numbers, PlanId, PlanNumbers, PlanStatistics, Timestamp,
};
use uuid::Uuid;

use super::view::View;
use crate::db::{self, Db};
use crate::error::Error;
use crate::store::plan_days::{self, ALL_PLANS, PlanDay, WITHOUT_TRIALS};
use crate::store::{self, Scope, retention, worlds};

/// Time without a valid validation after which a user is no longer active.
const ACTIVE: TimeDelta = TimeDelta::days(30);
/// Retention of validations by day, and of numbers of plans.
const OUTCOMES_KEPT: TimeDelta = TimeDelta::days(400);
const NUMBERS_KEPT: TimeDelta = TimeDelta::days(3653);
const DAY: TimeDelta = TimeDelta::days(1);
/// Maximum number of months of a period.
const MAX_MONTHS: u32 = 120;

/// Counts today's numbers in all worlds, and completes those of yesterday.
pub async fn count(db: &Db, now: Timestamp) -> db::Result<()> {
    let scopes = worlds::all(&mut db.read().await?).await?;
    for scope in scopes {
        count_world(db, scope, now).await?;
    }
    Ok(())
}

/// Reads first, since counting may take a second and a transaction holds SQLite's only writer.
async fn count_world(db: &Db, scope: Scope, now: Timestamp) -> db::Result<()> {
    let tomorrow = now.end_of_day();
    let (today, yesterday) = (tomorrow.plus(-DAY), tomorrow.plus(-DAY * 2));
    let mut conn = db.read().await?;
    let counted = plan_days::count_licenses(&mut conn, scope, now, [yesterday, today]).await?;
    if counted.is_empty() {
        return Ok(());
    }
    let (active, totals) = plan_days::count_active(&mut conn, scope, now.plus(-ACTIVE)).await?;
    drop(conn);
    let active: HashMap<Uuid, i64> = active.into_iter().collect();
    let mut tx = db.begin().await?;
    plan_days::delete(&mut tx, scope, today).await?;
    for (total, active) in [(ALL_PLANS, totals[0]), (WITHOUT_TRIALS, totals[1])] {
        let numbers = Numbers { active, ..Numbers::default() };
        plan_days::insert(&mut tx, scope, today, total, &numbers).await?;
    }
    for counted in &counted {
        let plan = counted.plan.plan_id.uuid();
        let mut numbers = counted.plan.numbers;
        numbers.active = active.get(&plan).copied().unwrap_or_default();
        plan_days::insert(&mut tx, scope, today, plan, &numbers).await?;
        plan_days::complete(&mut tx, scope, yesterday, counted).await?;
    }
    plan_days::sum_outcomes(&mut tx, scope, yesterday, today).await?;
    plan_days::sum_outcomes(&mut tx, scope, today, tomorrow).await?;
    tx.commit().await
}

/// Deletes the numbers of days before their retention.
pub async fn forget_old(db: &Db, now: Timestamp) -> db::Result<()> {
    retention::delete_old(db, retention::OUTCOME_DAYS, now.plus(-OUTCOMES_KEPT)).await?;
    retention::delete_old(db, retention::PLAN_DAYS, now.plus(-NUMBERS_KEPT)).await
}

/// Returns the names of the plans.
pub async fn names(view: View, of: &PlanStatistics) -> Result<HashMap<PlanId, Name>, Error> {
    let ids = of.plans.iter().map(|plan| plan.plan_id);
    Ok(store::plans::names(&mut view.read().await?, view.scope, ids).await?)
}

/// Returns the numbers by plan, as last counted up to a day.
pub async fn plans(view: View, at: NaiveDate, with_trials: bool) -> Result<PlanStatistics, Error> {
    let (mut conn, scope) = (view.read().await?, view.scope);
    let at = at.clamp(Timestamp::FIRST.date(), Timestamp::LAST.date());
    let end = Timestamp::start_of(at).plus(DAY);
    let Some(day) = plan_days::last_day(&mut conn, scope, end).await? else {
        return Ok(PlanStatistics::default());
    };
    let rows = plan_days::of_days(&mut conn, scope, (day, day.plus(DAY)), with_trials).await?;
    let mut found = PlanStatistics { day: Some(day.date()), ..PlanStatistics::default() };
    for row in &rows {
        match row.plan_id {
            ALL_PLANS | WITHOUT_TRIALS => {}
            plan => {
                found.total.add(&row.numbers);
                found.plans.push(PlanNumbers { plan_id: plan.into(), numbers: row.numbers });
            }
        }
    }
    found.total.active = total_active(&rows, with_trials);
    Ok(found)
}

/// The users of all plans, each counted once.
fn total_active(rows: &[PlanDay], with_trials: bool) -> i64 {
    let total = if with_trials { ALL_PLANS } else { WITHOUT_TRIALS };
    rows.iter().find(|row| row.plan_id == total).map_or(0, |row| row.numbers.active)
}

/// Returns the numbers by month, from the month of one day to that of another.
pub async fn months(
    view: View,
    (from, to): (NaiveDate, NaiveDate),
    with_trials: bool,
) -> Result<MonthStatistics, Error> {
    if from > to {
        return Err(Error::invalid("from", "from must not be after to"));
    }
    if from.checked_add_months(Months::new(MAX_MONTHS)).is_none_or(|most| most <= to) {
        return Err(Error::invalid("from", "from must be at most 119 months before to"));
    }
    let (mut conn, scope) = (view.read().await?, view.scope);
    let mut months = Vec::new();
    let mut first = from.with_day(1).unwrap_or(from);
    while first <= to {
        let Some(next) = first.checked_add_months(Months::new(1)) else { break };
        let period = (Timestamp::start_of(first), Timestamp::start_of(next));
        let rows = plan_days::of_days(&mut conn, scope, period, with_trials).await?;
        let mut by_day = BTreeMap::<Timestamp, Vec<PlanDay>>::new();
        let (mut started, mut ended) = (0, 0);
        for row in rows {
            started += row.numbers.started;
            ended += row.numbers.ended;
            by_day.entry(row.day).or_default().push(row);
        }
        if let Some((_, last)) = by_day.last_key_value() {
            let mut numbers = Numbers::default();
            last.iter().for_each(|row| numbers.add(&row.numbers));
            let active = total_active(last, with_trials);
            let numbers = Numbers { active, started, ended, ..numbers };
            let validations = plan_days::outcomes(&mut conn, scope, period).await?;
            let month = first.format("%Y-%m").to_string();
            months.push(MonthNumbers { month, numbers, validations });
        }
        first = next;
    }
    Ok(MonthStatistics { months })
}

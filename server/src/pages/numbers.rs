//! Numbers for managers: licenses in force, seats sold and active users, by plan and by month.

use std::collections::HashMap;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{Months, NaiveDate};
use common::{MonthNumbers, Name, Numbers, PlanId, PlanStatistics, Timestamp};
use serde::Deserialize;

use super::{Layout, Viewer, filters, page};
use crate::error::Error;
use crate::http::extract::Query;
use crate::ops::numbers;

/// Number of months in the table.
const MONTHS: u32 = 12;
/// Names and numbers of months back from today of the links.
const TIMES: [(&str, u32); 3] = [("Today", 0), ("A month ago", 1), ("A year ago", 12)];

#[derive(Template)]
#[template(path = "numbers.html")]
struct NumbersPage {
    layout: Layout,
    at: NaiveDate,
    with_trials: bool,
    statistics: PlanStatistics,
    /// Of a month before.
    before: PlanStatistics,
    names: HashMap<PlanId, Name>,
    months: Vec<MonthNumbers>,
}

/// The query of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct NumbersQuery {
    at: String,
    trial: String,
}

impl NumbersPage {
    /// Links to other days, and whether each is the one shown.
    fn times(&self) -> Vec<(&'static str, NaiveDate, bool)> {
        let day = |(name, months)| {
            let day = Timestamp::now().date().checked_sub_months(Months::new(months))?;
            Some((name, day, day == self.at))
        };
        TIMES.into_iter().filter_map(day).collect()
    }

    /// The numbers at the top, with those of a month before.
    fn tiles(&self) -> [(&'static str, i64, i64); 4] {
        let (now, before) = (&self.statistics.total, &self.before.total);
        let tile = |name, of: fn(&Numbers) -> i64| (name, of(now), of(now) - of(before));
        [
            tile("Licenses in force", |it| it.licenses),
            tile("Seats sold", |it| it.seats),
            tile("Seats held", Numbers::held),
            tile("Active users, 30 days", |it| it.active),
        ]
    }

    /// The address of the plan's licenses.
    fn list(&self, plan: &PlanId) -> String {
        format!("{}/licenses?plan={plan}", self.layout.base())
    }

    fn name(&self, plan: &PlanId) -> String {
        self.names.get(plan).map_or_else(|| plan.to_string(), Name::to_string)
    }
}

/// The share of the sold seats that users hold.
fn used(numbers: &Numbers) -> String {
    share(numbers.held_limited, numbers.seats)
}

/// A percentage, with one decimal below ten.
fn share(part: i64, whole: i64) -> String {
    match (part * 1000).checked_div(whole) {
        None => "–".to_owned(),
        Some(thousandths @ ..100) => format!("{}.{} %", thousandths / 10, thousandths % 10),
        Some(thousandths) => format!("{} %", thousandths / 10),
    }
}

pub async fn show(
    Viewer(visitor): Viewer,
    Query(query): Query<NumbersQuery>,
) -> Result<Response, Error> {
    let (view, today) = (visitor.view(), Timestamp::now().date());
    // A day that is not one is like none: the page shows the day that it took.
    let at = query.at.parse().unwrap_or(today).clamp(Timestamp::FIRST.date(), today);
    let with_trials = query.trial != "false";
    let months_before = |months| at.checked_sub_months(Months::new(months)).unwrap_or(at);
    let statistics = numbers::plans(view.clone(), at, with_trials).await?;
    let before = numbers::plans(view.clone(), months_before(1), with_trials).await?;
    let period = (months_before(MONTHS - 1), at);
    let mut months = numbers::months(view.clone(), period, with_trials).await?.months;
    months.reverse();
    let names = numbers::names(view, &statistics).await?;
    let layout = visitor.layout;
    let shown = NumbersPage { layout, at, with_trials, statistics, before, names, months };
    page(StatusCode::OK, &shown)
}

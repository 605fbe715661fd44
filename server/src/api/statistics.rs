//! The number of validations by outcome.

use chrono::{Months, NaiveDate};
use common::{MonthStatistics, PlanStatistics, Statistics, Timestamp, month_of};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::answer::Data;
use crate::http::credentials::Reader;
use crate::http::extract::Query;
use crate::ops::{numbers, outcomes};

/// The query of the statistics.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// A time in the first hour, in RFC 3339; if absent, the result covers 24 hours. At most 31 days
    /// before `to`.
    #[schemars(example = "2027-01-31T00:00:00.000Z")]
    from: Option<Timestamp>,
    /// The end of the last hour, or a time in it, in RFC 3339; now if absent.
    to: Option<Timestamp>,
}

/// The query of the numbers by plan.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct PlansAt {
    /// The day in UTC; today if absent.
    at: Option<NaiveDate>,
    /// `false` leaves out plans of trials.
    trial: Option<bool>,
}

pub async fn plans(
    Reader(view): Reader,
    Query(query): Query<PlansAt>,
) -> Result<Data<PlanStatistics>, Error> {
    let at = query.at.unwrap_or_else(|| Timestamp::now().date());
    numbers::plans(view, at, query.trial != Some(false)).await.map(Data)
}

/// The query of the numbers by month.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct MonthsBetween {
    /// The first month, such as `2027-01`; if absent, the result covers 12 months. At most 120
    /// months.
    #[schemars(regex(pattern = "^[0-9]{4}-(0[1-9]|1[0-2])$"))]
    from: Option<String>,
    /// The last month; the present one if absent.
    #[schemars(regex(pattern = "^[0-9]{4}-(0[1-9]|1[0-2])$"))]
    to: Option<String>,
    /// `false` leaves out plans of trials.
    trial: Option<bool>,
}

pub async fn months(
    Reader(view): Reader,
    Query(query): Query<MonthsBetween>,
) -> Result<Data<MonthStatistics>, Error> {
    let first = |field: &str, text: Option<String>| {
        let rule = || Error::invalid(field, format!("{field} must be a month, such as 2027-01"));
        text.map(|text| month_of(&text).map(|(first, _)| first).ok_or_else(rule)).transpose()
    };
    let to = first("to", query.to)?.unwrap_or_else(|| Timestamp::now().date());
    let year_before = to.checked_sub_months(Months::new(11)).unwrap_or(to);
    let from = first("from", query.from)?.unwrap_or(year_before);
    numbers::months(view, (from, to), query.trial != Some(false)).await.map(Data)
}

pub async fn get(
    Reader(view): Reader,
    Query(period): Query<Period>,
) -> Result<Data<Statistics>, Error> {
    outcomes::statistics(view, period.from, period.to).await.map(Data)
}

//! Numbers of a business: licenses in force, seats sold and active users, by plan and by month. licd
//! counts them for each day in UTC.

use std::ops::Deref;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{Outcomes, PlanId};

/// Numbers of a plan, or of several. A license is in force if its status is active and neither its
/// end nor, with days of grace, their end has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Numbers {
    /// Number of licenses in force that have begun.
    pub licenses: i64,
    /// Sum of their limits of seats.
    pub seats: i64,
    /// Number of those without a limit.
    pub unlimited: i64,
    /// Seats that users hold on those with a limit.
    pub held_limited: i64,
    /// Seats that users hold on those without a limit.
    pub held_unlimited: i64,
    /// Number of users with a valid validation in the last 30 days and a current assignment. A user
    /// of several plans counts once in a total.
    pub active: i64,
    /// Number of licenses in force with a limit above 1 whose seats are all taken, and no more.
    #[cfg_attr(feature = "server", sqlx(rename = "full_seats"))]
    pub full: i64,
    /// Number of licenses in force with more seats taken than their limit.
    #[cfg_attr(feature = "server", sqlx(rename = "over_seats"))]
    pub over: i64,
    /// Number of active licenses that wait for their first validation.
    pub waiting: i64,
    /// Sum of the limits of those.
    pub waiting_seats: i64,
    /// Number of licenses made that day or month.
    pub started: i64,
    /// Number of licenses that were revoked or whose end or grace passed that day or month.
    pub ended: i64,
}

impl Numbers {
    /// Adds those of another plan.
    pub fn add(&mut self, other: &Self) {
        self.licenses += other.licenses;
        self.seats += other.seats;
        self.unlimited += other.unlimited;
        self.held_limited += other.held_limited;
        self.held_unlimited += other.held_unlimited;
        self.active += other.active;
        self.full += other.full;
        self.over += other.over;
        self.waiting += other.waiting;
        self.waiting_seats += other.waiting_seats;
        self.started += other.started;
        self.ended += other.ended;
    }

    /// Seats that users hold.
    pub fn held(&self) -> i64 {
        self.held_limited + self.held_unlimited
    }
}

/// Numbers of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct PlanNumbers {
    pub plan_id: PlanId,
    #[serde(flatten)]
    #[cfg_attr(feature = "server", sqlx(flatten))]
    pub numbers: Numbers,
}

impl Deref for PlanNumbers {
    type Target = Numbers;

    fn deref(&self) -> &Numbers {
        &self.numbers
    }
}

/// Numbers by plan, as last counted on a day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct PlanStatistics {
    /// The last counted day, up to the requested one. Null if none was counted.
    pub day: Option<NaiveDate>,
    pub total: Numbers,
    /// Plans with licenses that day.
    pub plans: Vec<PlanNumbers>,
}

/// Numbers at the end of a month, and the validations in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct MonthNumbers {
    /// Such as `2027-01`.
    pub month: String,
    #[serde(flatten)]
    pub numbers: Numbers,
    pub validations: Outcomes,
}

/// Numbers by month.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct MonthStatistics {
    /// The months that were counted, oldest first.
    pub months: Vec<MonthNumbers>,
}

string_enum! {
    /// Share of a license's seats that users hold.
    SeatsTaken, inline {
        /// All of them, or more.
        Full = "full",
        /// More than the limit allows, because it was lowered.
        Over = "over",
    }
}

/// The sums of the licenses that match the filters of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct LicenseTotals {
    /// Number of licenses, up to 10,000.
    pub licenses: i64,
    /// Sum of their limits of seats.
    pub seats: i64,
    /// Number of the licenses without a limit.
    pub unlimited: i64,
    /// Number of seats that users hold, on licenses with and without a limit.
    pub held: i64,
    /// Whether all matching licenses were counted. Otherwise there are more.
    pub complete: bool,
}

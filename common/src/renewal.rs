//! Renewals of licenses, which the server computes, so that the API, licctl and the dashboard agree.

use std::fmt;
use std::str::FromStr;

use chrono::Duration;
use serde::{Deserialize, Serialize, Serializer};

use crate::inline_schema::inline_schema;
use crate::string_enum::string_enum;
use crate::text::{Invalid, read_as_text};
use crate::{ExpiresInDays, Timestamp};

string_enum! {
    /// Start of a renewal's term.
    RenewFrom, inline {
        /// The end of the license, even if it has passed.
        End = "end",
        Today = "today",
    }
}

/// The body of `POST /api/v1/admin/licenses/{id}/renew`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RenewLicense {
    /// Start of the term. If absent, it is the end of the license if that lies ahead or the license
    /// is in grace, and the time of the request otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<RenewFrom>,
    /// Length of the term. If absent, it is the plan's, of which a multiple of 365 days counts
    /// calendar years.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub term: Option<RenewalTerm>,
}

/// Length of a renewal: days, or months of the calendar, as in `30d`, `6mo` and `1y`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RenewalTerm {
    Days(ExpiresInDays),
    /// From 1 to 1200.
    Months(u32),
}

const WHAT: &str = "a term up to 100y, such as 30d, 6mo or 1y";

impl RenewalTerm {
    /// Returns the end of a term that begins then. `None` if the calendar has no such day.
    pub fn after(self, start: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Days(days) => Some(start.plus(Duration::days(days.get().into()))),
            Self::Months(months) => start.plus_months(months),
        }
        .filter(|end| end.is_valid())
    }
}

impl FromStr for RenewalTerm {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let count = |unit| text.strip_suffix(unit)?.parse::<u32>().ok();
        let months = |unit, months: u32| {
            count(unit)?.checked_mul(months).filter(|months| (1..=1200).contains(months))
        };
        let days =
            |unit, days: i64| ExpiresInDays::new(i64::from(count(unit)?).checked_mul(days)?).ok();
        let months = months("mo", 1).or_else(|| months("y", 12)).map(Self::Months);
        months
            .or_else(|| days("d", 1).or_else(|| days("w", 7)).map(Self::Days))
            .ok_or(Invalid(WHAT))
    }
}

impl fmt::Display for RenewalTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Days(days) => write!(f, "{days}d"),
            Self::Months(months) if months % 12 == 0 => write!(f, "{}y", months / 12),
            Self::Months(months) => write!(f, "{months}mo"),
        }
    }
}

impl Serialize for RenewalTerm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

read_as_text!(RenewalTerm, WHAT);

inline_schema!(RenewalTerm, {
    "description": "Days, weeks, or months and years of the calendar, up to 100 years.",
    "type": "string",
    "pattern": "^[0-9]+(d|w|mo|y)$",
    "examples": ["1y", "6mo", "30d"],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_days_or_months_of_the_calendar() {
        for (text, written) in
            [("1mo", "1mo"), ("12mo", "1y"), ("100y", "100y"), ("30d", "30d"), ("2w", "14d")]
        {
            assert_eq!(text.parse::<RenewalTerm>().unwrap().to_string(), written);
        }
        for text in ["", "30", "0mo", "0y", "101y", "1m", "12h", "-1y", "1.5y", "y", "4294967295y"]
        {
            assert!(text.parse::<RenewalTerm>().is_err(), "{text}");
        }
    }
}

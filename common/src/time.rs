//! Moments: UTC, whole milliseconds, written as RFC 3339 with `Z`.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, Duration, SecondsFormat, SubsecRound, Utc};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::Invalid;

/// A moment between the years 1970 and 9999, cut to the millisecond when it is made: what is
/// stored, compared and shown is then the same on every database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "server", derive(sqlx::Type), sqlx(transparent))]
pub struct Timestamp(DateTime<Utc>);

const WHAT: &str = "a time as in 2027-01-31T12:00:00Z";

impl Timestamp {
    /// Reads the clock. Once for each request: its steps then agree on the time.
    pub fn now() -> Self {
        Self(Utc::now().trunc_subsecs(3))
    }

    /// Milliseconds since 1970.
    pub fn millis(self) -> u64 {
        self.0.timestamp_millis().unsigned_abs()
    }

    pub fn plus(self, span: Duration) -> Self {
        Self(self.0 + span)
    }

    pub fn since(self, earlier: Self) -> Duration {
        self.0 - earlier.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| Invalid(WHAT))?;
        // By way of the number, as a leap second would survive being cut.
        DateTime::from_timestamp_millis(time.timestamp_millis())
            .filter(|time| (1970..=9999).contains(&time.year()))
            .map(Self)
            .ok_or(Invalid(WHAT))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Expected;
        impl Visitor<'_> for Expected {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(WHAT)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Expected)
    }
}

#[cfg(feature = "server")]
impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "RFC 3339 in UTC with milliseconds.",
            "type": "string",
            "format": "date-time",
            "examples": ["2027-01-31T12:00:00.000Z"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_moment_becomes_one() {
        for text in [
            "2027-01-31T12:00:00Z",
            "2027-01-31T12:00:00.0009Z",
            "2027-01-31T13:00:00+01:00",
            "2027-01-31t12:00:00z",
            "2027-01-31T11:59:60Z",
        ] {
            let time: Timestamp = text.parse().unwrap();
            assert_eq!(time.to_string(), "2027-01-31T12:00:00.000Z", "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_moment() {
        for text in ["", "tomorrow", "2027-01-31", "2027-02-30T00:00:00Z", "1969-12-31T23:59:59Z"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}

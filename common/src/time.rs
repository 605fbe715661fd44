//! Timestamps in UTC with milliseconds, written as RFC 3339 with `Z`.

use std::fmt;
use std::str::FromStr;

use chrono::{
    DateTime, Datelike, Duration, Months, NaiveDate, NaiveTime, SecondsFormat, SubsecRound, Utc,
};
use serde::{Serialize, Serializer};

use crate::ExpiresInDays;
use crate::inline_schema::inline_schema;
use crate::text::{Invalid, read_as_text};

/// A time between the years 1970 and 9999, truncated to the millisecond when it is created, so that
/// both databases store, compare and show the same value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(DateTime<Utc>);

const WHAT: &str = "a time from 1970 to 9999 as in 2027-01-31T12:00:00Z";

impl Timestamp {
    pub const FIRST: Self = Self(DateTime::UNIX_EPOCH);
    /// The first time after the year 9999.
    pub const LAST: Self = Self(match DateTime::from_timestamp_secs(253_402_300_800) {
        Some(time) => time,
        None => DateTime::UNIX_EPOCH,
    });

    /// Reads the clock. Each request calls this once, so that all of its steps use one time.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now() -> Self {
        Self(Utc::now().trunc_subsecs(3))
    }

    /// Returns milliseconds since 1970, or 0 for an earlier time, which a calculation may return.
    pub fn millis(self) -> u64 {
        u64::try_from(self.0.timestamp_millis()).unwrap_or_default()
    }

    /// Returns the time this many milliseconds after the start of 1970, if a calendar contains it.
    pub fn from_millis(millis: i64) -> Option<Self> {
        DateTime::from_timestamp_millis(millis).map(Self)
    }

    /// Whether the year is valid. A calculation may return an invalid year.
    pub fn is_valid(self) -> bool {
        (1970..=9999).contains(&self.0.year())
    }

    /// Returns the day in UTC as people write it, such as `31 January 2027`.
    pub fn day(self) -> String {
        self.0.format("%-d %B %Y").to_string()
    }

    /// Returns the last valid day in UTC of a record that ends at this time. `None` if it ends
    /// within a day.
    pub fn last_day(self) -> Option<NaiveDate> {
        (self.0.time() == NaiveTime::MIN).then(|| self.0.date_naive().pred_opt()).flatten()
    }

    /// Returns the day in UTC.
    pub fn date(self) -> NaiveDate {
        self.0.date_naive()
    }

    /// Returns the start of a day in UTC.
    pub fn start_of(day: NaiveDate) -> Self {
        Self(day.and_time(NaiveTime::MIN).and_utc())
    }

    /// Returns the first and the last end, exclusive, of records whose last valid day in UTC is one
    /// of these. A record that ends at midnight was last valid the day before.
    pub fn ends_on(first: NaiveDate, last: NaiveDate) -> (Self, Self) {
        let millisecond = Duration::milliseconds(1);
        let first = if first < Self::FIRST.date() {
            Self::FIRST
        } else {
            Self::start_of(first).plus(millisecond)
        };
        let last =
            if last >= Self::LAST.date() { Self::LAST } else { Self::start_of(last).end_of_day() };
        (first, last.plus(millisecond))
    }

    /// Returns the next midnight in UTC.
    pub fn end_of_day(self) -> Self {
        Self(self.0.with_time(NaiveTime::MIN).single().unwrap_or(self.0) + Duration::days(1))
    }

    /// Returns the time this many calendar months later: on the same day, or on the last day of a
    /// shorter month. For a time at midnight, the last valid day is moved. `None` after the last
    /// year of the calendar.
    pub fn plus_months(self, months: u32) -> Option<Self> {
        let months = Months::new(months);
        match self.last_day() {
            Some(day) => {
                let day = day.checked_add_months(months)?.and_time(NaiveTime::MIN).and_utc();
                Some(Self(day).end_of_day())
            }
            None => self.0.checked_add_months(months).map(Self),
        }
    }

    /// Returns the end of the next term of this many days. A multiple of 365 days counts as
    /// calendar years, so that a yearly license keeps its last day in leap years. `None` after the
    /// last year of the calendar.
    pub fn plus_term(self, days: ExpiresInDays) -> Option<Self> {
        let days = days.get();
        match u32::try_from(days / 365) {
            Ok(years) if days % 365 == 0 => self.plus_months(12 * years),
            _ => Some(self.plus(Duration::days(days.into()))),
        }
        .filter(|end| end.is_valid())
    }

    pub fn plus(self, span: Duration) -> Self {
        Self(self.0 + span)
    }

    /// Returns this time, or the millisecond after `before` if that is later. States of a record are
    /// distinguished by it.
    pub fn after(self, before: Self) -> Self {
        self.max(before.plus(Duration::milliseconds(1)))
    }

    pub fn since(self, earlier: Self) -> Duration {
        self.0 - earlier.0
    }
}

/// Parses a day such as `2027-01-31`, of a year with four digits.
pub fn day_of(text: &str) -> Option<NaiveDate> {
    text.parse().ok().filter(|_| text.len() == "2027-01-31".len())
}

/// Returns the first and the last day of a month such as `2027-01`.
pub fn month_of(text: &str) -> Option<(NaiveDate, NaiveDate)> {
    let first = day_of(&format!("{text}-01"))?;
    Some((first, first.checked_add_months(Months::new(1))?.pred_opt()?))
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
        // Generated Python clients write offsets in queries without a colon.
        let time = DateTime::parse_from_rfc3339(text)
            .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z"))
            .map_err(|_| Invalid(WHAT))?;
        // Converted through the number, because truncation would keep a leap second.
        Self::from_millis(time.timestamp_millis())
            .filter(|time| time.is_valid())
            .ok_or(Invalid(WHAT))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

read_as_text!(Timestamp, WHAT);

/// Storage of times: `timestamptz` on PostgreSQL, and milliseconds since 1970 on SQLite, which has
/// no type for times.
#[cfg(feature = "server")]
mod stored {
    use sqlx::encode::IsNull;
    use sqlx::error::BoxDynError;
    use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo, PgValueRef};
    use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
    use sqlx::{Decode, Encode, Postgres, Sqlite, Type};

    use super::{DateTime, SubsecRound, Timestamp, Utc};

    impl Type<Postgres> for Timestamp {
        fn type_info() -> PgTypeInfo {
            <DateTime<Utc> as Type<Postgres>>::type_info()
        }
    }

    impl Encode<'_, Postgres> for Timestamp {
        fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
            Encode::<Postgres>::encode_by_ref(&self.0, buffer)
        }
    }

    impl<'r> Decode<'r, Postgres> for Timestamp {
        fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
            let time: DateTime<Utc> = Decode::<Postgres>::decode(value)?;
            Ok(Self(time.trunc_subsecs(3)))
        }
    }

    impl Type<Sqlite> for Timestamp {
        fn type_info() -> SqliteTypeInfo {
            <i64 as Type<Sqlite>>::type_info()
        }

        fn compatible(column: &SqliteTypeInfo) -> bool {
            <i64 as Type<Sqlite>>::compatible(column)
        }
    }

    impl Encode<'_, Sqlite> for Timestamp {
        fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
            Encode::<Sqlite>::encode_by_ref(&self.0.timestamp_millis(), buffer)
        }
    }

    impl<'r> Decode<'r, Sqlite> for Timestamp {
        fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
            let millis: i64 = Decode::<Sqlite>::decode(value)?;
            Self::from_millis(millis).ok_or_else(|| format!("{millis} is no time").into())
        }
    }
}

inline_schema!(Timestamp, {
    "description": "RFC 3339 in UTC with milliseconds, from the year 1970 to 9999.",
    "type": "string",
    "format": "date-time",
    "examples": ["2027-01-31T12:00:00.000Z"],
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn months_are_those_of_the_calendar() {
        for (from, months, to) in [
            ("2027-01-31T12:00:00Z", 1, "2027-02-28T12:00:00.000Z"),
            ("2028-01-31T12:00:00Z", 1, "2028-02-29T12:00:00.000Z"),
            ("2028-02-29T12:00:00Z", 12, "2029-02-28T12:00:00.000Z"),
            // Through 30 January, and then through 28 February.
            ("2027-01-31T00:00:00Z", 1, "2027-03-01T00:00:00.000Z"),
            // Through 31 January, 31 December.
            ("2027-02-01T00:00:00Z", 6, "2027-08-01T00:00:00.000Z"),
            ("2027-01-01T00:00:00Z", 12, "2028-01-01T00:00:00.000Z"),
        ] {
            let later = from.parse::<Timestamp>().unwrap().plus_months(months).unwrap();
            assert_eq!(later.to_string(), to, "{from} and {months} months");
        }
        assert_eq!(
            "9999-01-31T12:00:00Z".parse::<Timestamp>().unwrap().plus_months(u32::MAX),
            None
        );
    }

    #[test]
    fn refuses_what_is_no_moment() {
        for text in ["", "tomorrow", "2027-01-31", "2027-02-30T00:00:00Z", "1969-12-31T23:59:59Z"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    /// Last millisecond of the year 9999.
    const END: i64 = 253_402_300_799_999;

    proptest! {
        #[test]
        fn reads_what_it_writes(millis in 0..=END) {
            let time = Timestamp::from_millis(millis).unwrap();
            prop_assert_eq!(time.to_string().parse(), Ok(time));
            prop_assert_eq!(time.millis(), millis as u64);
        }

        #[test]
        fn reads_every_offset(millis in 0..=END / 2, minutes in -1439..1440i32) {
            let time = Timestamp::from_millis(millis).unwrap();
            let offset = chrono::FixedOffset::east_opt(minutes * 60).unwrap();
            let elsewhere = time.0.with_timezone(&offset);
            // In years of four digits, as RFC 3339 has them.
            prop_assume!(elsewhere.year() >= 1000);
            prop_assert_eq!(elsewhere.to_rfc3339().parse(), Ok(time));
        }

        #[test]
        fn takes_no_time_that_it_cannot_write(text in "\\PC*|[0-9TtZz:.+-]{10,32}") {
            if let Ok(time) = text.parse::<Timestamp>() {
                prop_assert_eq!(time.to_string().parse(), Ok(time));
            }
        }
    }
}

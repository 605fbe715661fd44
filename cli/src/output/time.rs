//! Times and spans: parsed from flags, and shown relative to now.

use std::str::FromStr;
use std::time::Duration;

use chrono::{NaiveDate, TimeDelta};
use common::{ExpiresInDays, GraceDays, MaxLeaseSeconds, SeatIdleMinutes, Timestamp, TtlSeconds};

/// A span as in `100ms`, `30s`, `15m`, `12h`, `90d`, `2w` or `1y`, which is 365 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub struct Span(Duration);

impl Span {
    pub fn std(self) -> Duration {
        self.0
    }

    pub fn delta(self) -> TimeDelta {
        TimeDelta::from_std(self.0).unwrap_or(TimeDelta::MAX)
    }

    /// Parses a span. A bare number is in seconds, as is usual for timeouts.
    pub fn seconds(text: &str) -> Result<Self, &'static str> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return format!("{text}s").parse();
        }
        text.parse()
    }
}

impl FromStr for Span {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const SPAN_SYNTAX: &str = "must be a duration such as 30s, 15m, 12h, 90d, 2w or 1y";
        let split = text.find(|letter: char| !letter.is_ascii_digit()).ok_or(SPAN_SYNTAX)?;
        let (number, unit) = text.split_at(split);
        let millis = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60 * 1000,
            "h" => 60 * 60 * 1000,
            "d" => 24 * 60 * 60 * 1000,
            "w" => 7 * 24 * 60 * 60 * 1000,
            "y" => 365 * 24 * 60 * 60 * 1000,
            _ => return Err(SPAN_SYNTAX),
        };
        let number: u32 = number.parse().map_err(|_| SPAN_SYNTAX)?;
        let millis = u64::from(number).saturating_mul(millis);
        if millis == 0 || millis > 36_500 * 24 * 60 * 60 * 1000 {
            return Err("must be from 1ms to 36500d");
        }
        Ok(Self(Duration::from_millis(millis)))
    }
}

/// Parses a time such as `2027-01-31T12:00:00Z`. A date means the start of that day in UTC.
fn moment(text: &str) -> Result<Timestamp, &'static str> {
    let begins = text.parse::<NaiveDate>().is_ok().then(|| format!("{text}T00:00:00Z"));
    begins
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map_err(|_| "must be a time such as 2027-01-31T12:00:00Z, or a date such as 2027-01-31")
}

/// Expiry: a time such as `2027-01-31T12:00:00Z`, or a date, which is the last valid day and ends
/// at the next midnight in UTC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expiry(Timestamp);

impl Expiry {
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl FromStr for Expiry {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let days = i64::from(text.parse::<NaiveDate>().is_ok());
        let end = moment(text)?.plus(TimeDelta::days(days));
        end.is_valid().then_some(Self(end)).ok_or("must be before 9999-12-31")
    }
}

/// The beginning or end of a stretch of the past: a moment, or a span before now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PastTime {
    Ago(Span),
    At(Timestamp),
}

impl PastTime {
    pub fn timestamp(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(span) => now.plus(-span.delta()),
            Self::At(time) => time,
        }
    }
}

impl FromStr for PastTime {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time = text.parse().map(Self::Ago).or_else(|_| moment(text).map(Self::At));
        time.map_err(|_| {
            "must be a duration such as 1h or 7d, a date such as 2027-01-31, \
             or a time such as 2027-01-31T12:00:00Z"
        })
    }
}

/// Parses a whole number of a unit. A bare number is accepted if the unit `is_plain`.
fn whole<T: FromStr>(text: &str, unit: Duration, is_plain: bool) -> Option<T> {
    let of = |span: Span| {
        let count = span.0.as_secs() / unit.as_secs();
        (unit * u32::try_from(count).ok()? == span.0).then_some(count)
    };
    let count = match text.parse::<u64>() {
        Ok(count) if is_plain => Some(count),
        _ => text.parse().ok().and_then(of),
    };
    count?.to_string().parse().ok()
}

macro_rules! wholes {
    ($($(#[$doc:meta])* $name:ident of $number:ident in $seconds:literal, plain $is_plain:literal, $syntax:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name($number);

        impl $name {
            pub fn get(self) -> $number {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = &'static str;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                whole(text, Duration::from_secs($seconds), $is_plain).map(Self).ok_or($syntax)
            }
        }
    )*};
}

wholes! {
    /// Time for which licenses of a plan are valid.
    Days of ExpiresInDays in 86_400, plain true, "must be whole days up to 100y, such as 90d or 1y";
    /// Time for which a license is valid past its end.
    Grace of GraceDays in 86_400, plain true, "must be whole days up to 1y, such as 14d";
    /// Time without a validation after which the holder of a floating seat is idle.
    IdleTime of SeatIdleMinutes in 60, plain false, "must be whole minutes from 5m to 1y, such as 90m, 12h or 30d";
    /// Requested duration of a lease.
    Ttl of TtlSeconds in 1, plain false, "must be a time from 1m to 400d, such as 12h or 30d";
    /// Maximum duration of a lease.
    LeaseTime of MaxLeaseSeconds in 1, plain false, "must be a time from 5m to 400d, such as 12h or 30d";
}

/// Time for which a run keeps retrying without a response. `0` does not retry, and any other bare
/// number is in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience(pub Duration);

impl Default for Patience {
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

impl FromStr for Patience {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "0" | "0s" => Ok(Self(Duration::ZERO)),
            _ => Span::seconds(text).map(|span| Self(span.std())),
        }
    }
}

/// `3d ago`, `in 5h`, `just now`.
pub fn relative(time: Timestamp, now: Timestamp) -> String {
    let span = time.since(now);
    match (rough(span.abs()), span > TimeDelta::zero()) {
        (None, _) => "just now".to_owned(),
        (Some(span), true) => format!("in {span}"),
        (Some(span), false) => format!("{span} ago"),
    }
}

/// The span in its largest fitting unit; none when it is under a second.
fn rough(span: TimeDelta) -> Option<String> {
    // Days are rounded, so that a new license of 30 days does not show 29.
    let days = (span + TimeDelta::hours(12)).num_days();
    let days = if span.num_days() > 0 || span.num_hours() == 23 { days } else { 0 };
    let units = [
        (days / 365, "y"),
        (days, "d"),
        (span.num_hours(), "h"),
        (span.num_minutes(), "m"),
        (span.num_seconds(), "s"),
    ];
    // Spans under three years are shown in days, as rounding to years would lose too much.
    let skip = usize::from(days < 3 * 365);
    let largest = units.into_iter().skip(skip).find(|&(number, _)| number > 0);
    largest.map(|(number, unit)| format!("{number}{unit}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spans_are_a_number_and_a_unit() {
        assert_eq!("90d".parse(), Ok(Span(Duration::from_secs(90 * 86_400))));
        assert_eq!("1y".parse(), Ok(Span(Duration::from_secs(365 * 86_400))));
        assert_eq!("2w".parse(), Ok(Span(Duration::from_secs(14 * 86_400))));
        assert_eq!("100ms".parse(), Ok(Span(Duration::from_millis(100))));
        assert_eq!(Span::seconds("5"), "5s".parse());
        for text in
            ["", "d", "5", "0d", "-1d", "1.5h", "1x", "5 d", "101y", "36501d", "99999999999d"]
        {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_past_is_a_span_or_a_moment() {
        let now: Timestamp = "2027-01-31T12:00:00Z".parse().unwrap();
        for (text, time) in [
            ("1d", "2027-01-30T12:00:00Z"),
            ("2026-11-22", "2026-11-22T00:00:00Z"),
            ("2026-11-22T10:00:00+02:00", "2026-11-22T08:00:00Z"),
        ] {
            let parsed: PastTime = text.parse().unwrap();
            assert_eq!(parsed.timestamp(now), time.parse().unwrap(), "{text}");
        }
        assert!("yesterday".parse::<PastTime>().is_err());
    }

    #[test]
    fn days_are_whole() {
        for (text, days) in [("90d", 90), ("1y", 365), ("48h", 2), ("365", 365)] {
            assert_eq!(text.parse::<Days>().unwrap().get().get(), days, "{text}");
        }
        for text in ["", "0", "36h", "-1", "101y", "1.5d"] {
            assert!(text.parse::<Days>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_expiry_date_is_the_last_valid_day() {
        for (text, end) in [
            ("2026-12-31", "2027-01-01T00:00:00Z"),
            ("2028-02-28", "2028-02-29T00:00:00Z"),
            ("2026-12-31T00:00:00Z", "2026-12-31T00:00:00Z"),
        ] {
            assert_eq!(text.parse::<Expiry>().unwrap().timestamp(), end.parse().unwrap(), "{text}");
        }
        for text in ["", "2027-02-30", "2027-1-31x", "tomorrow", "9999-12-31"] {
            assert!(text.parse::<Expiry>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_relative_to_now() {
        let now: Timestamp = "2027-01-31T12:00:00Z".parse().unwrap();
        for (time, expected) in [
            ("2027-01-31T12:00:00.900Z", "just now"),
            ("2027-01-31T11:59:18Z", "42s ago"),
            ("2027-01-31T12:59:59Z", "in 59m"),
            ("2027-01-28T12:00:00Z", "3d ago"),
            ("2027-03-02T11:59:58Z", "in 30d"),
            ("2027-02-01T11:59:58Z", "in 1d"),
            ("2027-02-01T10:59:58Z", "in 22h"),
            ("2028-06-30T12:00:00Z", "in 516d"),
            ("2032-01-31T12:00:00Z", "in 5y"),
        ] {
            assert_eq!(relative(time.parse().unwrap(), now), expected, "{time}");
        }
    }

    proptest! {
        #[test]
        fn a_span_is_a_number_and_a_unit_up_to_a_century(number: u32, at in 0..7usize) {
            let (unit, millis) = [
                ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
                ("w", 604_800_000), ("y", 31_536_000_000u64),
            ][at];
            let millis = u64::from(number).saturating_mul(millis);
            let span = format!("{number}{unit}").parse().map(Span::std).ok();
            let within = (1..=36_500 * 86_400_000).contains(&millis);
            prop_assert_eq!(span, within.then(|| Duration::from_millis(millis)));
        }

        #[test]
        fn any_text_is_a_span_or_an_error(text in "\\PC*|[0-9]{0,12}[a-z]{0,3}") {
            if let Ok(span) = text.parse::<Span>() {
                prop_assert!(span.delta() > TimeDelta::zero());
            }
            prop_assert!(Span::seconds(&text).is_ok() || text.parse::<Span>().is_err());
        }

        #[test]
        fn any_text_is_an_expiry_or_an_error(text in "\\PC*|[0-9TtZz:.+-]{8,32}") {
            prop_assert!(text.parse::<Expiry>().is_err() || text.len() >= 10);
        }

        #[test]
        fn any_two_times_can_be_compared(
            time in 0..253_402_300_799_999i64,
            now in 0..253_402_300_799_999i64,
        ) {
            let [time, now] = [time, now].map(|millis| Timestamp::from_millis(millis).unwrap());
            prop_assert!(!relative(time, now).is_empty());
        }
    }
}

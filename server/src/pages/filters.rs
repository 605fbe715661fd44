//! How values look in pages: `{{ license.created_at|moment }}`.

use std::fmt;

use askama::filters::HtmlSafe;
use askama::{Result, Values, filter_fn};
use chrono::TimeDelta;
use common::Timestamp;

/// A value, or a reference to one: templates pass both.
pub trait Value<T> {
    fn value(&self) -> T;
}

impl Value<Timestamp> for Timestamp {
    fn value(&self) -> Timestamp {
        *self
    }
}

impl Value<i64> for i64 {
    fn value(&self) -> i64 {
        *self
    }
}

impl<T, V: Value<T>> Value<T> for &V {
    fn value(&self) -> T {
        (**self).value()
    }
}

/// A time with its distance from now.
#[filter_fn]
pub fn moment<T: Value<Timestamp>>(at: T, _: &dyn Values) -> Result<Moment> {
    Ok(Moment { at: at.value(), now: Timestamp::now() })
}

/// A number in groups of three digits.
#[filter_fn]
pub fn count<T: Value<i64>>(number: T, _: &dyn Values) -> Result<String> {
    let digits = number.value().to_string();
    let grouped = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    Ok(grouped.collect::<Vec<_>>().join(","))
}

/// A time as pages show it, and as their script reads it to keep it fresh.
pub struct Moment {
    at: Timestamp,
    now: Timestamp,
}

impl HtmlSafe for Moment {}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (minute, away) = (minute(self.at), distance(self.at.since(self.now)));
        write!(
            f,
            r#"<time datetime="{}">{minute} UTC</time> <small class="ago">{away}</small>"#,
            self.at
        )
    }
}

/// `2027-01-31 12:00`, in UTC.
fn minute(at: Timestamp) -> String {
    at.to_string()[..16].replace('T', " ")
}

/// `3 days ago`, `in 12 days`: whole units, as many as have passed.
fn distance(away: TimeDelta) -> String {
    let (span, is_past) = (away.abs(), away < TimeDelta::zero());
    let (number, unit) = match (span.num_days(), span.num_hours(), span.num_minutes()) {
        (0, 0, 0) if is_past => return "just now".to_owned(),
        (0, 0, 0) => return "in less than a minute".to_owned(),
        (0, 0, minutes) => (minutes, "minute"),
        (0, hours, _) => (hours, "hour"),
        (days, ..) => (days, "day"),
    };
    let plural = if number == 1 { "" } else { "s" };
    if is_past {
        format!("{number} {unit}{plural} ago")
    } else {
        format!("in {number} {unit}{plural}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_in_whole_units() {
        for (away, text) in [
            (TimeDelta::seconds(-59), "just now"),
            (TimeDelta::seconds(59), "in less than a minute"),
            (TimeDelta::seconds(-60), "1 minute ago"),
            (TimeDelta::minutes(-59), "59 minutes ago"),
            (TimeDelta::hours(23), "in 23 hours"),
            (TimeDelta::days(-1), "1 day ago"),
            (TimeDelta::days(400), "in 400 days"),
        ] {
            assert_eq!(distance(away), text);
        }
    }

    #[test]
    fn a_moment_is_an_element() {
        let [at, now] =
            ["2027-01-31T12:00:30Z", "2027-02-01T12:00:00Z"].map(|it| it.parse().unwrap());
        assert_eq!(
            Moment { at, now }.to_string(),
            "<time datetime=\"2027-01-31T12:00:30.000Z\">2027-01-31 12:00 UTC</time> \
             <small class=\"ago\">23 hours ago</small>"
        );
    }
}

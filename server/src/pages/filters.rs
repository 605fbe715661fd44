//! Filters of templates, which format values: `{{ license.created_at|moment }}`.

use std::fmt;

use askama::filters::HtmlSafe;
use askama::{Result, Values, filter_fn};
use chrono::{NaiveDate, TimeDelta};
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
pub fn moment<T: Value<Timestamp>>(at: T, _: &dyn Values) -> Result<ShownTime> {
    Ok(ShownTime { at: at.value(), now: Timestamp::now() })
}

/// Shows the time at which something ends, and the distance from now. A time that ends a day is
/// shown as that day.
#[filter_fn]
pub fn end<T: Value<Timestamp>>(at: T, _: &dyn Values) -> Result<End> {
    Ok(End(ShownTime { at: at.value(), now: Timestamp::now() }))
}

/// Formats an end only in words.
pub fn end_in_words(at: Timestamp) -> String {
    match at.last_day() {
        Some(day) => in_words(day),
        None => format!("{} UTC", minute(at)),
    }
}

/// The day of a time.
pub fn day(at: Timestamp) -> String {
    at.end_of_day().last_day().map(in_words).unwrap_or_default()
}

/// The last valid day of something that ends then, in words.
pub fn last_day_in_words(end: Timestamp) -> String {
    day(end.plus(-TimeDelta::milliseconds(1)))
}

fn in_words(day: NaiveDate) -> String {
    day.format("%-d %b %Y").to_string()
}

/// A number with a comma between groups of three digits.
#[filter_fn]
pub fn count<T: Value<i64>>(number: T, _: &dyn Values) -> Result<String> {
    let digits = number.value().to_string();
    let grouped = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    Ok(grouped.collect::<Vec<_>>().join(","))
}

/// An end as pages show it.
pub struct End(ShownTime);

impl HtmlSafe for End {}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(day) = self.0.at.last_day() else { return fmt::Display::fmt(&self.0, f) };
        // Without a distance in hours, which the pages' script would put there.
        let (words, away) = (in_words(day), self.0.away());
        write!(f, r#"<time datetime="{day}">{words}</time> <small class="ago">{away}</small>"#)
    }
}

/// A distance as pages show it.
pub struct Away(ShownTime);

impl HtmlSafe for Away {}

impl fmt::Display for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, words, away) = (self.0.at, minute(self.0.at), self.0.away());
        write!(f, r#"<time datetime="{at}" title="{words} UTC">{away}</time>"#)
    }
}

/// A time as pages show it. Their script refreshes the distance.
pub struct ShownTime {
    at: Timestamp,
    now: Timestamp,
}

impl HtmlSafe for ShownTime {}

impl ShownTime {
    /// The distance from now. To the end of a day, days of the calendar are counted.
    fn away(&self) -> String {
        let Some(day) = self.at.last_day() else { return distance(self.at.since(self.now)) };
        let today = self.now.end_of_day().last_day().unwrap_or(day);
        days_away((day - today).num_days())
    }
}

impl fmt::Display for ShownTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, away) = (self.at, distance(self.at.since(self.now)));
        let words = minute(at);
        write!(f, r#"<time datetime="{at}">{words} UTC</time> <small class="ago">{away}</small>"#)
    }
}

/// `31 Jan 2027 12:00`, in UTC.
fn minute(at: Timestamp) -> String {
    let time = at.to_string();
    format!("{} {}", day(at), time.get(11..16).unwrap_or_default())
}

/// A sentence of the API, with its times as pages show them.
#[filter_fn]
pub fn sentence(text: impl fmt::Display, _: &dyn Values) -> Result<String> {
    let text = text.to_string();
    let words = text.split(' ').map(|word| {
        let time = word.trim_end_matches(['.', ',', ';', ':']);
        match time.parse() {
            Ok(at) => end_in_words(at) + &word[time.len()..],
            Err(_) => word.to_owned(),
        }
    });
    Ok(words.collect::<Vec<_>>().join(" "))
}

/// The distance of a time from now, which hides the time itself.
#[filter_fn]
pub fn away<T: Value<Timestamp>>(at: T, _: &dyn Values) -> Result<Away> {
    Ok(Away(ShownTime { at: at.value(), now: Timestamp::now() }))
}

/// Describes the time that is left, as in `1 day left`.
#[filter_fn]
pub fn left<T: Value<Timestamp>>(end: T, _: &dyn Values) -> Result<String> {
    let away = distance(end.value().since(Timestamp::now()));
    Ok(format!("{} left", away.trim_start_matches("in ")))
}

/// `today`, `tomorrow`, `3 days ago`.
fn days_away(days: i64) -> String {
    match days {
        -1 => "yesterday".to_owned(),
        0 => "today".to_owned(),
        1 => "tomorrow".to_owned(),
        2.. => format!("in {days} days"),
        _ => format!("{} days ago", -days),
    }
}

/// `3 days ago`, `in 12 days`: the nearest number of whole units.
fn distance(away: TimeDelta) -> String {
    const MINUTE_MS: i64 = 60_000;
    let (span, is_past) = (away.num_milliseconds().abs(), away < TimeDelta::zero());
    let nearest = |unit| (span + unit / 2) / unit;
    let (minutes, hours) = (nearest(MINUTE_MS), nearest(60 * MINUTE_MS));
    let (number, unit) = match (hours, minutes) {
        (_, 0) if is_past => return "just now".to_owned(),
        (_, 0) => return "in less than a minute".to_owned(),
        (_, minutes @ 1..60) => (minutes, "minute"),
        (hours @ 1..24, _) => (hours, "hour"),
        _ => (nearest(24 * 60 * MINUTE_MS), "day"),
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
    fn a_distance_is_the_nearest_number_of_whole_units() {
        let almost = TimeDelta::seconds(1);
        for (away, text) in [
            (TimeDelta::seconds(-29), "just now"),
            (TimeDelta::seconds(29), "in less than a minute"),
            (TimeDelta::seconds(-30), "1 minute ago"),
            (TimeDelta::minutes(-59), "59 minutes ago"),
            (TimeDelta::hours(1) - almost, "in 1 hour"),
            (TimeDelta::minutes(-89), "1 hour ago"),
            (TimeDelta::hours(12) - almost, "in 12 hours"),
            (TimeDelta::hours(23), "in 23 hours"),
            (TimeDelta::days(1) - almost, "in 1 day"),
            (TimeDelta::hours(-36), "2 days ago"),
            (TimeDelta::days(365) - almost, "in 365 days"),
        ] {
            assert_eq!(distance(away), text);
        }
    }

    #[test]
    fn a_moment_is_an_element() {
        let [at, now] =
            ["2027-01-31T12:00:30Z", "2027-02-01T11:00:00Z"].map(|it| it.parse().unwrap());
        assert_eq!(
            ShownTime { at, now }.to_string(),
            "<time datetime=\"2027-01-31T12:00:30.000Z\">31 Jan 2027 12:00 UTC</time> \
             <small class=\"ago\">23 hours ago</small>"
        );
    }

    #[test]
    fn an_end_is_its_last_day_or_its_time() {
        for (at, text) in [
            ("2027-01-01T00:00:00Z", ">31 Dec 2026</time>"),
            ("2027-01-01T00:00:00.001Z", ">1 Jan 2027 00:00 UTC</time>"),
            ("2027-01-31T12:00:00Z", ">31 Jan 2027 12:00 UTC</time>"),
            ("1970-01-01T00:00:00Z", ">31 Dec 1969</time>"),
        ] {
            let at = at.parse().unwrap();
            let shown = End(ShownTime { at, now: at }).to_string();
            assert!(shown.contains(text), "{shown}");
            let words = shown.split_once('>').unwrap().1.split_once('<').unwrap().0;
            assert_eq!(end_in_words(at), words);
        }
    }

    /// A reader who sees that a license ends on 26 November knows the number of days until then.
    #[test]
    fn a_day_is_as_far_away_as_in_the_calendar() {
        let at = "2026-11-27T00:00:00Z".parse().unwrap();
        for (now, away) in [
            ("2026-11-24T23:59:59Z", "in 2 days"),
            ("2026-11-25T02:49:00Z", "tomorrow"),
            ("2026-11-25T23:59:59Z", "tomorrow"),
            ("2026-11-26T00:00:00Z", "today"),
            ("2026-11-26T23:59:59Z", "today"),
            ("2026-11-27T00:00:00Z", "yesterday"),
            ("2026-12-02T12:00:00Z", "6 days ago"),
        ] {
            let shown = End(ShownTime { at, now: now.parse().unwrap() }).to_string();
            let expected = "<time datetime=\"2026-11-26\">26 Nov 2026</time> <small class=\"ago\">";
            assert_eq!(shown, format!("{expected}{away}</small>"));
        }
    }
}

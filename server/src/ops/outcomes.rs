//! Outcomes of validations: counts by hour, and refused users.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use common::{HourStatistics, RefusalId, Statistics, Timestamp, UserRefusal, hour_of};

use super::view::View;
use crate::error::Error;
use crate::store::{Collected, Found, Page, outcomes};

pub use crate::store::outcomes::RefusalFilter;

/// Maximum time of the search for a page of refusals, because there may be millions.
const MAX_SEARCH: Duration = Duration::from_secs(1);
const HOUR: TimeDelta = TimeDelta::hours(1);
const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);
const DEFAULT_SPAN: TimeDelta = TimeDelta::hours(24);
const FROM_AFTER_TO: &str = "from must not be after to";
/// Maximum length of a period, which exceeds the retention of outcomes.
const MAX_SPAN: TimeDelta = TimeDelta::days(31);

/// Returns a page of refusals that match the whole filter, or those found within [`MAX_SEARCH`].
pub async fn refusals(
    view: View,
    filter: RefusalFilter,
    page: Page<RefusalId>,
) -> Result<Found<UserRefusal, RefusalId>, Error> {
    if filter.from.zip(filter.to).is_some_and(|(from, to)| from > to) {
        return Err(Error::invalid("from", FROM_AFTER_TO));
    }
    if filter.user.as_ref().is_some_and(|user| user.contains('\0')) {
        // PostgreSQL cannot store such a text, so no user has it.
        return Ok(Found { records: Vec::new(), rest: None });
    }
    let (begun, mut found) = (Instant::now(), Collected::new(page));
    while begun.elapsed() < MAX_SEARCH
        && let Some(page) = found.next
    {
        let mut tx = view.snapshot().await?;
        found.add(outcomes::refusals(&mut tx, view.scope, &filter, page).await?);
    }
    Ok(Found { rest: found.next.map(|page| page.cursor), records: found.records })
}

/// Returns the counts of each hour from `from` to `to`, or of the last 24 hours if neither is given.
pub async fn statistics(
    view: View,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<Statistics, Error> {
    let (from, to) = whole_hours(from, to, Timestamp::now())?;
    let counts = outcomes::counts(&mut view.read().await?, view.scope, from, to).await?;
    let starts = (0..to.since(from).num_hours()).map(|hours| from.plus(TimeDelta::hours(hours)));
    let mut hours: Vec<HourStatistics> = starts.map(HourStatistics::empty).collect();
    for count in counts {
        let at = count.hour.since(from).num_hours() as usize;
        hours[at].add(count.reason, count.count);
    }
    Ok(Statistics { from, to, hours })
}

/// Returns the start of the first hour of the period and the end of its last hour.
fn whole_hours(
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    now: Timestamp,
) -> Result<(Timestamp, Timestamp), Error> {
    let why = if to.is_some() { FROM_AFTER_TO } else { "from must not be in the future" };
    let to = to.unwrap_or(now);
    if from.is_some_and(|from| from > to) {
        return Err(Error::invalid("from", why));
    }
    let end = hour_of(to.plus(HOUR - MILLISECOND));
    if !end.is_valid() {
        return Err(Error::invalid("to", "to must be before the last hour of the year 9999"));
    }
    let start = from.map_or_else(|| end.plus(-DEFAULT_SPAN), hour_of);
    // A single time on the hour means the hour that begins at it.
    let end = end.max(start.plus(HOUR));
    if end.since(start) > MAX_SPAN {
        return Err(Error::invalid("from", "from must be at most 31 days before to"));
    }
    Ok((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the hours for a query at half past twelve, or the invalid field and the message.
    fn hours(from: Option<&str>, to: Option<&str>) -> (String, String) {
        let time = |text: &str| text.parse().unwrap();
        match whole_hours(from.map(time), to.map(time), time("2027-01-31T12:30:00Z")) {
            Ok((from, to)) => (from.to_string(), to.to_string()),
            Err(error) => (error.field().unwrap_or_default().to_owned(), error.to_string()),
        }
    }

    #[test]
    fn a_period_is_widened_to_whole_hours() {
        for (from, to, start, end) in [
            (None, None, "2027-01-30T13:00:00.000Z", "2027-01-31T13:00:00.000Z"),
            (
                None,
                Some("2027-01-31T00:00:00Z"),
                "2027-01-30T00:00:00.000Z",
                "2027-01-31T00:00:00.000Z",
            ),
            (
                Some("2027-01-31T10:59:59.999Z"),
                Some("2027-01-31T11:00:00.001Z"),
                "2027-01-31T10:00:00.000Z",
                "2027-01-31T12:00:00.000Z",
            ),
            (
                Some("2027-01-31T12:00:00Z"),
                Some("2027-01-31T12:00:00Z"),
                "2027-01-31T12:00:00.000Z",
                "2027-01-31T13:00:00.000Z",
            ),
            (
                Some("2027-01-31T12:10:00Z"),
                Some("2027-01-31T12:10:00Z"),
                "2027-01-31T12:00:00.000Z",
                "2027-01-31T13:00:00.000Z",
            ),
            (
                Some("2027-01-31T10:20:00Z"),
                None,
                "2027-01-31T10:00:00.000Z",
                "2027-01-31T13:00:00.000Z",
            ),
        ] {
            assert_eq!(hours(from, to), (start.to_owned(), end.to_owned()), "{from:?} {to:?}");
        }
    }

    #[test]
    fn a_period_has_a_length_and_at_most_31_days() {
        let whole = hours(Some("2027-01-01T00:00:00Z"), Some("2027-02-01T00:00:00Z"));
        assert_eq!(whole.0, "2027-01-01T00:00:00.000Z");
        for (from, to) in [
            ("2027-01-01T00:00:00Z", Some("2027-02-01T00:00:00.001Z")),
            ("2026-12-31T23:59:59.999Z", Some("2027-02-01T00:00:00Z")),
            ("2027-01-31T12:20:00Z", Some("2027-01-31T12:10:00Z")),
            ("2027-01-31T12:40:00Z", None),
        ] {
            assert_eq!(hours(Some(from), to).0, "from", "{from} {to:?}");
        }
        assert_eq!(hours(None, Some("9999-12-31T23:00:00Z")).1, "9999-12-31T23:00:00.000Z");
        assert_eq!(hours(None, Some("9999-12-31T23:00:00.001Z")).0, "to");
        let early = hours(Some("2027-01-31T12:40:00Z"), None).1;
        assert_eq!(early, "from must not be in the future");
    }
}

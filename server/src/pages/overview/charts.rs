//! The chart of the overview: validations by hour or by day, valid above and refused below.

use askama::Template;
use askama::filters::HtmlSafe;
use chrono::TimeDelta;
use common::{HourStatistics, Reason, Timestamp};
use serde::Deserialize;

use crate::pages::{filters, refusals, words};

/// The reasons, in the order in which they are stacked.
const REASONS: &[Reason] = Reason::ALL;

/// The width of a drawing, which the page stretches.
const WIDTH: usize = 480;
/// The height of the highest bar, and the baselines: valid above, refused below.
const HIGHEST: i64 = 84;
const VALID_BASE: i64 = 112;
const REFUSED_BASE: i64 = 224;

const DAY_MILLIS: u64 = 86_400_000;
const HOURS: usize = 24;
/// Number of the labels below the columns, and one for the last.
const LABELS: usize = 4;

/// The time that the chart shows. Today is its last day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Span {
    #[default]
    #[serde(rename = "24h")]
    Day,
    #[serde(rename = "7d")]
    Week,
    #[serde(rename = "30d")]
    Month,
}

impl Span {
    /// Each with its name in a query and its label.
    pub const ALL: [(Self, &str, &str); 3] = [
        (Self::Day, "24h", "24 hours"),
        (Self::Week, "7d", "7 days"),
        (Self::Month, "30d", "30 days"),
    ];

    /// The start of the first day to read. There are at least seven, by which the page tells whether
    /// an application validates.
    pub fn start(self, now: Timestamp) -> Timestamp {
        let days = if self == Self::Month { 30 } else { 7 };
        day_start(now.plus(-TimeDelta::days(days - 1)))
    }
}

fn day_start(time: Timestamp) -> Timestamp {
    time.plus(-TimeDelta::milliseconds((time.millis() % DAY_MILLIS) as i64))
}

/// Numbers of valid validations, and of refused ones for each of [`REASONS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub valid: i64,
    reasons: [i64; REASONS.len()],
}

impl Counts {
    pub fn of(hours: &[HourStatistics]) -> Self {
        hours.iter().fold(Self::default(), |mut sum, hour| {
            sum.valid += hour.valid;
            for (sum, reason) in sum.reasons.iter_mut().zip(REASONS) {
                *sum += hour.refused_for(*reason);
            }
            sum
        })
    }

    pub fn refused(&self) -> i64 {
        self.reasons.iter().sum()
    }

    pub fn total(&self) -> i64 {
        self.valid + self.refused()
    }

    /// The reasons that occurred, with their counts.
    fn by_reason(&self) -> impl Iterator<Item = (i64, Reason)> {
        self.reasons.into_iter().zip(REASONS.iter().copied()).filter(|(count, _)| *count > 0)
    }
}

/// A chart with its legend. Each column names its numbers, and leads to its refusals.
#[derive(Template)]
#[template(path = "overview_chart.html")]
pub struct Chart {
    /// Prefix of the addresses of the mode.
    base: String,
    span: Span,
    /// The unit of the peaks, as in "per hour".
    unit: &'static str,
    axis: Vec<String>,
    columns: Vec<Column>,
    sum: Counts,
}

impl HtmlSafe for Chart {}

/// An hour, or a day.
struct Column {
    name: String,
    start: Timestamp,
    end: Timestamp,
    counts: Counts,
}

/// The refusals for one reason.
struct Series {
    reason: Reason,
    words: &'static str,
    sum: i64,
    path: String,
}

impl Chart {
    /// `hours` begin with the [`Span::start`], and end with the current one.
    pub fn of(base: String, hours: &[HourStatistics], span: Span) -> Self {
        let of_day = &hours[hours.len().saturating_sub(HOURS)..];
        let (hours, unit, length, name, last) = match span {
            Span::Day => (of_day, "hour", TimeDelta::hours(1), 11..16, "now"),
            Span::Week | Span::Month => (hours, "day", TimeDelta::days(1), 0..10, "today"),
        };
        let is_same = |a: &HourStatistics, b: &HourStatistics| {
            span != Span::Day && day_start(a.hour) == day_start(b.hour)
        };
        let columns = hours.chunk_by(is_same).map(|part| Column {
            name: part[0].hour.to_string()[name.clone()].to_owned(),
            start: part[0].hour,
            end: part[0].hour.plus(length),
            counts: Counts::of(part),
        });
        let columns: Vec<Column> = columns.collect();
        let step = columns.len().div_ceil(LABELS);
        let mut axis: Vec<String> =
            columns.iter().step_by(step).map(|column| column.name.clone()).collect();
        axis.push(last.to_owned());
        Self { base, span, unit, axis, columns, sum: Counts::of(hours) }
    }

    /// The address of the refusals of a column.
    fn refused_in(&self, column: &Column) -> String {
        let (from, to) = (column.start.to_string(), column.end.to_string());
        self.base.clone() + &refusals::link(&[("from", &from), ("to", &to)])
    }

    /// The address of the refusals of the whole chart.
    fn refused_for(&self, reason: Reason) -> String {
        let from = self.columns.first().map(|first| first.start.to_string()).unwrap_or_default();
        self.base.clone() + &refusals::link(&[("reason", reason.as_str()), ("from", &from)])
    }

    fn most_valid(&self) -> i64 {
        self.columns.iter().map(|column| column.counts.valid).max().unwrap_or(0)
    }

    fn most_refused(&self) -> i64 {
        self.columns.iter().map(|column| column.counts.refused()).max().unwrap_or(0)
    }

    /// The width of a bar. Bars are strokes, which take half as many bytes as rectangles.
    fn bar_width(&self) -> usize {
        self.column_width() * 4 / 5
    }

    fn column_width(&self) -> usize {
        WIDTH / self.columns.len()
    }

    /// The bars of valid validations.
    fn valid_path(&self) -> String {
        let most = self.most_valid();
        let heights = self.columns.iter().map(|column| height(column.counts.valid, most));
        heights.enumerate().map(|(at, height)| self.bar(at, VALID_BASE, 0, height)).collect()
    }

    /// The stacked bars of refusals.
    fn series(&self) -> Vec<Series> {
        let most = self.most_refused();
        let stacks: Vec<_> = self.columns.iter().map(|it| stack(&it.counts, most)).collect();
        // Only explanations have unknown users: a validation creates them.
        let reasons = REASONS.iter().enumerate().filter(|(_, it)| **it != Reason::UserNotFound);
        let series = reasons.map(|(place, &reason)| Series {
            reason,
            words: words(reason),
            sum: self.sum.reasons[place],
            path: (stacks.iter().enumerate())
                .map(|(at, stack)| self.bar(at, REFUSED_BASE, stack[place], stack[place + 1]))
                .collect(),
        });
        series.collect()
    }

    /// A bar in a column, between two heights above the baseline.
    fn bar(&self, at: usize, base: i64, from: i64, to: i64) -> String {
        let middle = at * self.column_width() + self.column_width() / 2;
        if from == to { String::new() } else { format!("M{middle} {}v-{}", base - from, to - from) }
    }
}

/// The height of the bar for a count, if `most` is the highest count. Every count above zero is
/// visible.
fn height(count: i64, most: i64) -> i64 {
    let rounded = (count * HIGHEST + most / 2) / most.max(1);
    if count > 0 { rounded.max(1) } else { 0 }
}

/// The heights that separate the reasons in a column.
fn stack(counts: &Counts, most: i64) -> [i64; REASONS.len() + 1] {
    let (mut heights, mut sum) = ([0; REASONS.len() + 1], 0);
    for (place, &count) in counts.reasons.iter().enumerate() {
        sum += count;
        let below = heights[place];
        heights[place + 1] = if count > 0 { height(sum, most).max(below + 1) } else { below };
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hours of seven days until half past one, with the counts of some of them.
    fn hours(counts: &[(usize, Option<Reason>, i64)]) -> Vec<HourStatistics> {
        let start = Span::Week.start("2026-11-22T13:30:00Z".parse().unwrap());
        let hour = |n| HourStatistics::empty(start.plus(TimeDelta::hours(n)));
        let mut hours: Vec<_> = (0..6 * 24 + 14).map(hour).collect();
        for &(at, reason, count) in counts {
            hours[at].add(reason, count);
        }
        hours
    }

    fn chart(span: Span, counts: &[(usize, Option<Reason>, i64)]) -> Chart {
        Chart::of(String::new(), &hours(counts), span)
    }

    #[test]
    fn columns_are_the_last_hours_and_the_days() {
        let counts = [(0, None, 1), (23, None, 2), (24, None, 4), (157, None, 8)];
        let (day, week) = (chart(Span::Day, &counts), chart(Span::Week, &counts));
        let shown = |chart: &Chart| -> Vec<(String, i64)> {
            chart.columns.iter().map(|it| (it.name.clone(), it.counts.valid)).collect()
        };
        assert_eq!(day.columns.len(), 24);
        assert_eq!(shown(&day)[0], ("14:00".to_owned(), 0));
        assert_eq!(shown(&day)[23], ("13:00".to_owned(), 8));
        assert_eq!(day.axis, ["14:00", "20:00", "02:00", "08:00", "now"]);
        assert_eq!(week.columns.len(), 7);
        assert_eq!(shown(&week)[0], ("2026-11-16".to_owned(), 3));
        assert_eq!(shown(&week)[1], ("2026-11-17".to_owned(), 4));
        assert_eq!(shown(&week)[6], ("2026-11-22".to_owned(), 8));
        assert_eq!(week.axis, ["2026-11-16", "2026-11-18", "2026-11-20", "2026-11-22", "today"]);
    }

    #[test]
    fn the_highest_bar_fills_its_half_and_the_smallest_is_seen() {
        let week = chart(Span::Week, &[(0, None, 1000), (30, None, 500), (50, None, 1)]);
        assert_eq!(week.valid_path(), "M34 112v-84M102 112v-42M170 112v-1");
        let day = chart(Span::Day, &[(157, None, 3)]);
        assert_eq!((day.valid_path(), day.bar_width()), ("M470 112v-84".to_owned(), 16));
        assert_eq!((week.column_width(), week.bar_width()), (68, 54));
    }

    /// Reasons stack without a gap, however few refusals they have.
    #[test]
    fn reasons_are_stacked() {
        let week = chart(
            Span::Week,
            &[
                (0, Some(Reason::NoLicense), 40),
                (1, Some(Reason::ExceededSeats), 60),
                (24, Some(Reason::NoLicense), 1),
                (25, Some(Reason::Expired), 1),
                (26, Some(Reason::Revoked), 1),
            ],
        );
        let series = week.series();
        let paths: Vec<_> = series.iter().map(|it| (it.words, it.path.as_str())).collect();
        let expected = [
            ("no license", "M34 224v-34M102 224v-1"),
            ("expired", "M102 223v-1"),
            ("revoked", "M102 222v-1"),
            ("suspended", ""),
            ("no free seat", "M34 190v-50"),
        ];
        assert_eq!(paths, expected);
        assert_eq!((week.most_refused(), week.sum.refused(), series[0].sum), (100, 103, 41));
    }

    #[test]
    fn without_a_validation_nothing_is_drawn() {
        let day = chart(Span::Day, &[]);
        assert_eq!(day.valid_path(), "");
        assert!(day.series().iter().all(|series| series.path.is_empty()));
    }
}

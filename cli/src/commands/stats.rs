//! `licctl stats`: how validations were answered, as a line of bars on a terminal and as rows
//! elsewhere.

mod numbers;

use std::collections::BTreeMap;

use clap::ValueEnum;
use common::{HourStatistics, Statistics};
use serde_json::{Map, Value, json};

use crate::commands::prelude::*;
use crate::output::Span;

/// The outcomes: the member of the answer, and the title of its column. An unknown user is none, as
/// validations create it.
const OUTCOMES: [(&str, &str); 6] = [
    ("valid", "VALID"),
    ("noLicense", "NO LICENSE"),
    ("expired", "EXPIRED"),
    ("revoked", "REVOKED"),
    ("suspended", "SUSPENDED"),
    ("exceededSeats", "EXCEEDED SEATS"),
];
/// Retention of counts.
const MAX_DAYS: i64 = 30;

/// Show validation statistics by hour or day
///
/// On a terminal, bars show the valid and the refused validations with totals; otherwise each
/// hour is a row. Hours and days are in UTC, and the first one is complete. Counts appear within
/// seconds and are kept for 30 days.
#[derive(Args)]
#[command(visible_alias = "statistics", args_conflicts_with_subcommands = true)]
pub struct StatsArgs {
    #[command(subcommand)]
    numbers: Option<numbers::Verb>,
    /// Length of the period, up to 30d
    #[arg(long, value_name = "SPAN", default_value = "24h")]
    since: Span,
    /// Unit of time
    #[arg(long, value_name = "UNIT", default_value = "hour")]
    by: Unit,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Unit {
    Hour,
    Day,
}

/// The counts of an hour or a day.
struct Period {
    /// The hour, or the day.
    start: String,
    counts: Map<String, Value>,
}

impl Period {
    fn count(&self, outcome: &str) -> i64 {
        self.counts.get(outcome).and_then(Value::as_i64).unwrap_or_default()
    }

    fn refused(&self) -> i64 {
        self.count("total") - self.count("valid")
    }
}

pub async fn run(ctx: &Context, args: StatsArgs) -> Result<View> {
    if let Some(verb) = args.numbers {
        return numbers::run(ctx, verb).await;
    }
    if args.since.delta().num_hours() > MAX_DAYS * 24 {
        return Err(Error::usage("--since must be at most 30d; older counts are not kept."));
    }
    let from = ctx.now.plus(-args.since.delta());
    let statistics = ctx.client().await?.statistics(from).await?;
    let hours = hours(&statistics);
    let (json, periods) = match args.by {
        Unit::Hour => (serde_json::to_value(&statistics).unwrap_or_default(), hours),
        Unit::Day => {
            let days = by_day(&hours);
            (days_json(&statistics, &days), days)
        }
    };
    let starts = periods.iter().map(|period| period.start.clone()).collect();
    let unit = if args.by == Unit::Hour { "hour" } else { "day" };
    let records = json[format!("{unit}s")].as_array().cloned().unwrap_or_default();
    let fields: Vec<&str> = [unit, "total"].into_iter().chain(OUTCOMES.map(|it| it.0)).collect();
    let view = View::new(json, starts)?.rows(records, &fields);
    if !ctx.io.terminals.stdout {
        return Ok(view.table(rows(args.by, &periods)));
    }
    if periods.iter().all(|period| period.count("total") == 0) {
        let hint = "No validations in this time. Try one: licctl validate --help";
        return Ok(view.table(Table::new(&[])).or_when_empty(hint));
    }
    let next = periods.iter().any(|period| period.refused() > 0).then_some("licctl refusals list");
    let view = view.line(TextCell::text(span(&statistics))).line(TextCell::text(""));
    let view = charts(ctx, view, args.by, &periods).table(totals(&periods));
    Ok(next.into_iter().fold(view, View::next))
}

/// The hours that are counted, to the minute.
fn span(statistics: &Statistics) -> String {
    let [from, to] = [statistics.from, statistics.to].map(|time| time.to_string());
    let minutes = |time: &str| time.get(..16).unwrap_or_default().replace('T', " ");
    format!("Validations from {} to {} (UTC)", minutes(&from), minutes(&to))
}

/// The hours with all members that the service sends.
fn hours(statistics: &Statistics) -> Vec<Period> {
    let period = |hour: &HourStatistics| {
        let counts = serde_json::to_value(hour).unwrap_or_default();
        let mut counts = counts.as_object().cloned().unwrap_or_default();
        counts.remove("hour");
        Period { start: hour.hour.to_string(), counts }
    };
    statistics.hours.iter().map(period).collect()
}

fn by_day(hours: &[Period]) -> Vec<Period> {
    let mut days = BTreeMap::<&str, Map<String, Value>>::new();
    for hour in hours {
        let day = days.entry(hour.start.split('T').next().unwrap_or_default()).or_default();
        for (outcome, count) in &hour.counts {
            let sum = day.get(outcome).and_then(Value::as_i64).unwrap_or_default();
            day.insert(outcome.clone(), (sum + count.as_i64().unwrap_or_default()).into());
        }
    }
    days.into_iter().map(|(day, counts)| Period { start: day.to_owned(), counts }).collect()
}

/// The answer with days in place of its hours.
fn days_json(statistics: &ApiRecord<Statistics>, days: &[Period]) -> Value {
    let day = |day: &Period| {
        let start = ("day".to_owned(), day.start.clone().into());
        Value::Object([start].into_iter().chain(day.counts.clone()).collect())
    };
    let days: Vec<Value> = days.iter().map(day).collect();
    json!({ "from": statistics.from, "to": statistics.to, "days": days })
}

/// A row for each period, with all outcomes.
fn rows(by: Unit, periods: &[Period]) -> Table {
    let first = if by == Unit::Hour { "HOUR" } else { "DAY" };
    let titles = [first, "TOTAL"].into_iter().chain(OUTCOMES.map(|(_, title)| title));
    let columns: Vec<Column> = titles.map(|title| Column::new(title, 0)).collect();
    let row = |period: &Period| {
        let outcomes = OUTCOMES.iter().map(|(outcome, _)| TextCell::of(period.count(outcome)));
        let start = [TextCell::text(&period.start), TextCell::of(period.count("total"))];
        start.into_iter().chain(outcomes).collect()
    };
    Table::new(&columns).with(periods.iter().map(row))
}

/// A line of bars for the valid validations and one for the refused: a few refusals would be
/// invisible next to many valid ones.
fn charts(ctx: &Context, mut view: View, by: Unit, periods: &[Period]) -> View {
    let width = ctx.io.width.unwrap_or(80);
    let unit = if by == Unit::Hour { "hour" } else { "day" };
    let valid = periods.iter().map(|period| period.count("valid")).collect::<Vec<_>>();
    let refused = periods.iter().map(Period::refused).collect::<Vec<_>>();
    for (title, tone, counts) in [("valid", Tone::Good, valid), ("refused", Tone::Bad, refused)] {
        let share = counts.len().div_ceil(width.max(1)).max(1);
        let sums: Vec<i64> = counts.chunks(share).map(|some| some.iter().sum()).collect();
        view = match sums.iter().max() {
            Some(&most) if most > 0 => {
                let unit =
                    if share == 1 { format!("one {unit}") } else { format!("{share} {unit}s") };
                view.line(TextCell::text(format!("{title}, up to {most} in {unit}")))
                    .line(TextCell::text(bars(&sums, most)).toned(tone))
            }
            _ => view.line(TextCell::text(format!("{title}: none"))),
        };
        view = view.line(TextCell::text(""));
    }
    view
}

/// A bar of one column for each count.
fn bars(counts: &[i64], most: i64) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    // Rounded up, so that a single one is seen.
    let bars = counts.iter().map(|count| BARS[((count * 8 + most - 1) / most) as usize]);
    bars.collect::<String>().trim_end().to_owned()
}

/// Returns the count of each outcome that occurred.
fn totals(periods: &[Period]) -> Table {
    const COLUMNS: [Column; 3] =
        [Column::new("OUTCOME", 0), Column::new("COUNT", 0), Column::new("SHARE", 1)];
    let sum = |outcome: &str| periods.iter().map(|period| period.count(outcome)).sum::<i64>();
    let all = sum("total");
    let row = |outcome: &str, name: &str, count: i64| {
        // The word that `refusals list --reason` takes.
        let name = TextCell::text(name.to_lowercase().replace(' ', "_"));
        let name = match outcome {
            "valid" => name.toned(Tone::Good),
            "total" => name,
            _ => name.toned(Tone::Bad),
        };
        // In tenths of a percent, rounded.
        let share = (count * 1000 + all / 2) / all;
        vec![name, TextCell::of(count), TextCell::text(format!("{}.{}%", share / 10, share % 10))]
    };
    let outcomes = OUTCOMES.iter().map(|&(outcome, title)| (outcome, title, sum(outcome)));
    let occurred = outcomes.filter(|&(.., count)| count > 0);
    let rows = occurred.chain([("total", "TOTAL", all)]);
    Table::new(&COLUMNS).with(rows.map(|(outcome, title, count)| row(outcome, title, count)))
}

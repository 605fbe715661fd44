//! Output: progress to standard error, tables in Markdown to standard output.

use std::fmt::Display;
use std::io::Write;

use crate::bench::Bench;
use crate::goals::Goal;
use crate::options::Plan;
use crate::stages::CONNECTIONS;
use crate::stages::neighbours::{FEW, MANY};
use crate::stages::pages::PageTime;
use crate::stages::pairs::Pair;
use crate::stages::seats::Seats;
use crate::stages::throughput::Throughput;
use crate::stages::webhooks::Webhooks;
use crate::stats::{Round, Series, median};
use crate::subject::Subject;

const MEGABYTE: f64 = 1e6;
const NONE: &str = "–";

/// Shows progress.
pub fn say(line: impl Display) {
    // A terminal that is closed misses nothing but progress.
    drop(writeln!(std::io::stderr(), "{line}"));
}

fn print(line: impl Display) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{line}")
}

/// Prints the facts on which the numbers depend.
pub fn surroundings(bench: &Bench) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism()?;
    let (plan, commit) = (&bench.plan, commit_milliseconds(bench)?);
    print(format_args!(
        "{cores} cores, shared by load, servers and databases; {} rounds of {} s, medians; {} \
         users; a small write reaches the disk in {commit:.2} ms.\n",
        plan.rounds, plan.seconds, plan.users
    ))?;
    Ok(())
}

/// Measures the time for a small durable write.
fn commit_milliseconds(bench: &Bench) -> anyhow::Result<f64> {
    let mut file = std::fs::File::create(bench.folder.path().join("disk"))?;
    let mut times = Vec::new();
    for _ in 0..100 {
        let started = std::time::Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(median(times))
}

pub fn throughput(results: &Throughput, plan: &Plan) -> anyhow::Result<()> {
    for &connections in plan.connections {
        let head = [
            &*format!("{connections} connections"),
            "validations/s",
            "min–max",
            "of the bare handler",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "server CPU µs",
            "PostgreSQL CPU µs",
            "bytes to disk",
            "memory MB",
        ];
        let rows = plan.subjects.iter().filter_map(|&subject| {
            let series = results.get(&(subject, connections))?;
            Some(line(subject, series, results.get(&(Subject::Handler, connections))?))
        });
        table(&head, &rows.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn line(subject: Subject, series: &Series, handler: &Series) -> Vec<String> {
    let written: fn(&Round) -> f64 = match subject.needs_postgres() {
        true => |round| round.database_written,
        false => |round| round.server_written,
    };
    let database = |text: String| if subject.needs_postgres() { text } else { NONE.into() };
    vec![
        subject.name().into(),
        format!("{:.0}", series.median(rate)),
        spread(series),
        format!("{:.2}", series.ratio(handler, rate)),
        format!("{:.2}", series.median(|round| round.p50)),
        format!("{:.2}", series.median(|round| round.p99)),
        format!("{:.2}", series.median(|round| round.p999)),
        format!("{:.1}", series.median(|round| round.server_cpu)),
        database(format!("{:.1}", series.median(|round| round.database_cpu))),
        format!("{:.0}", series.median(written)),
        format!("{:.0}", series.median(|round| round.memory) / MEGABYTE),
    ]
}

fn rate(round: &Round) -> f64 {
    round.rate
}

fn spread(series: &Series) -> String {
    format!("{:.0}–{:.0}", series.least(rate), series.most(rate))
}

/// licd without a change and with it: rates, and the second in times the first.
pub fn pairs(title: &str, sides: [&str; 2], all: &[Pair]) -> anyhow::Result<()> {
    let [plain, changed] = sides;
    let head = [
        &*format!("{title}, {CONNECTIONS} connections"),
        &*format!("{plain}, /s"),
        "min–max",
        &*format!("{changed}, /s"),
        "min–max",
        "ratio",
        &*format!("{plain}, p99 ms"),
        &*format!("{changed}, p99 ms"),
    ];
    let rows = all.iter().map(|pair| {
        vec![
            pair.subject.name().into(),
            format!("{:.0}", pair.plain.median(rate)),
            spread(&pair.plain),
            format!("{:.0}", pair.changed.median(rate)),
            spread(&pair.changed),
            format!("{:.2}", pair.ratio()),
            format!("{:.2}", pair.plain.median(|round| round.p99)),
            format!("{:.2}", pair.changed.median(|round| round.p99)),
        ]
    });
    table(&head, &rows.collect::<Vec<_>>())
}

/// Prints the cost of a flood of other requests: rates, latencies, and the second as a multiple of
/// the first.
pub fn neighbours(title: &str, sides: [&str; 2], all: &[Pair]) -> anyhow::Result<()> {
    let [plain, changed] = sides;
    let head = [
        &*format!("{title}, {FEW} connections, {MANY} of the flood"),
        &*format!("{plain}, /s"),
        &*format!("{changed}, /s"),
        &*format!("{plain}, p50 ms"),
        &*format!("{changed}, p50 ms"),
        &*format!("{plain}, p99 ms"),
        &*format!("{changed}, p99 ms"),
    ];
    let rows = all.iter().map(|pair| {
        let both = |of: fn(&Round) -> f64| {
            [&pair.plain, &pair.changed].map(|series| format!("{:.2}", series.median(of)))
        };
        let rates =
            [&pair.plain, &pair.changed].map(|series| format!("{:.0}", series.median(rate)));
        let cells = [rates, both(|round| round.p50), both(|round| round.p99)].concat();
        [vec![pair.subject.name().into()], cells].concat()
    });
    table(&head, &rows.collect::<Vec<_>>())
}

pub fn seats(all: &[Seats]) -> anyhow::Result<()> {
    let head = [
        &*format!("new seats, {CONNECTIONS} connections"),
        "validations/s",
        "min–max",
        "p50 ms",
        "p99 ms",
        "seats taken",
        "licenses miscounted",
    ];
    let rows = all.iter().map(|seats| {
        vec![
            seats.subject.name().into(),
            format!("{:.0}", seats.series.median(rate)),
            spread(&seats.series),
            format!("{:.2}", seats.series.median(|round| round.p50)),
            format!("{:.2}", seats.series.median(|round| round.p99)),
            seats.taken.to_string(),
            seats.miscounted.to_string(),
        ]
    });
    table(&head, &rows.collect::<Vec<_>>())
}

/// Prints the time that each page takes.
pub fn pages(all: &[PageTime]) -> anyhow::Result<()> {
    let head = ["page of the dashboard", "database", "KB", "median ms", "worst ms"];
    let rows = all.iter().map(|page| {
        vec![
            page.name.into(),
            page.subject.name().into(),
            format!("{:.1}", page.bytes as f64 / 1e3),
            format!("{:.1}", page.median),
            format!("{:.1}", page.worst),
        ]
    });
    table(&head, &rows.collect::<Vec<_>>())
}

/// Prints the cost of sending for others, and its speed for the one fast receiver.
pub fn webhooks(all: &Webhooks) -> anyhow::Result<()> {
    let sides = ["disabled", "enabled"];
    pairs("webhooks and new seats", sides, &all.seats)?;
    pairs("webhooks and validations", sides, &all.validations)?;
    let head = [
        "a burst of events",
        "events",
        "events/s",
        "memory MB",
        "with 700 that hang: slowest s",
        "memory MB",
    ];
    let rows = all.bursts.iter().map(|burst| {
        vec![
            burst.subject.name().into(),
            burst.events.to_string(),
            format!("{:.0}", burst.events as f64 / burst.seconds),
            format!("{:.0}", burst.memory / 1e6),
            format!("{:.2}", burst.longest),
            format!("{:.0}", burst.memory_of_crowd / 1e6),
        ]
    });
    table(&head, &rows.collect::<Vec<_>>())
}

pub fn goals(all: &[Goal]) -> anyhow::Result<()> {
    let first = format!("goal, {CONNECTIONS} connections");
    let head = [&*first, "asked", "measured", "verdict"];
    let rows = all.iter().map(|goal| {
        let verdict = if goal.met { "met" } else { "missed" };
        let measured = format!("{:.2}", goal.measured);
        vec![goal.what.clone(), goal.asked.clone(), measured, verdict.into()]
    });
    table(&head, &rows.collect::<Vec<_>>())
}

/// A table in Markdown whose columns also line up on a terminal.
fn table(head: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.chain([head[at].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
            if at == 0 { format!(" {cell:<width$} |") } else { format!(" {cell:>width$} |") }
        });
        format!("|{}", cells.collect::<String>())
    };
    print(line(head.to_vec()))?;
    let rules = widths.iter().enumerate().map(|(at, &width)| {
        if at == 0 {
            format!("{}|", "-".repeat(width + 2))
        } else {
            format!("{}:|", "-".repeat(width + 1))
        }
    });
    print(format_args!("|{}", rules.collect::<String>()))?;
    for row in rows {
        print(line(row.iter().map(String::as_str).collect()))?;
    }
    print("")?;
    Ok(())
}

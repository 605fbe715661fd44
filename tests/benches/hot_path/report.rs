//! What is printed: progress to standard error, tables (in Markdown) to standard output.

use std::fmt::Display;
use std::io::Write;

use crate::goals::{self, Goal};
use crate::growth::{self, Growth};
use crate::options::Plan;
use crate::rounds::{Results, Round};
use crate::seats::{self, Seats};
use crate::stage::Stage;
use crate::stats::median;
use crate::subject::Subject;

const MEGABYTE: f64 = 1e6;

/// Tells whoever waits in front of the terminal.
pub fn say(line: impl Display) {
    // Nobody may be listening there, and then there is nobody to tell.
    drop(writeln!(std::io::stderr(), "{line}"));
}

fn print(line: impl Display) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{line}")
}

/// What the numbers depend on.
pub fn surroundings(stage: &Stage, plan: &Plan) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism()?;
    let commit = commit_milliseconds(stage)?;
    let (rounds, seconds) = (plan.rounds, plan.measured.as_secs_f64());
    print(format_args!(
        "{cores} cores, shared by load, servers and databases; {rounds} rounds of {seconds} s, \
         medians; {} users; a small write reaches the disk in {commit:.2} ms.\n",
        plan.users
    ))?;
    Ok(())
}

/// How long a small write takes to be on disk.
fn commit_milliseconds(stage: &Stage) -> anyhow::Result<f64> {
    let mut file = std::fs::File::create(stage.folder.path().join("disk"))?;
    let mut times = Vec::new();
    for _ in 0..100 {
        let started = std::time::Instant::now();
        file.write_all(&[0; 8192])?;
        file.sync_data()?;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(median(times))
}

pub fn throughput(results: &Results, plan: &Plan) -> anyhow::Result<()> {
    for &connections in plan.connections {
        let head = [
            &*format!("connections: {connections}"),
            "validations/s",
            "of the ceiling",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "server CPU µs",
            "PostgreSQL CPU µs",
            "memory MB",
        ];
        let rows = plan.subjects.iter().map(|&subject| line(results, subject, connections));
        table(&head, &rows.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn line(results: &Results, subject: Subject, connections: usize) -> Vec<String> {
    let median = |of| results.median(subject, connections, of);
    let server = |text: String| if subject == Subject::Pgbench { "–".into() } else { text };
    let database = |text: String| if subject.needs_postgres() { text } else { "–".into() };
    let rate = |round: &Round| round.rate;
    vec![
        subject.name().into(),
        format!("{:.0}", median(rate)),
        format!("{:.2}", results.ratio(subject, Subject::Ceiling, connections, rate)),
        format!("{:.2}", median(|round| round.p50)),
        format!("{:.2}", median(|round| round.p99)),
        format!("{:.2}", median(|round| round.p999)),
        server(format!("{:.0}", median(|round| round.server_cpu))),
        database(format!("{:.0}", median(|round| round.database_cpu))),
        server(format!("{:.0}", median(|round| round.memory) / MEGABYTE)),
    ]
}

pub fn growth(all: &[Growth], plan: &Plan) -> anyhow::Result<()> {
    let (Some(many), false) = (plan.many_users, all.is_empty()) else { return Ok(()) };
    let head = [
        &*format!("growth, {} connections", growth::CONNECTIONS),
        &*format!("{} users, /s", plan.users),
        &*format!("{many} users, /s"),
        "factor",
    ];
    let rate = |rounds: &[Round]| format!("{:.0}", median(rounds.iter().map(|round| round.rate)));
    let rows = all.iter().map(|grown| {
        let factor = format!("{:.2}", grown.factor());
        vec![grown.subject.name().into(), rate(&grown.few), rate(&grown.many), factor]
    });
    table(&head, &rows.collect::<Vec<_>>())
}

pub fn seats(all: &[Seats]) -> anyhow::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let head = [
        &*format!("new seats, {} connections", seats::CONNECTIONS),
        "validations/s",
        "p50 ms",
        "p99 ms",
        "seats given",
        "licenses miscounted",
    ];
    let rows = all.iter().map(|seats| {
        let median = |of: fn(&Round) -> f64| median(seats.rounds.iter().map(of));
        vec![
            seats.subject.name().into(),
            format!("{:.0}", median(|round| round.rate)),
            format!("{:.2}", median(|round| round.p50)),
            format!("{:.2}", median(|round| round.p99)),
            seats.given.to_string(),
            seats.wrong.to_string(),
        ]
    });
    table(&head, &rows.collect::<Vec<_>>())
}

pub fn goals(all: &[Goal]) -> anyhow::Result<()> {
    let first = format!("goal, {} connections", goals::CONNECTIONS);
    let head = [&*first, "asked", "measured", "verdict"];
    let rows = all.iter().map(|goal| {
        let verdict = if goal.met { "met" } else { "missed" };
        let measured = format!("{:.2}", goal.measured);
        vec![goal.what.clone(), goal.asked.clone(), measured, verdict.into()]
    });
    table(&head, &rows.collect::<Vec<_>>())?;
    for Goal { what, why, .. } in all.iter().filter(|goal| !goal.met) {
        print(format_args!("- Missed: {what}, as {why}."))?;
    }
    Ok(())
}

/// A table in Markdown whose columns also line up on a terminal.
fn table(head: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
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

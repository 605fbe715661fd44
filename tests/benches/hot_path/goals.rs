//! Goals of the hot path, as ratios within one run, next to the measured ones.

use crate::stages::pairs::Pair;
use crate::stages::{CONNECTIONS, Results};
use crate::stats::{Round, Series};
use crate::subject::Subject::{
    self, Handler, Node, PerRequestPostgres, PerRequestSqlite, Postgres, PostgresTwo, Sqlite,
};

const MEGABYTE: f64 = 1e6;

/// One expectation, and whether it was met.
pub struct Goal {
    pub what: String,
    pub asked: String,
    pub measured: f64,
    pub met: bool,
}

/// The goals of which this run has measured both sides.
pub fn judge(results: &Results) -> Vec<Goal> {
    let mut goals = rates(results);
    goals.extend(alone(results));
    goals.extend(writes(results));
    goals.extend(results.logging.iter().map(|pair| {
        at_least(
            format!("{}, default log, of warnings only", pair.subject.name()),
            0.95,
            pair.ratio(),
        )
    }));
    goals.extend(costs(results));
    goals.extend(latencies(results));
    goals.extend(results.unanalyzed.iter().map(|pair| {
        at_least(format!("{}, never analyzed, of analyzed", pair.subject.name()), 0.8, pair.ratio())
    }));
    goals.extend(results.growth.iter().map(growth));
    goals.extend(memory(results));
    goals.extend(pages(results));
    goals
}

fn at(results: &Results, subject: Subject) -> Option<&Series> {
    results.throughput.get(&(subject, CONNECTIONS))
}

/// One validation after the other, where nothing is shared.
fn alone(results: &Results) -> Vec<Goal> {
    let expected = [(Sqlite, 0.30), (Postgres, 0.25)];
    let goals = expected.into_iter().filter_map(|(subject, least)| {
        let handler = results.throughput.get(&(Handler, 1))?;
        let measured = results.throughput.get(&(subject, 1))?.ratio(handler, |round| round.rate);
        let what = format!("{}, one connection, of the bare handler", subject.name());
        Some(at_least(what, least, measured))
    });
    goals.collect()
}

/// Disk writes that holders of seats cause.
fn writes(results: &Results) -> Vec<Goal> {
    let written = at(results, Sqlite).map(|series| series.median(|round| round.server_written));
    let goal = |bytes| at_most("licd, SQLite, bytes to disk".to_owned(), 50.0, bytes);
    written.map(goal).into_iter().collect()
}

fn rates(results: &Results) -> Vec<Goal> {
    let expected = [
        (Sqlite, Handler, "of the bare handler", 0.50),
        (Postgres, Handler, "of the bare handler", 0.42),
        (Sqlite, PerRequestSqlite, "times a transaction per request", 10.0),
        (Postgres, PerRequestPostgres, "times a transaction per request", 10.0),
        (Sqlite, Node, "times node:http", 1.0),
        (Postgres, Node, "times node:http", 1.0),
    ];
    let goals = expected.into_iter().filter_map(|(subject, other, words, least)| {
        let measured = at(results, subject)?.ratio(at(results, other)?, |round| round.rate);
        Some(at_least(format!("{}, {words}", subject.name()), least, measured))
    });
    goals.collect()
}

/// CPU time of all processes except the load generator, relative to a response from memory.
fn costs(results: &Results) -> Vec<Goal> {
    let goals = [Sqlite, Postgres].into_iter().filter_map(|subject| {
        let measured = at(results, subject)?.ratio(at(results, Node)?, Round::cpu);
        Some(at_most(format!("{}, CPU time in times node:http's", subject.name()), 1.0, measured))
    });
    goals.collect()
}

fn latencies(results: &Results) -> Vec<Goal> {
    let goals = [Sqlite, Postgres].into_iter().filter_map(|subject| {
        let measured = at(results, subject)?.ratio(at(results, Handler)?, |round| round.p99);
        Some(at_most(format!("{}, p99 in times the bare handler's", subject.name()), 5.0, measured))
    });
    goals.collect()
}

/// Factor by which a validation is slower with many users.
fn growth(pair: &Pair) -> Goal {
    let factor = pair.plain.ratio(&pair.changed, |round| round.rate);
    at_most(format!("{}, cost of growth", pair.subject.name()), 1.25, factor)
}

/// The largest memory that any round of the main table ended with.
fn memory(results: &Results) -> Vec<Goal> {
    let goals = [Sqlite, Postgres, PostgresTwo].into_iter().filter_map(|subject| {
        let all = results.throughput.iter().filter(|((of, _), _)| *of == subject);
        let bytes = all.map(|(_, series)| series.most(|round| round.memory));
        let bytes = bytes.max_by(f64::total_cmp)?;
        Some(at_most(format!("{}, MB after any round", subject.name()), 48.0, bytes / MEGABYTE))
    });
    goals.collect()
}

/// The slowest page of each database, and what a visitor costs validations.
fn pages(results: &Results) -> Vec<Goal> {
    let mut goals = Vec::new();
    for pair in &results.pages.visited {
        let name = pair.subject.name();
        let pages = results.pages.times.iter().filter(|page| page.subject == pair.subject);
        let slowest = pages.map(|page| page.median).fold(0.0, f64::max);
        goals.push(at_most(format!("{name}, ms of the slowest page"), 20.0, slowest));
        let what = format!("{name}, with a visitor of the dashboard, relative to without");
        goals.push(at_least(what, 0.9, pair.ratio()));
    }
    goals
}

fn at_least(what: String, least: f64, measured: f64) -> Goal {
    Goal { what, asked: format!("at least {least}"), measured, met: measured >= least }
}

fn at_most(what: String, most: f64, measured: f64) -> Goal {
    Goal { what, asked: format!("at most {most}"), measured, met: measured <= most }
}

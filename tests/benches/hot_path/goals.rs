//! What is expected of the hot path, as ratios within one run, and whether it was met.

use crate::growth::Growth;
use crate::rounds::{Results, Round};
use crate::subject::Subject::{
    self, Ceiling, PerRequestPostgres, PerRequestSqlite, Pgbench, Postgres, PostgresTwo, Sqlite,
};

/// The number of connections that goals are about.
pub const CONNECTIONS: usize = 64;
const MEGABYTE: f64 = 1e6;

/// One expectation, beside what was measured.
pub struct Goal {
    pub what: String,
    pub asked: String,
    pub measured: f64,
    pub met: bool,
}

/// The goals of which this run has measured both sides.
pub fn judge(results: &Results, growth: &[Growth]) -> Vec<Goal> {
    let has = |subject| results.has(subject, CONNECTIONS);
    let mut goals = Vec::new();
    let rates = [
        (Postgres, Ceiling, "of the ceiling", 0.40),
        (Postgres, Pgbench, "times pgbench", 5.0),
        (Postgres, PerRequestPostgres, "times a transaction per request", 7.0),
        (Sqlite, Ceiling, "of the ceiling", 0.35),
        (Sqlite, PerRequestSqlite, "times a transaction per request", 7.0),
    ];
    for (subject, other, words, least) in rates {
        if has(subject) && has(other) {
            let measured = results.ratio(subject, other, CONNECTIONS, |round| round.rate);
            goals.push(at_least(format!("{}, {words}", subject.name()), least, measured));
        }
    }
    for subject in [Sqlite, Postgres] {
        if has(subject) && has(Ceiling) {
            let measured = results.ratio(subject, Ceiling, CONNECTIONS, p99);
            let what = format!("{}, p99 in times the ceiling's", subject.name());
            goals.push(at_most(what, 10.0, measured));
        }
    }
    for subject in [Sqlite, Postgres, PostgresTwo] {
        if has(subject) {
            goals.push(memory(results, subject));
        }
    }
    for grown in growth {
        let what = format!("{}, cost of growth", grown.subject.name());
        goals.push(at_most(what, 1.7, grown.factor()));
    }
    goals
}

fn p99(round: &Round) -> f64 {
    round.p99
}

fn memory(results: &Results, subject: Subject) -> Goal {
    let what = format!("{}, MB after any round", subject.name());
    at_most(what, 40.0, results.memory(subject) / MEGABYTE)
}

fn at_least(what: String, least: f64, measured: f64) -> Goal {
    Goal { what, asked: format!("at least {least}"), measured, met: measured >= least }
}

fn at_most(what: String, most: f64, measured: f64) -> Goal {
    Goal { what, asked: format!("at most {most}"), measured, met: measured <= most }
}

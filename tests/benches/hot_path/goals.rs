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
    /// What stands in the way, if it was missed.
    pub why: String,
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
            let what = format!("{}, {words}", subject.name());
            goals.push(at_least(what, least, measured, slower(results, subject, other)));
        }
    }
    for subject in [Sqlite, Postgres] {
        if has(subject) && has(Ceiling) {
            let measured = results.ratio(subject, Ceiling, CONNECTIONS, p99);
            let what = format!("{}, p99 in times the ceiling's", subject.name());
            let why = "a batch waits for the one before it, and for the disk";
            goals.push(at_most(what, 10.0, measured, why));
        }
    }
    for subject in [Sqlite, Postgres, PostgresTwo] {
        if has(subject) {
            goals.push(memory(results, subject));
        }
    }
    for grown in growth {
        let what = format!("{}, cost of growth", grown.subject.name());
        let why = "a batch finds its rows on more pages, and fewer of them in the database's cache";
        goals.push(at_most(what, 1.7, grown.factor(), why));
    }
    goals
}

fn p99(round: &Round) -> f64 {
    round.p99
}

fn memory(results: &Results, subject: Subject) -> Goal {
    let what = format!("{}, MB after any round", subject.name());
    let why = "the database's cache and the buffers of all connections are this large";
    at_most(what, 40.0, results.memory(subject) / MEGABYTE, why)
}

/// Why `subject` is not as many times as fast as `other` as was asked.
fn slower(results: &Results, subject: Subject, other: Subject) -> String {
    let cpu = |round: &Round| round.server_cpu + round.database_cpu;
    let [own, others] = [subject, other].map(|subject| results.median(subject, CONNECTIONS, cpu));
    let busy = match other {
        Pgbench | PerRequestPostgres => {
            "it keeps several processes of PostgreSQL busy, and a batch one"
        }
        _ => "while the database works on a batch, there is not enough else to do",
    };
    format!("a validation takes {own:.0} µs of CPU time, and {} {others:.0}; {busy}", other.name())
}

fn at_least(what: String, least: f64, measured: f64, why: String) -> Goal {
    Goal { what, asked: format!("at least {least}"), measured, met: measured >= least, why }
}

fn at_most(what: String, most: f64, measured: f64, why: &str) -> Goal {
    let asked = format!("at most {most}");
    Goal { what, asked, measured, met: measured <= most, why: why.to_owned() }
}

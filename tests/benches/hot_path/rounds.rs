//! Interleaved rounds: every row once, then every row again, so that whatever else the machine does
//! meets all rows alike. Answers are checked before the first round and after the last.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::bench::Bench;
use crate::check::Answers;
use crate::process::{Server, family_usage};
use crate::report::say;
use crate::stats::{Round, Series};
use crate::wrk::{Load, Order, Report};

/// Before the first round each row is loaded this long, unmeasured, so that caches are filled.
const WARM_UP_SECONDS: u64 = 1;
/// Tolerated difference between the mean length of responses under load and that of the checked
/// ones. A refusal is shorter by half.
const LENGTH_TOLERANCE: f64 = 0.02;

/// Measurements in one row of a table.
pub struct RoundRow<'a> {
    pub name: &'a str,
    pub servers: &'a [Server],
    pub answers: Answers,
    pub connections: usize,
    /// A file of API keys.
    pub keys: &'a Path,
    pub users: Range<u64>,
}

/// Runs all rounds of a stage, and returns a series for each row.
pub async fn interleave(
    bench: &Bench,
    stage: &str,
    rows: &[RoundRow<'_>],
) -> anyhow::Result<Vec<Series>> {
    let mut lengths = Vec::new();
    for row in rows {
        let length = row.check(bench).await?;
        row.measure(bench, length, WARM_UP_SECONDS).await?;
        lengths.push(length);
    }
    let mut all: Vec<Series> = rows.iter().map(|_| Series::default()).collect();
    for turn in 0..bench.plan.rounds as usize {
        // Each round begins with another row, so that none always follows the same one.
        for at in (0..rows.len()).map(|at| (at + turn) % rows.len()) {
            let row = &rows[at];
            let round = row.measure(bench, lengths[at], bench.plan.seconds).await?;
            say(format_args!(
                "{stage}, round {} of {}: {}, {} connections: {:.0}/s, p99 {:.1} ms",
                turn + 1,
                bench.plan.rounds,
                row.name,
                row.connections,
                round.rate,
                round.p99
            ));
            all[at].0.push(round);
        }
    }
    for row in rows {
        row.check(bench).await?;
    }
    Ok(all)
}

impl RoundRow<'_> {
    /// Checks the answers of every server, and returns the length of one.
    async fn check(&self, bench: &Bench) -> anyhow::Result<usize> {
        let mut length = 0;
        for server in self.servers {
            let checked = bench.checker.check(server.address, &self.users, self.answers).await;
            length = checked.with_context(|| self.name.to_owned())?;
        }
        Ok(length)
    }

    /// One round. The answers under load must have the `length` of the checked ones.
    async fn measure(&self, bench: &Bench, length: usize, seconds: u64) -> anyhow::Result<Round> {
        let addresses: Vec<_> = self.servers.iter().map(|server| server.address).collect();
        let load = Load {
            addresses: &addresses,
            keys: self.keys,
            connections: self.connections,
            seconds,
            users: &self.users,
            order: Order::Random,
            suffix: "",
        };
        let measured = load_servers(bench, self.servers, &load).await;
        let (report, round) = measured
            .with_context(|| format!("{} at {} connections", self.name, self.connections))?;
        let mean = report.bytes as f64 / report.requests as f64;
        ensure!(
            (mean / length as f64 - 1.0).abs() < LENGTH_TOLERANCE,
            "{}: answers had {mean:.0} bytes under load, and {length} when they were checked",
            self.name
        );
        Ok(round)
    }
}

/// Runs one load on servers, and measures the resources that they use.
pub async fn load_servers(
    bench: &Bench,
    servers: &[Server],
    load: &Load<'_>,
) -> anyhow::Result<(Report, Round)> {
    let usage = || {
        let servers: Vec<_> = servers.iter().map(Server::usage).collect();
        let cpu: f64 = servers.iter().map(|usage| usage.cpu_seconds).sum();
        let written: f64 = servers.iter().map(|usage| usage.written_bytes).sum();
        let cluster = bench.cluster.as_ref();
        ((cpu, written), cluster.map_or((0.0, 0.0), |cluster| family_usage(cluster.pid())))
    };
    let before = usage();
    let report = load.run(&bench.load_script).await?;
    let after = usage();
    let requests = report.requests as f64;
    let milliseconds = |micros: u64| micros as f64 / 1e3;
    let round = Round {
        rate: requests / report.micros as f64 * 1e6,
        p50: milliseconds(report.p50),
        p99: milliseconds(report.p99),
        p999: milliseconds(report.p999),
        server_cpu: (after.0.0 - before.0.0) / requests * 1e6,
        database_cpu: (after.1.0 - before.1.0) / requests * 1e6,
        server_written: (after.0.1 - before.0.1) / requests,
        database_written: (after.1.1 - before.1.1) / requests,
        memory: servers.iter().map(|server| server.usage().resident_bytes).fold(0.0, f64::max),
    };
    Ok((report, round))
}

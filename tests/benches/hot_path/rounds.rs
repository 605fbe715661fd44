//! The main comparison: every subject at every number of connections, round by round.
//!
//! In each round all subjects are loaded one after the other, so that whatever else the machine is
//! doing meets them all alike; ratios are taken within a round, and medians over the rounds.

use std::collections::BTreeMap;

use anyhow::Context;

use crate::load::{Load, Users};
use crate::options::Plan;
use crate::process::{Server, family_cpu_seconds};
use crate::report;
use crate::stage::{Running, Stage};
use crate::stats::{Latencies, median};
use crate::subject::Subject;

/// What one subject did in one round.
#[derive(Clone, Copy, Default)]
pub struct Round {
    /// Validations in a second.
    pub rate: f64,
    /// Milliseconds.
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    /// Microseconds of the server's CPU time for each validation.
    pub server_cpu: f64,
    /// The same of PostgreSQL.
    pub database_cpu: f64,
    /// Bytes: of the largest server, after the round.
    pub memory: f64,
}

/// All rounds, by subject and number of connections.
#[derive(Default)]
pub struct Results(BTreeMap<(Subject, usize), Vec<Round>>);

impl Results {
    pub fn has(&self, subject: Subject, connections: usize) -> bool {
        self.0.contains_key(&(subject, connections))
    }

    pub fn median(&self, subject: Subject, connections: usize, of: fn(&Round) -> f64) -> f64 {
        median(self.rounds(subject, connections).iter().map(of))
    }

    /// How many times as much as `other`, each round by itself.
    pub fn ratio(
        &self,
        subject: Subject,
        other: Subject,
        connections: usize,
        of: fn(&Round) -> f64,
    ) -> f64 {
        let pairs = self.rounds(subject, connections).iter().zip(self.rounds(other, connections));
        median(pairs.map(|(one, other)| of(one) / of(other)))
    }

    /// The largest memory that a subject was seen with.
    pub fn memory(&self, subject: Subject) -> f64 {
        let rounds = self.0.iter().filter(|((of, _), _)| *of == subject);
        rounds.flat_map(|(_, rounds)| rounds).map(|round| round.memory).fold(f64::NAN, f64::max)
    }

    fn rounds(&self, subject: Subject, connections: usize) -> &[Round] {
        self.0.get(&(subject, connections)).map_or(&[], Vec::as_slice)
    }
}

pub async fn run(stage: &Stage, plan: &Plan, results: &mut Results) -> anyhow::Result<()> {
    for turn in 0..plan.rounds {
        for &connections in plan.connections {
            // Each round begins with another subject, so that none always follows the same one.
            for at in 0..plan.subjects.len() {
                let subject = plan.subjects[(at + turn) % plan.subjects.len()];
                let round = measure(stage, subject, plan, connections)
                    .await
                    .with_context(|| format!("{} at {connections}", subject.name()))?;
                report::say(format_args!(
                    "round {} of {}, {connections:>3} connections: {:<35} {:>7.0}/s, p99 {:.1} ms",
                    turn + 1,
                    plan.rounds,
                    subject.name(),
                    round.rate,
                    round.p99
                ));
                results.0.entry((subject, connections)).or_default().push(round);
            }
        }
    }
    Ok(())
}

async fn measure(
    stage: &Stage,
    subject: Subject,
    plan: &Plan,
    connections: usize,
) -> anyhow::Result<Round> {
    let users = Users::Any(plan.users);
    match stage.running.get(&subject).context("was not started")? {
        Running::Servers(servers) => load(stage, servers, plan, connections, users).await,
        Running::Pgbench(pgbench) => {
            let cluster = stage.cluster()?;
            let before = family_cpu_seconds(cluster.pid());
            let done = pgbench.run(cluster, connections, plan.measured).await?;
            let cpu = family_cpu_seconds(cluster.pid()) - before;
            let mut round = of(&done.latencies, done.rate);
            round.database_cpu = cpu / done.latencies.count() as f64 * 1e6;
            Ok(round)
        }
    }
}

/// One round of load on `servers`.
pub async fn load(
    stage: &Stage,
    servers: &[Server],
    plan: &Plan,
    connections: usize,
    users: Users,
) -> anyhow::Result<Round> {
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    let mut marks = Vec::new();
    let load = Load {
        addresses: &addresses,
        key: stage.key.expose(),
        connections,
        users,
        warm_up: plan.warm_up,
        measured: plan.measured,
    };
    let done = load
        .run(|| {
            let servers: f64 = servers.iter().map(|server| server.usage().cpu_seconds).sum();
            let database = stage.cluster.as_ref().map_or(0.0, |c| family_cpu_seconds(c.pid()));
            marks.push((servers, database));
        })
        .await?;
    let count = done.latencies.count() as f64;
    let mut round = of(&done.latencies, count / done.elapsed.as_secs_f64());
    if let [before, after] = marks[..] {
        round.server_cpu = (after.0 - before.0) / count * 1e6;
        round.database_cpu = (after.1 - before.1) / count * 1e6;
    }
    round.memory = servers.iter().map(|server| server.usage().resident_bytes).fold(0.0, f64::max);
    Ok(round)
}

fn of(latencies: &Latencies, rate: f64) -> Round {
    Round {
        rate,
        p50: latencies.percentile(0.5),
        p99: latencies.percentile(0.99),
        p999: latencies.percentile(0.999),
        ..Round::default()
    }
}

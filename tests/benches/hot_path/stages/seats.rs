//! New seats: every validation is the first of its user, on a license that has exactly as many
//! seats as users. Users come in the order of their licenses, so that all connections take seats of
//! the same few licenses: the hardest case there is.

use anyhow::ensure;

use crate::bench::Bench;
use crate::check::Answers;
use crate::process::Server;
use crate::report::say;
use crate::rounds::load_servers;
use crate::seed::{self, Size};
use crate::stages::CONNECTIONS;
use crate::stats::Series;
use crate::subject::Subject::{self, Postgres, PostgresTwo, Sqlite};
use crate::wrk::{Load, Order};

/// Rounds are short, as each takes its seats for good.
pub const SECONDS: u64 = 1;

/// Rate at which one row gave seats away, and the check of the counts afterwards.
pub struct Seats {
    pub subject: Subject,
    pub series: Series,
    pub taken: u64,
    pub miscounted: u64,
}

/// A row that is being measured.
struct Taker {
    subject: Subject,
    url: String,
    servers: Vec<Server>,
    series: Series,
    /// The first user who was not asked for yet.
    next: u64,
    answered: u64,
}

pub async fn run(bench: &Bench) -> anyhow::Result<Vec<Seats>> {
    let mut takers = Vec::new();
    for subject in bench.plan.pick([Sqlite, Postgres, PostgresTwo]) {
        say(format_args!("seats: seeding for {}", subject.name()));
        takers.push(Taker::start(bench, subject).await?);
    }
    // The first round is the warm-up.
    for turn in 0..=bench.plan.rounds {
        for taker in &mut takers {
            taker.take(bench, turn).await?;
        }
    }
    let mut all = Vec::new();
    for taker in takers {
        all.push(taker.finish(bench).await?);
    }
    Ok(all)
}

impl Taker {
    async fn start(bench: &Bench, subject: Subject) -> anyhow::Result<Self> {
        let size = Size { users: bench.plan.users, newcomers: bench.plan.newcomers };
        let nodes = if subject == PostgresTwo { 2 } else { 1 };
        let url = bench.database(subject, &format!("seats_{nodes}"), size).await?;
        let servers = (0..nodes).map(|_| bench.licd(&url)).collect::<anyhow::Result<Vec<_>>>()?;
        let holders = 0..bench.plan.users;
        bench.checker.check(servers[0].address, &holders, Answers::Licenses).await?;
        let (series, next) = (Series::default(), holders.end);
        Ok(Self { subject, url, servers, series, next, answered: 0 })
    }

    /// One round, of which nothing is kept if the newcomers run out in it.
    async fn take(&mut self, bench: &Bench, turn: u64) -> anyhow::Result<()> {
        let end = bench.plan.users + bench.plan.newcomers;
        if self.next >= end {
            return Ok(());
        }
        let addresses: Vec<_> = self.servers.iter().map(|server| server.address).collect();
        let load = Load {
            addresses: &addresses,
            keys: &bench.key_file,
            connections: CONNECTIONS,
            seconds: SECONDS,
            users: &(self.next..end),
            order: Order::Once,
            suffix: "",
        };
        let (report, round) = load_servers(bench, &self.servers, &load).await?;
        self.next += report.asked;
        let name = self.subject.name();
        if self.next >= end {
            say(format_args!("seats: {name} ran out of newcomers in round {turn}"));
            return Ok(());
        }
        self.answered += report.requests;
        if turn > 0 {
            let (rate, p99) = (round.rate, round.p99);
            say(format_args!("seats, round {turn}: {name}: {rate:.0}/s, p99 {p99:.1} ms"));
            self.series.0.push(round);
        }
        Ok(())
    }

    async fn finish(self, bench: &Bench) -> anyhow::Result<Seats> {
        let newcomers = bench.plan.users..bench.plan.users + bench.plan.newcomers;
        bench.checker.check(self.servers[0].address, &newcomers, Answers::Licenses).await?;
        drop(self.servers);
        let (held, miscounted) = seed::count_seats(&self.url).await?;
        let taken = held - bench.plan.users;
        ensure!(
            taken >= self.answered,
            "{} promised {} seats and gave {taken}",
            self.subject.name(),
            self.answered
        );
        Ok(Seats { subject: self.subject, series: self.series, taken, miscounted })
    }
}

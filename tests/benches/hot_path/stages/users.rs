//! New users: every validation is of a user whom licd does not know, and creates the user. licd
//! stores the words by which people find a user, and an address has more of them than a short id.

use anyhow::ensure;

use super::pairs::Pair;
use crate::bench::Bench;
use crate::process::Server;
use crate::report::say;
use crate::rounds::load_servers;
use crate::seed::{self, Size};
use crate::stages::CONNECTIONS;
use crate::stats::Series;
use crate::subject::Subject::{self, Postgres, Sqlite};
use crate::wrk::{Load, Order};

/// Rounds are short, as each leaves its users behind.
const SECONDS: u64 = 1;
/// More users than a run creates.
const MANY: u64 = 1_000_000_000;

/// One form of ids, on a database of its own.
struct Side {
    name: String,
    url: String,
    server: [Server; 1],
    /// Text after the number of a user.
    suffix: &'static str,
    /// The first user who was not asked for yet.
    next: u64,
    created: u64,
    series: Series,
}

pub async fn run(bench: &Bench) -> anyhow::Result<Vec<Pair>> {
    let mut all = Vec::new();
    for subject in bench.plan.pick([Sqlite, Postgres]) {
        let mut sides = [
            Side::start(bench, subject, "short ids", "").await?,
            Side::start(bench, subject, "addresses", "@company.example").await?,
        ];
        // The first round is the warm-up.
        for turn in 0..=bench.plan.rounds {
            for side in &mut sides {
                side.create(bench, turn).await?;
            }
        }
        let [plain, changed] = sides;
        let (plain, changed) = (plain.finish(bench).await?, changed.finish(bench).await?);
        all.push(Pair { subject, plain, changed });
    }
    Ok(all)
}

impl Side {
    async fn start(
        bench: &Bench,
        subject: Subject,
        ids: &str,
        suffix: &'static str,
    ) -> anyhow::Result<Self> {
        let size = Size { users: bench.plan.users, newcomers: 0 };
        let url = bench.database(subject, &format!("users{}", suffix.len()), size).await?;
        let server = [bench.licd(&url)?];
        let name = format!("{}, {ids}", subject.name());
        let (next, series) = (bench.plan.users, Series::default());
        Ok(Self { name, url, server, suffix, next, created: 0, series })
    }

    async fn create(&mut self, bench: &Bench, turn: u64) -> anyhow::Result<()> {
        let load = Load {
            addresses: &[self.server[0].address],
            keys: &bench.key_file,
            connections: CONNECTIONS,
            seconds: SECONDS,
            users: &(self.next..MANY),
            order: Order::Once,
            suffix: self.suffix,
        };
        let (report, round) = load_servers(bench, &self.server, &load).await?;
        self.next += report.asked;
        self.created += report.requests;
        if turn > 0 {
            let (name, rate, p99) = (&self.name, round.rate, round.p99);
            say(format_args!("users, round {turn}: {name}: {rate:.0}/s, p99 {p99:.1} ms"));
            self.series.0.push(round);
        }
        Ok(())
    }

    async fn finish(self, bench: &Bench) -> anyhow::Result<Series> {
        drop(self.server);
        let stored = seed::count_users(&self.url).await? - bench.plan.users;
        let (name, created) = (self.name, self.created);
        ensure!(
            stored >= created,
            "{name}: {created} users were validated and {stored} are stored"
        );
        Ok(self.series)
    }
}

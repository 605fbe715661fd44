//! Stages that change one thing: licd as in the main table next to licd with the change, in the
//! same rounds.

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::bench::Bench;
use crate::check::Answers;
use crate::process::Server;
use crate::report::say;
use crate::rounds::{RoundRow, interleave};
use crate::seed::{self, FIRST_USERS, Size};
use crate::stages::CONNECTIONS;
use crate::stats::Series;
use crate::subject::Subject::{self, Postgres, Sqlite};
use crate::wrk::{Load, Order};

const KEYS: usize = 1000;

/// licd without the change and with it.
pub struct Pair {
    pub subject: Subject,
    pub plain: Series,
    pub changed: Series,
}

impl Pair {
    /// The rate with the change in times the rate without it.
    pub fn ratio(&self) -> f64 {
        self.changed.ratio(&self.plain, |round| round.rate)
    }
}

/// One side of a pair: a server, and what it is loaded with.
struct Side<'a> {
    server: &'a [Server],
    keys: &'a Path,
    users: Range<u64>,
    answers: Answers,
}

impl<'a> Side<'a> {
    /// Users who hold a seat.
    fn of_holders(server: &'a [Server], keys: &'a Path, users: u64) -> Self {
        Self { server, keys, users: 0..users, answers: Answers::Licenses }
    }
}

async fn compare(
    bench: &Bench,
    stage: &str,
    subject: Subject,
    sides: [(&str, Side<'_>); 2],
) -> anyhow::Result<Pair> {
    let names = sides.each_ref().map(|(name, _)| format!("{}, {name}", subject.name()));
    let rows = sides.iter().zip(&names).map(|((_, side), name)| RoundRow {
        name,
        servers: side.server,
        answers: side.answers,
        connections: CONNECTIONS,
        keys: side.keys,
        users: side.users.clone(),
    });
    let mut all = interleave(bench, stage, &rows.collect::<Vec<_>>()).await?.into_iter();
    let [plain, changed] = [all.next(), all.next()].map(Option::unwrap_or_default);
    Ok(Pair { subject, plain, changed })
}

/// The usual database of a stage.
async fn database(bench: &Bench, subject: Subject, name: &str) -> anyhow::Result<String> {
    let size = Size { users: bench.plan.users, newcomers: 0 };
    bench.database(subject, name, size).await
}

/// PostgreSQL that was analyzed after it was seeded, next to PostgreSQL whose tables are never
/// analyzed and were nearly empty when licd's statements were planned.
pub async fn unanalyzed(bench: &Bench) -> anyhow::Result<Vec<Pair>> {
    let mut all = Vec::new();
    for subject in bench.plan.pick([Postgres]) {
        let users = bench.plan.users;
        let analyzed = [bench.licd(&database(bench, subject, "analyzed").await?)?];
        let url = seed::postgres_unanalyzed(bench.cluster()?, "unanalyzed", &bench.key).await?;
        let unanalyzed = [bench.licd(&url)?];
        plan_statements(bench, &unanalyzed).await?;
        seed::add_holders(&url, FIRST_USERS..users).await?;
        let keys = &bench.key_file;
        let sides = [
            ("analyzed", Side::of_holders(&analyzed, keys, users)),
            ("never analyzed", Side::of_holders(&unanalyzed, keys, users)),
        ];
        all.push(compare(bench, "unanalyzed", subject, sides).await?);
    }
    Ok(all)
}

/// Loads licd for a moment, so that its connections have prepared and planned their statements.
async fn plan_statements(bench: &Bench, server: &[Server; 1]) -> anyhow::Result<()> {
    let load = Load {
        addresses: &[server[0].address],
        keys: &bench.key_file,
        connections: CONNECTIONS,
        seconds: 1,
        users: &(0..FIRST_USERS),
        order: Order::Random,
        suffix: "",
    };
    load.run(&bench.load_script).await.map(drop)
}

/// One API key next to a thousand, on the same server.
pub async fn keys(bench: &Bench) -> anyhow::Result<Vec<Pair>> {
    let mut all = Vec::new();
    for subject in bench.plan.pick([Sqlite, Postgres]) {
        let (users, one) = (bench.plan.users, &bench.key_file);
        let server = [bench.licd(&database(bench, subject, "keys").await?)?];
        say(format_args!("keys: creating {KEYS} keys for {}", subject.name()));
        let thousand = bench.folder.path().join("keys");
        let keys = bench.checker.create_keys(server[0].address, KEYS).await?;
        let keys: Vec<&str> = keys.iter().map(|key| key.expose()).collect();
        fs::write(&thousand, keys.join("\n"))?;
        let sides = [
            ("one key", Side::of_holders(&server, one, users)),
            ("a thousand keys", Side::of_holders(&server, &thousand, users)),
        ];
        all.push(compare(bench, "keys", subject, sides).await?);
    }
    Ok(all)
}

/// A log of only warnings, next to the default log, written to a file.
pub async fn logging(bench: &Bench) -> anyhow::Result<Vec<Pair>> {
    let mut all = Vec::new();
    for subject in bench.plan.pick([Sqlite, Postgres]) {
        let (users, keys) = (bench.plan.users, &bench.key_file);
        let quiet = [bench.licd(&database(bench, subject, "quiet").await?)?];
        let url = database(bench, subject, "logging").await?;
        let logging = [bench.logging_licd(&url, &bench.folder.path().join("licd.log"))?];
        let sides = [
            ("warnings only", Side::of_holders(&quiet, keys, users)),
            ("default log", Side::of_holders(&logging, keys, users)),
        ];
        all.push(compare(bench, "logging", subject, sides).await?);
    }
    Ok(all)
}

/// Few users next to many, on separate databases.
pub async fn growth(bench: &Bench) -> anyhow::Result<Vec<Pair>> {
    let mut all = Vec::new();
    for subject in bench.plan.pick([Sqlite, Postgres]) {
        let (few, many, keys) = (bench.plan.users, bench.plan.many_users, &bench.key_file);
        say(format_args!("growth: seeding {many} users for {}", subject.name()));
        let size = Size { users: many, newcomers: 0 };
        let few_users = [bench.licd(&database(bench, subject, "few").await?)?];
        let many_users = [bench.licd(&bench.database(subject, "many", size).await?)?];
        let (few_name, many_name) = (format!("{few} users"), format!("{many} users"));
        let sides = [
            (&*few_name, Side::of_holders(&few_users, keys, few)),
            (&*many_name, Side::of_holders(&many_users, keys, many)),
        ];
        all.push(compare(bench, "growth", subject, sides).await?);
    }
    Ok(all)
}

/// A storm of refusals on full licenses, without terms next to floating ones, whose seats might be
/// idle.
pub async fn refused(bench: &Bench) -> anyhow::Result<Vec<Pair>> {
    let mut all = Vec::new();
    for subject in bench.plan.pick([Sqlite, Postgres]) {
        let (users, keys) = (bench.plan.users, &bench.key_file);
        let mut servers = Vec::new();
        for (name, floating) in [("named_seats", false), ("floating_seats", true)] {
            let url = bench.database(subject, name, Size { users, newcomers: users }).await?;
            seed::fill(&url, floating).await?;
            servers.push([bench.licd(&url)?]);
        }
        let side = |server| Side { server, keys, users: users..2 * users, answers: Answers::Full };
        let sides = [("named seats", side(&servers[0])), ("floating seats", side(&servers[1]))];
        all.push(compare(bench, "refused", subject, sides).await?);
    }
    Ok(all)
}

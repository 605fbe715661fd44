//! The main table: every row at every number of connections.

use std::collections::BTreeMap;

use crate::bench::Bench;
use crate::pgbench::Pgbench;
use crate::process::Server;
use crate::report::say;
use crate::rounds::{RoundRow, Target, interleave};
use crate::seed::Size;
use crate::stats::Series;
use crate::subject::Subject;

/// The series of a run, by row and number of connections.
pub type Throughput = BTreeMap<(Subject, usize), Series>;

/// A row's servers, or its load generator where that needs no server.
enum Running {
    Servers(Vec<Server>),
    Pgbench(Pgbench),
}

pub async fn run(bench: &Bench) -> anyhow::Result<Throughput> {
    say("throughput: seeding databases, starting servers");
    let running = start(bench).await?;
    let (mut keys, mut rows) = (Vec::new(), Vec::new());
    for &connections in bench.plan.connections {
        for (&subject, running) in &running {
            let target = match running {
                // Each node needs a connection.
                Running::Servers(servers) if servers.len() > connections => continue,
                Running::Servers(servers) => {
                    Target::Servers { servers, answers: subject.answers() }
                }
                Running::Pgbench(pgbench) => Target::Pgbench(pgbench),
            };
            keys.push((subject, connections));
            rows.push(RoundRow {
                name: subject.name(),
                target,
                connections,
                keys: &bench.key_file,
                users: 0..bench.plan.users,
            });
        }
    }
    Ok(keys.into_iter().zip(interleave(bench, "throughput", &rows).await?).collect())
}

async fn start(bench: &Bench) -> anyhow::Result<BTreeMap<Subject, Running>> {
    let size = Size { users: bench.plan.users, newcomers: 0 };
    let postgres = match bench.cluster {
        Some(_) => bench.database(Subject::Postgres, "throughput", size).await?,
        None => String::new(),
    };
    let mut all = BTreeMap::new();
    for &subject in &bench.plan.subjects {
        let servers = match subject {
            Subject::Handler => vec![bench.handler()?],
            Subject::Node => vec![bench.node()?],
            Subject::Sqlite => {
                vec![bench.licd(&bench.database(subject, "throughput", size).await?)?]
            }
            Subject::Postgres => vec![bench.licd(&postgres)?],
            Subject::PostgresTwo => vec![bench.licd(&postgres)?, bench.licd(&postgres)?],
            Subject::PerRequestSqlite => {
                vec![bench.per_request(&bench.database(subject, "per_request", size).await?)?]
            }
            Subject::PerRequestPostgres => vec![bench.per_request(&postgres)?],
            Subject::Pgbench => {
                let (folder, users) = (bench.folder.path(), bench.plan.users);
                let pgbench = Pgbench::prepare(&postgres, folder, &bench.key, users).await?;
                all.insert(subject, Running::Pgbench(pgbench));
                continue;
            }
        };
        all.insert(subject, Running::Servers(servers));
    }
    Ok(all)
}

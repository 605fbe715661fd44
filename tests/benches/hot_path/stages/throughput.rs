//! The main table: every row at every number of connections.

use std::collections::BTreeMap;

use crate::bench::Bench;
use crate::process::Server;
use crate::report::say;
use crate::rounds::{RoundRow, interleave};
use crate::seed::Size;
use crate::stats::Series;
use crate::subject::Subject;

/// The series of a run, by row and number of connections.
pub type Throughput = BTreeMap<(Subject, usize), Series>;

pub async fn run(bench: &Bench) -> anyhow::Result<Throughput> {
    say("throughput: seeding databases, starting servers");
    let running = start(bench).await?;
    let (mut keys, mut rows) = (Vec::new(), Vec::new());
    for &connections in bench.plan.connections {
        // Each node needs a connection.
        for (&subject, servers) in running.iter().filter(|(_, nodes)| nodes.len() <= connections) {
            keys.push((subject, connections));
            rows.push(RoundRow {
                name: subject.name(),
                servers,
                answers: subject.answers(),
                connections,
                keys: &bench.key_file,
                users: 0..bench.plan.users,
            });
        }
    }
    Ok(keys.into_iter().zip(interleave(bench, "throughput", &rows).await?).collect())
}

async fn start(bench: &Bench) -> anyhow::Result<BTreeMap<Subject, Vec<Server>>> {
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
        };
        all.insert(subject, servers);
    }
    Ok(all)
}

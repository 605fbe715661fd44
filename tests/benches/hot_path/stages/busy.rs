//! Validations during busy loops, one for each core, which take half of the machine.

use std::process::{Child, Command};

use crate::bench::Bench;
use crate::rounds::{RoundRow, Target, interleave};
use crate::seed::Size;
use crate::stages::CONNECTIONS;
use crate::stats::Series;
use crate::subject::Subject::{self, Handler, Postgres, Sqlite};

pub async fn run(bench: &Bench) -> anyhow::Result<Vec<(Subject, Series)>> {
    let size = Size { users: bench.plan.users, newcomers: 0 };
    let mut servers = Vec::new();
    for subject in bench.plan.pick([Handler, Sqlite, Postgres]) {
        let server = match subject {
            Handler => bench.handler()?,
            _ => bench.licd(&bench.database(subject, "busy", size).await?)?,
        };
        servers.push((subject, [server]));
    }
    let rows = servers.iter().map(|(subject, servers)| RoundRow {
        name: subject.name(),
        target: Target::Servers { servers, answers: subject.answers() },
        connections: CONNECTIONS,
        keys: &bench.key_file,
        users: 0..bench.plan.users,
    });
    let rows: Vec<RoundRow<'_>> = rows.collect();
    let cores = std::thread::available_parallelism()?.get();
    let _loops = (0..cores).map(|_| BusyLoop::start()).collect::<anyhow::Result<Vec<_>>>()?;
    let all = interleave(bench, "busy", &rows).await?;
    Ok(servers.iter().map(|(subject, _)| *subject).zip(all).collect())
}

/// A process that takes as much of a core as the kernel gives it. It is killed when dropped.
struct BusyLoop(Child);

impl BusyLoop {
    fn start() -> anyhow::Result<Self> {
        Ok(Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn()?))
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

//! pgbench, the load generator that comes with PostgreSQL, calling one stored function that does
//! what a validation does. It is what the database can do when each call is a transaction and
//! nothing stands between: no HTTP, no JSON to parse, no second process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use common::ApiKey;
use sqlx::{Connection, PgConnection, raw_sql};

use crate::cluster::Cluster;
use crate::sql;

/// A database with the function in it, and the script that calls it.
pub struct Pgbench {
    database: String,
    script: PathBuf,
    folder: PathBuf,
    users: u64,
}

/// The result of one run.
pub struct PgbenchResult {
    pub rate: f64,
    pub latencies: Latencies,
}

impl Pgbench {
    pub async fn prepare(
        url: &str,
        folder: &Path,
        key: &ApiKey,
        users: u64,
    ) -> anyhow::Result<Self> {
        let mut connection = PgConnection::connect(url).await?;
        raw_sql(sql::VALIDATE_FUNCTION).execute(&mut connection).await?;
        connection.close().await?;
        let folder = folder.join("pgbench");
        fs::create_dir(&folder)?;
        let script = folder.join("validate.sql");
        let hash: String =
            licd::auth::gate::hash(key).iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(&script, sql::PGBENCH_SCRIPT.replace("HASH", &hash))?;
        let database = url.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Self { database, script, folder, users })
    }

    pub async fn run(
        &self,
        cluster: &Cluster,
        connections: usize,
        seconds: u64,
    ) -> anyhow::Result<PgbenchResult> {
        let mut command = cluster.program("pgbench");
        command
            .args(["--no-vacuum", "--protocol=prepared", "--log", "--host=127.0.0.1"])
            .args(["--username=postgres", "--jobs", &connections.min(2).to_string()])
            .args(["--port", &cluster.port().to_string()])
            .args(["--client", &connections.to_string()])
            .args(["--time", &seconds.to_string()])
            .args(["--define", &format!("users={}", self.users)])
            .arg("--file")
            .arg(&self.script)
            .arg(&self.database)
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        let done = tokio::task::spawn_blocking(move || command.output()).await?;
        let done = done.context("cannot run pgbench")?;
        let said = String::from_utf8_lossy(&done.stdout);
        ensure!(done.status.success(), "pgbench: {}", String::from_utf8_lossy(&done.stderr));
        let rate = said
            .lines()
            .find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse().ok());
        let rate = rate.with_context(|| format!("pgbench said no rate: {said}"))?;
        Ok(PgbenchResult { rate, latencies: self.take_latencies()? })
    }

    /// Reads and removes the logs: a line for each transaction, with its microseconds as the third
    /// number.
    fn take_latencies(&self) -> anyhow::Result<Latencies> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path == self.script {
                continue;
            }
            let log = fs::read_to_string(&path)?;
            all.extend(log.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u32>().ok()));
            fs::remove_file(path)?;
        }
        Ok(Latencies::new(all))
    }
}

/// Latencies of one run in microseconds, in order.
pub struct Latencies(Vec<u32>);

impl Latencies {
    fn new(mut micros: Vec<u32>) -> Self {
        micros.sort_unstable();
        Self(micros)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The latency that `share` of all calls did not exceed, in milliseconds.
    pub fn percentile(&self, share: f64) -> f64 {
        let rank = (self.0.len() as f64 * share).ceil() as usize;
        let micros = self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default();
        f64::from(micros) / 1000.0
    }
}

//! The load: wrk, a load generator that is known and packaged, with the script `load.lua`.
//!
//! wrk measures throughput and latency and counts refusals. The content of responses is checked
//! separately, in `check`. wrk reaches every kind of load of the benchmark, including several
//! nodes.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

/// Longer than any answer takes, so that a slow answer counts as slow and not as none.
const TIMEOUT: &str = "30s";
/// One for each core is enough: a thread of wrk serves many connections.
const MAX_THREADS: usize = 2;

/// One run of wrk.
pub struct Load<'a> {
    /// wrk's threads connect to these in turn.
    pub addresses: &'a [SocketAddr],
    /// A file of API keys; each request takes one of them at random.
    pub keys: &'a Path,
    pub connections: usize,
    pub seconds: u64,
    pub users: &'a Range<u64>,
    pub order: Order,
    /// Text after the number in each user's id.
    pub suffix: &'static str,
}

/// In which order users are validated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Random,
    /// Each once. When there are no more, the last one over and over.
    Once,
}

/// The report of a run, as `load.lua` writes it. Latencies are in microseconds.
#[derive(Deserialize)]
pub struct Report {
    pub requests: u64,
    pub micros: u64,
    pub bytes: u64,
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    /// Number of users, from the first one on, that may have been requested.
    pub asked: u64,
    status: u64,
    connect: u64,
    read: u64,
    write: u64,
    timeout: u64,
}

impl Load<'_> {
    /// Runs `script`. Any error is the whole run's: what is measured is answers.
    pub async fn run(&self, script: &Path) -> anyhow::Result<Report> {
        let threads = MAX_THREADS.min(self.connections).to_string();
        let nodes: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        let order = if self.order == Order::Random { "random" } else { "once" };
        let mut command = Command::new("wrk");
        command
            .args(["--threads", &threads, "--connections", &self.connections.to_string()])
            .args(["--duration", &format!("{}s", self.seconds), "--timeout", TIMEOUT])
            .arg("--script")
            .arg(script)
            .arg(format!("http://{}", self.addresses.first().context("no address")?))
            .env("LOAD_NODES", nodes.join(" "))
            .env("LOAD_KEYS", self.keys)
            .env("LOAD_USERS", format!("{} {}", self.users.start, self.users.end))
            .env("LOAD_ORDER", order)
            .env("LOAD_SUFFIX", self.suffix)
            .env("LOAD_THREADS", threads)
            .stdin(Stdio::null());
        let done = tokio::task::spawn_blocking(move || command.output()).await??;
        let output = String::from_utf8_lossy(&done.stdout);
        let line = output.lines().rfind(|line| line.starts_with('{'));
        let line = line.with_context(|| {
            format!("wrk reported nothing: {output}{}", String::from_utf8_lossy(&done.stderr))
        })?;
        let report: Report = serde_json::from_str(line)?;
        let Report { status, connect, read, write, timeout, .. } = report;
        ensure!(
            [status, connect, read, write, timeout] == [0; 5],
            "wrk counted {status} answers that are not 200, {timeout} that came too late, and \
             {connect} failures to connect, {read} to read and {write} to write"
        );
        ensure!(report.requests > 0, "wrk got no answer");
        Ok(report)
    }
}

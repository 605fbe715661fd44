//! What the benchmark can be told, and what it makes of it: how much, how long, how often.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::subject::Subject;

/// Measures licd's validations beside a bare handler, a transaction for each request, and pgbench.
#[derive(Parser)]
#[command(name = "hot_path")]
pub struct Options {
    /// Fewer connections, users and rounds: a minute or two.
    #[arg(long)]
    quick: bool,
    /// Measure only this row, beside the ceiling. May be given more than once.
    #[arg(long, value_name = "ROW")]
    only: Vec<Subject>,
    /// How often each row is measured at each number of connections; the median is shown.
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<usize>,
    /// Where the databases are made, and removed again. Their disk is part of what is measured.
    #[arg(long, value_name = "FOLDER", default_value_os_t = std::env::temp_dir())]
    pub dir: PathBuf,
    /// Write the chart here; a full run writes docs/performance.svg by itself.
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Leave growth and new seats out.
    #[arg(long)]
    pub throughput_only: bool,
    /// Passed by `cargo bench`; means nothing.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What the benchmark starts itself as: servers that exist only to be compared with.
#[derive(Subcommand)]
#[command(hide = true)]
pub enum Command {
    #[command(hide = true)]
    Ceiling { listen: SocketAddr },
    #[command(hide = true)]
    PerRequest { listen: SocketAddr, database: String },
}

/// How much is measured.
pub struct Plan {
    pub subjects: Vec<Subject>,
    pub connections: &'static [usize],
    pub rounds: usize,
    /// Not measured: connections are opened and caches filled.
    pub warm_up: Duration,
    pub measured: Duration,
    pub users: u64,
    /// The larger world that growth is measured in; none leaves growth and new seats out.
    pub many_users: Option<u64>,
    /// Users who have a license and no seat yet.
    pub newcomers: u64,
}

impl Options {
    pub fn plan(&self) -> Plan {
        let only = |subject: &Subject| self.only.is_empty() || self.only.contains(subject);
        let subjects = Subject::ALL.into_iter();
        let subjects = subjects.filter(|row| *row == Subject::Ceiling || only(row)).collect();
        let many = if self.quick { 100_000 } else { 1_000_000 };
        Plan {
            subjects,
            connections: if self.quick { &[1, 64] } else { &[1, 16, 64, 256] },
            rounds: self.rounds.unwrap_or(if self.quick { 3 } else { 5 }),
            warm_up: Duration::from_millis(if self.quick { 200 } else { 300 }),
            measured: Duration::from_millis(if self.quick { 800 } else { 1500 }),
            users: 10_000,
            many_users: (!self.throughput_only).then_some(many),
            newcomers: if self.quick { 50_000 } else { 200_000 },
        }
    }

    /// A quick or partial run does not replace the chart of a full one.
    pub fn chart_path(&self) -> Option<PathBuf> {
        let full = !self.quick && self.only.is_empty() && !self.throughput_only;
        let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.svg");
        self.chart.clone().or_else(|| full.then_some(usual))
    }
}

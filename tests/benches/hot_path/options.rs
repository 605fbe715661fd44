//! The options of the benchmark, and the plan that follows from them: what is measured, and how
//! long.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand, ValueEnum};

use crate::subject::Subject;

/// Measures licd's validations beside a bare handler, a transaction for each request, and pgbench.
#[derive(Parser)]
#[command(name = "hot_path")]
pub struct Options {
    /// Fewer users, rounds and connections: three minutes or so.
    #[arg(long)]
    quick: bool,
    /// Run only this stage. May be given more than once.
    #[arg(long, value_name = "STAGE")]
    stage: Vec<Stage>,
    /// Measure only this row, beside the bare handler. May be given more than once.
    #[arg(long, value_name = "ROW")]
    only: Vec<Subject>,
    /// How often each row is measured; medians are shown.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Where the databases are made, and removed again. Their disk is part of what is measured.
    #[arg(long, value_name = "FOLDER", default_value_os_t = std::env::temp_dir())]
    pub dir: PathBuf,
    /// Write the chart here; a full run writes docs/performance.svg by itself.
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Passed by `cargo bench`; means nothing.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The servers that exist only to be compared with; the benchmark starts itself as each.
#[derive(Subcommand)]
#[command(hide = true)]
pub enum Command {
    #[command(hide = true)]
    Handler { listen: SocketAddr, answer: PathBuf },
    #[command(hide = true)]
    PerRequest { listen: SocketAddr, database: String },
}

/// A part of the benchmark, with a table of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// All rows, by number of connections.
    Throughput,
    /// PostgreSQL with statements that were planned on empty tables, and never analyzed.
    Unanalyzed,
    /// Beside busy loops that take half of the cores.
    Busy,
    /// A thousand API keys in use instead of one.
    Keys,
    /// The default log, written to a file.
    Logging,
    /// Many users instead of few.
    Growth,
    /// Every validation is refused, as all seats are taken; floating ones beside others.
    Refused,
    /// Every validation takes a seat.
    Seats,
    /// Every validation creates a user.
    Users,
    /// One tenant beside another that floods, and one key beside another of its tenant.
    Neighbours,
    /// The pages of the dashboard, and validations beside them.
    Pages,
    /// Events that are sent to webhooks, and validations beside them.
    Webhooks,
}

/// What is measured, and how long.
pub struct Plan {
    pub stages: Vec<Stage>,
    pub subjects: Vec<Subject>,
    pub connections: &'static [usize],
    pub rounds: u64,
    /// How long a round of one row takes.
    pub seconds: u64,
    pub users: u64,
    /// How many users the larger database of growth holds.
    pub many_users: u64,
    /// Users who have a license and no seat yet.
    pub newcomers: u64,
}

impl Options {
    pub fn plan(&self) -> Plan {
        let only = |subject: &Subject| {
            *subject == Subject::Handler || self.only.is_empty() || self.only.contains(subject)
        };
        let all = Stage::value_variants().iter().copied();
        Plan {
            stages: all
                .filter(|stage| self.stage.is_empty() || self.stage.contains(stage))
                .collect(),
            subjects: Subject::ALL.into_iter().filter(only).collect(),
            connections: if self.quick { &[64] } else { &[1, 64, 256] },
            rounds: self.rounds.unwrap_or(if self.quick { 3 } else { 5 }),
            seconds: if self.quick { 1 } else { 3 },
            users: 10_000,
            many_users: if self.quick { 100_000 } else { 1_000_000 },
            newcomers: if self.quick { 250_000 } else { 400_000 },
        }
    }

    /// A quick or partial run does not replace the chart of a full one.
    pub fn chart_path(&self) -> Option<PathBuf> {
        let full = !self.quick && self.only.is_empty() && self.stage.is_empty();
        let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.svg");
        self.chart.clone().or_else(|| full.then_some(usual))
    }
}

impl Plan {
    /// Those of `subjects` that are measured.
    pub fn pick<const N: usize>(&self, subjects: [Subject; N]) -> Vec<Subject> {
        subjects.into_iter().filter(|subject| self.subjects.contains(subject)).collect()
    }
}

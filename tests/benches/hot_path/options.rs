//! The options of the benchmark, and the plan that follows from them: what is measured, and how
//! long.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::subject::Subject;

/// Measure licd's validations next to a bare handler and to a transaction for each request
#[derive(Parser)]
#[command(name = "hot_path")]
pub struct Options {
    /// Fewer users, rounds and connections: three minutes or so.
    #[arg(long)]
    quick: bool,
    /// Run only this stage. May be given more than once.
    #[arg(long, value_name = "STAGE")]
    stage: Vec<Stage>,
    /// Measure only this row, next to the bare handler. May be given more than once
    #[arg(long, value_name = "ROW")]
    only: Vec<Subject>,
    /// Number of rounds for each row. Medians are shown.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Folder in which the databases are created and removed. Its disk is part of the measurement.
    #[arg(long, value_name = "FOLDER", default_value_os_t = std::env::temp_dir())]
    pub dir: PathBuf,
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
    /// A thousand API keys in use instead of one.
    Keys,
    /// The default log, written to a file.
    Logging,
    /// Many users instead of few.
    Growth,
    /// Every validation is refused because all seats are taken; with and without floating seats
    Refused,
    /// Every validation takes a seat.
    Seats,
    /// Every validation creates a user.
    Users,
    /// A tenant while another one floods licd, and a key while another key of its tenant does
    Neighbours,
    /// Pages of the dashboard, and validations at the same time
    Pages,
    /// Events that are sent to webhooks, and validations at the same time
    Webhooks,
}

/// The rows to measure, and their durations.
pub struct Plan {
    pub stages: Vec<Stage>,
    pub subjects: Vec<Subject>,
    pub connections: &'static [usize],
    pub rounds: u64,
    /// Duration of a round of one row, in seconds.
    pub seconds: u64,
    pub users: u64,
    /// Number of users in the larger database of growth.
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
}

impl Plan {
    /// Returns the `subjects` that are measured.
    pub fn pick<const N: usize>(&self, subjects: [Subject; N]) -> Vec<Subject> {
        subjects.into_iter().filter(|subject| self.subjects.contains(subject)).collect()
    }
}

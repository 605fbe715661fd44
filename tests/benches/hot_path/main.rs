//! The benchmark of the hot path: how many validations licd answers in a second, beside what limits
//! it and what it is better than.
//!
//! One run starts everything that is compared as processes of their own on the loopback interface,
//! loads one after the other in interleaved rounds, and prints medians. What the rows are is said
//! in `subject`, what is measured in `load` and `process`, what is expected in `goals`.
//!
//! `cargo bench -p tests --bench hot_path -- --quick`

mod ceiling;
mod chart;
mod cluster;
mod database;
mod goals;
mod growth;
mod load;
mod options;
mod per_request;
mod pgbench;
mod process;
mod report;
mod rounds;
mod seats;
mod seed;
mod stage;
mod stats;
mod subject;

use std::process::ExitCode;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use options::{Command, Options};

fn main() -> ExitCode {
    // `cargo test --all-targets` starts every bench target too, and means only to see it run.
    if std::env::args().len() == 1 {
        report::say("run me with: cargo bench -p tests --bench hot_path -- --help");
        return ExitCode::SUCCESS;
    }
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::say(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match options.command {
            Some(Command::Ceiling { listen }) => ceiling::serve(listen).await,
            Some(Command::PerRequest { listen, database }) => {
                per_request::serve(listen, &database).await
            }
            // However it ends, everything that was started is dropped, and with it stopped.
            None => {
                let mut terminate = signal(SignalKind::terminate())?;
                tokio::select! {
                    done = compare(&options) => done,
                    _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
                    _ = terminate.recv() => anyhow::bail!("terminated"),
                }
            }
        }
    })
}

async fn compare(options: &Options) -> anyhow::Result<()> {
    let plan = options.plan();
    let stage = stage::Stage::build(options, &plan).await?;
    report::surroundings(&stage, &plan)?;
    let mut results = rounds::Results::default();
    rounds::run(&stage, &plan, &mut results).await?;
    report::throughput(&results, &plan)?;
    let growth = growth::run(&stage, &plan).await?;
    report::growth(&growth, &plan)?;
    let seats = seats::run(&stage, &plan).await?;
    report::seats(&seats)?;
    report::goals(&goals::judge(&results, &growth))?;
    if let Some(path) = options.chart_path() {
        std::fs::write(&path, chart::draw(&results, &plan))?;
        report::say(format_args!("chart: {}", path.display()));
    }
    Ok(())
}

//! The benchmark of the hot path: validations per second, next to the limits of the machine and to
//! the design that licd replaces.
//!
//! A run starts everything that is compared as processes of their own on the loopback interface,
//! loads one after the other with wrk in interleaved rounds, and prints medians. The rows are in
//! `subject`, the stages in `stages`, the load in `wrk`, the checks of answers in `check`, and the
//! expectations in `goals`. All SQL is in `sql`.
//!
//! `cargo bench -p tests --bench hot_path -- --quick`

mod bench;
mod check;
mod cluster;
mod goals;
mod handler;
mod options;
mod per_request;
mod process;
mod report;
mod rounds;
mod seed;
mod sql;
mod stages;
mod stats;
mod subject;
mod wrk;

use std::process::ExitCode;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use bench::Bench;
use options::{Command, Options};
use report::say;
use stages::Results;

fn main() -> ExitCode {
    // `cargo test --all-targets` starts every bench target too, without arguments.
    if std::env::args().len() == 1 {
        say("run me with: cargo bench -p tests --bench hot_path -- --help");
        return ExitCode::SUCCESS;
    }
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match options.command {
            Some(Command::Handler { listen, answer }) => handler::serve(listen, &answer).await,
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

/// Runs the stages. One that fails does not keep the others from running, but the benchmark fails.
async fn compare(options: &Options) -> anyhow::Result<()> {
    let bench = Bench::build(options, options.plan()).await?;
    report::surroundings(&bench)?;
    let (mut results, mut failed) = (Results::default(), Vec::new());
    for &stage in &bench.plan.stages {
        if let Err(error) = results.run(&bench, stage).await {
            say(format_args!("{stage:?} failed: {error:#}"));
            failed.push(stage);
        }
    }
    report::goals(&goals::judge(&results))?;
    anyhow::ensure!(failed.is_empty(), "stages failed: {failed:?}");
    Ok(())
}

//! The program `licd`: its commands and their words. What they do is in the library.

mod commands;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

/// Answers are made in one thread and freed in another, which costs the system's allocator a
/// twelfth more CPU for each validation. Huge pages are left alone: they would take 15 MB.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = commands::Args::parse();
    start_log(args.log(), args.log_format);
    // TLS to PostgreSQL and of the demo's client; there is one provider, so this cannot fail twice.
    drop(rustls::crypto::ring::default_provider().install_default());
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        // A thread of SQLite's that has an answer puts it in the queue that all threads share.
        // Looking there before each task, instead of every few dozen, gives a quarter more
        // validations in a second: the database has something to do while answers are written.
        .global_queue_interval(1)
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(commands::run(args.command)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            commands::say(format_args!("licd: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// How many threads handle requests: half the cores. The other half is SQLite's threads', or the
/// database's; a thread for each core would cost a sixth more for each validation, in waking each
/// other.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// To standard error, as people read it or as JSON for collectors.
fn start_log(filter: &str, format: commands::LogFormat) {
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        commands::LogFormat::Text => log.init(),
        commands::LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

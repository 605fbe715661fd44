//! The program `licd`: its commands and their messages. The library does their work.

mod commands;
mod log;

use std::process::ExitCode;

use clap::Parser;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

/// Answers are made in one thread and freed in another, which costs the system's allocator a
/// twelfth more CPU for each validation. Huge pages are left alone: they would take 15 MB.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    allow_no_core();
    let args = commands::Args::parse();
    let Ok(flush) = log::start(&args.log_filter(), args.log_format) else {
        // Without a thread or a descriptor nothing else works either, and no message can be
        // written.
        return ExitCode::FAILURE;
    };
    // TLS to PostgreSQL and of the demo's client; there is one provider, so this cannot fail twice.
    drop(rustls::crypto::ring::default_provider().install_default());
    match run(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(flush);
            log::line(format_args!("licd: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// A core file would hold keys and a database's password. An operator who wants one all the same
/// raises the limit of the running process, by `prlimit --core`.
fn allow_no_core() {
    let maximum = getrlimit(Resource::Core).maximum;
    // A limit can always be lowered.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}

fn run(command: commands::Command) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        // A thread of SQLite's that has an answer puts it in the queue that all threads share.
        // Looking there before every other task, instead of every few dozen, gives a quarter more
        // validations in a second: the database has something to do while answers are written.
        // Before every task would let that queue starve a thread's own: of 512 connections, some
        // then waited 0.3 s for what usually takes 10 ms.
        .global_queue_interval(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        // A file that may grow no more is then an error like a full disk, and not the end. It fails
        // for no signal that may be handled.
        let _handled = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
        commands::run(command).await
    });
    // A look-up of a host's name that hangs must not keep the process.
    runtime.shutdown_background();
    outcome
}

/// How many threads handle requests: half the cores. The other half is SQLite's threads', or the
/// database's; a thread for each core would cost a sixth more for each validation, in waking each
/// other.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

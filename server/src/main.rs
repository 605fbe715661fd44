//! The program `licd`: its commands and their messages. The library does the work.

mod commands;
mod log;

use std::process::ExitCode;

use clap::Parser;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

/// Responses are allocated in one thread and freed in another, which costs a twelfth more CPU per
/// validation with the system's allocator. Huge pages stay off, since they would take 15 MB.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    allow_no_core();
    if let Err(error) = commands::environment::tidy() {
        log::fatal(format_args!("licd: {error:#}"));
        return ExitCode::FAILURE;
    }
    let args = commands::Args::parse();
    if args.command.is_of_the_host()
        && let Err(error) = commands::environment::read_file()
    {
        log::fatal(format_args!("licd: {error:#}"));
        return ExitCode::FAILURE;
    }
    let Ok(flush) = log::start(&args.log_filter(), args.log_format) else {
        // Without a thread or a descriptor nothing works, not even a message.
        return ExitCode::FAILURE;
    };
    // Used by TLS to PostgreSQL and the demo's client. This is the only installation of a provider,
    // so it cannot fail.
    drop(rustls::crypto::ring::default_provider().install_default());
    match run(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(flush);
            log::fatal(format_args!("licd: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// A core file would contain keys and a database's password. An operator who needs one anyway can
/// raise the limit of the running process with `prlimit --core`.
fn allow_no_core() {
    let maximum = getrlimit(Resource::Core).maximum;
    // A limit can always be lowered.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}

fn run(command: commands::Command) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        // SQLite's threads put their results into the queue that all threads share. Checking it
        // before every other task, instead of every few dozen, gives a quarter more validations per
        // second: the database is kept busy while responses are written. Checking it before every
        // task would let that queue starve the threads' own queues: of 512 connections, some waited
        // 0.3 s for what usually takes 10 ms.
        .global_queue_interval(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        // With this handler, exceeding the limit on file sizes is an error, like a full disk, and
        // does not kill the process. SIGXFSZ can always be handled.
        let _handled = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
        commands::run(command).await
    });
    // A hanging look-up of a host's name must not delay the exit.
    runtime.shutdown_background();
    outcome
}

/// Returns the number of threads that handle requests: half the cores. The other half is for SQLite's
/// threads or the database. A thread per core would make each validation a sixth more expensive,
/// because threads wake each other.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

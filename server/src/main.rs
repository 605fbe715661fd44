//! The program `licd`: its commands and their words. What they do is in the library.

mod commands;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let args = commands::Args::parse();
    start_log(args.log(), args.log_format);
    // TLS to PostgreSQL and of the demo's client; there is one provider, so this cannot fail twice.
    drop(rustls::crypto::ring::default_provider().install_default());
    let outcome = tokio::runtime::Builder::new_multi_thread()
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

//! The `licctl` program: [`licctl::run`] with this process's arguments, environment and streams.

use std::process::ExitCode;

fn main() -> ExitCode {
    let streams = licctl::Streams::of_this_process();
    ExitCode::from(licctl::run(std::env::args_os(), licctl::Env::of_this_process(), streams))
}

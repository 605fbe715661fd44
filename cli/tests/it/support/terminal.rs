//! licctl on a terminal of its own.

use std::process::Command;

use rexpect::session::{PtySession, spawn_command};

use super::Home;

/// Longer than any answer takes, on any machine.
pub const SCREEN_TIMEOUT_MS: Option<u64> = Some(60_000);

/// Runs licctl on a terminal of its own.
pub fn on_a_terminal(home: &Home, args: &[&str]) -> PtySession {
    let mut command = Command::new(env!("CARGO_BIN_EXE_licctl"));
    command.args(args).env_clear().envs(home.variables());
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    spawn_command(command, SCREEN_TIMEOUT_MS).unwrap()
}

/// Sends these keys and flushes them.
pub fn press(terminal: &mut PtySession, keys: &str) {
    terminal.send(keys).unwrap();
    terminal.flush().unwrap();
}

/// The exit code, parsed from the debug form, as its type is not public.
pub fn exit(session: &PtySession) -> i32 {
    let status = format!("{:?}", session.process().wait().unwrap());
    let code = status.strip_prefix("Exited(").and_then(|rest| rest.rsplit(", ").next());
    code.and_then(|code| code.trim_end_matches(')').parse().ok())
        .unwrap_or_else(|| panic!("{status}"))
}

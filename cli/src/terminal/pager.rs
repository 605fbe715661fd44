//! Shows a table that is longer than the screen through a pager, as git and gh do.

use std::io::Write;
use std::process::{Command, Stdio};

use super::env::Env;
use super::{Io, env};

/// A shell's exit code for a program that it does not find.
const NOT_FOUND: i32 = 127;

/// The command that pages, unless it is turned off.
pub fn command(variables: &Env, is_off: bool) -> Option<String> {
    let usual = cfg!(unix).then_some("less");
    let given = variables.get(env::PAGER).or(variables.get("PAGER")).or(usual);
    let is_plain = |command: &&str| *command == "cat" || variables.get("TERM") == Some("dumb");
    given.filter(|command| !is_off && !is_plain(command)).map(str::to_owned)
}

/// Whether the text was shown by the pager. One that is missing shows nothing.
pub fn show(io: &Io, command: Option<&str>, text: &str) -> bool {
    let is_long = io.height.is_some_and(|height| text.lines().count() >= height);
    let Some(command) = command.filter(|_| io.terminals.stdout && is_long) else { return false };
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
    let mut pager = Command::new(shell);
    pager.args([flag, command]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // It ends by itself on a short text, keeps colours, and leaves the text on the screen.
        pager.env("LESS", "FRX");
    }
    let Ok(mut running) = pager.spawn() else { return false };
    if let Some(mut stdin) = running.stdin.take() {
        // Who has seen enough leaves the pager before the end of the text.
        let _ = stdin.write_all(text.as_bytes());
    }
    running.wait().is_ok_and(|ended| ended.code() != Some(NOT_FOUND))
}

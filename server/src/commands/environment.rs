//! The settings in the environment, without what is invisible around them.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, anyhow};
use common::setting;

/// Starts licd again, in this process, if a setting has blanks or line ends around it, which editors
/// and shells leave there. Fails if one contains an invisible character.
pub fn tidy() -> anyhow::Result<()> {
    let mut tidied = Vec::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with("LICD_")) else { continue };
        // What is no text is refused where it is read.
        let Some(value) = value.to_str() else { continue };
        let text = setting(value).map_err(|error| anyhow!("{name}: {error}"))?;
        if text.len() < value.len() {
            tidied.push((name.to_owned(), text.to_owned()));
        }
    }
    if tidied.is_empty() { Ok(()) } else { restart(tidied).map(|never| match never {}) }
}

/// Variables cannot be changed safely in a running process.
fn restart(tidied: Vec<(String, String)>) -> anyhow::Result<Infallible> {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("licd"));
    let program = std::env::current_exe().context("cannot find the program of licd")?;
    let error = Command::new(program).arg0(name).args(arguments).envs(tidied).exec();
    Err(error).context("cannot start with the settings as they are meant")
}

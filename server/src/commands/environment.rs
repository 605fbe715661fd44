//! The settings in the environment: without what is invisible around them, and for commands on the
//! service's host those of the service.

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, anyhow};
use common::setting;
use licd::small_file;

/// The variable that names another file than [`DEFAULT_FILE`].
pub const FILE: &str = "LICD_ENV_FILE";
/// The file with the settings of a service that a package installed. Its unit reads the same file.
const DEFAULT_FILE: &str = "/etc/licd/licd.env";
/// Set by [`read_file`] when it starts licd again: the file that the settings were read from.
pub const READ_FROM: &str = "LICD_ENV_FILE_READ";

/// Gives a command on the host the settings of the service, so that both use the same database:
/// those that the file sets and the environment does not. Starts licd again, in this process. Does
/// nothing if a setting already names a database, or if there is no such file.
pub fn read_file() -> anyhow::Result<()> {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if ["LICD_DATABASE_URL", "LICD_DATABASE_URL_FILE", READ_FROM].into_iter().any(is_set) {
        return Ok(());
    }
    let named = env::var_os(FILE).filter(|name| !name.is_empty());
    let path = PathBuf::from(named.clone().unwrap_or_else(|| DEFAULT_FILE.into()));
    let bytes = match small_file::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => return Ok(()),
        read => read.with_context(|| {
            format!(
                "cannot read the settings of the service in {}; run the command as a user who can, or \
                 set LICD_DATABASE_URL",
                path.display()
            )
        })?,
    };
    let text = str::from_utf8(&bytes).with_context(|| path.display().to_string())?;
    let mut settings: Vec<_> = parse(text).filter(|(name, _)| !is_set(name)).collect();
    if settings.iter().any(|(name, _)| name.starts_with("LICD_DATABASE_URL")) {
        settings.push((READ_FROM.to_owned(), path.display().to_string()));
        restart(settings).map(|never| match never {})?;
    }
    Ok(())
}

/// The settings in a file as systemd reads it: `NAME=VALUE`, perhaps in quotes. How the service
/// logs does not concern its host's commands.
fn parse(text: &str) -> impl Iterator<Item = (String, String)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    let pairs = pairs.map(|(name, value)| (name.trim_end(), value.trim_start()));
    let is_wanted = |name: &str| {
        name.starts_with("PG") || name.starts_with("LICD_") && !name.starts_with("LICD_LOG")
    };
    pairs.filter(move |(name, _)| is_wanted(name)).map(|(name, value)| {
        let quoted = ['"', '\''].into_iter().find_map(|quote| {
            value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote))
        });
        (name.to_owned(), quoted.unwrap_or(value).to_owned())
    })
}

/// Starts licd again, in this process, if a setting has blanks or line ends around it, which
/// editors and shells leave there. Fails if one contains an invisible character.
pub fn tidy() -> anyhow::Result<()> {
    let mut tidied = Vec::new();
    for (name, value) in env::vars_os() {
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
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("licd"));
    let program = env::current_exe().context("cannot find the program of licd")?;
    let error = Command::new(program).arg0(name).args(arguments).envs(tidied).exec();
    Err(error).context("cannot start with the settings as they are meant")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_as_systemd_reads_it() {
        let text = "# LICD_LISTEN=no\n\n ; a\nLICD_DATABASE_URL = \"sqlite:///a b\"\nLICD_LOG=debug\n\
                    PGPASSWORD='a=b'\nPATH=/bin\nLICD_LISTEN=:80\nLICD_X=";
        let settings: Vec<_> = parse(text).collect();
        let expected = [
            ("LICD_DATABASE_URL", "sqlite:///a b"),
            ("PGPASSWORD", "a=b"),
            ("LICD_LISTEN", ":80"),
            ("LICD_X", ""),
        ];
        assert_eq!(settings, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}

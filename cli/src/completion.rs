//! Completion of command lines: commands and flags from their definitions, ids and names from the
//! cache. It sends no request.

use std::ffi::{OsStr, OsString};

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use crate::completion_cache;
use crate::config::{Config, Folder};
use crate::context::{DEFAULT_SERVER, parse_server};
use crate::env::{self, Env};
use crate::error::{Error, Exit, Result};

/// A shell sets this variable when it requests completions.
const COMPLETE_VARIABLE: &str = "LICCTL_COMPLETE";

/// The script that registers the completion with a shell.
pub fn script(shell: &str) -> Result<String> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let known = shells.completer(shell).ok_or_else(|| {
        Error::usage(format!("There are no completions for {shell}.")).because(format!(
            "Completions exist for {}.",
            shells.names().collect::<Vec<_>>().join(", ")
        ))
    })?;
    known
        .write_registration(COMPLETE_VARIABLE, "licctl", "licctl", "licctl", &mut script)
        .map_err(|error| failed(&error))?;
    String::from_utf8(script).map_err(|error| failed(&error.utf8_error()))
}

/// The completions that a shell requests; none when no shell does.
pub fn respond(env: &Env, args: &[OsString], grammar: fn() -> Command) -> Option<Result<String>> {
    let shells = Shells::builtins();
    let shell = shells.completer(env.get(COMPLETE_VARIABLE)?)?;
    let words = args.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
    let mut command = with_names(grammar(), env);
    command.build();
    let mut lines = Vec::new();
    let written = shell.write_complete(&mut command, words, None, &mut lines);
    Some(
        written
            .map_err(|error| failed(&error))
            .map(|()| String::from_utf8_lossy(&lines).into_owned()),
    )
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(Exit::Internal, "completion", error.to_string())
}

/// Adds a completer to every argument that takes a record.
fn with_names(command: Command, env: &Env) -> Command {
    let command = command.mut_args(|arg| match kind(arg.get_id().as_str()) {
        Some(kind) => {
            let env = env.clone();
            arg.add(ArgValueCompleter::new(move |typed: &OsStr| candidates(&env, kind, typed)))
        }
        None => arg,
    });
    let names: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |command| with_names(command, env))
    })
}

/// The kind of record that an argument of this name takes.
fn kind(argument: &str) -> Option<&'static str> {
    match argument {
        "product" => Some("product"),
        "plan" => Some("plan"),
        "license" | "licenses" => Some("license"),
        "user" | "users" | "assign" => Some("user"),
        "key" => Some("key"),
        "profile" => Some("profile"),
        _ => None,
    }
}

fn candidates(env: &Env, kind: &str, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let fits = known(env, kind).into_iter().filter(|(word, _)| word.starts_with(&*typed));
    let candidate = |(word, about): (String, String)| {
        let about = Some(about).filter(|about| !about.is_empty());
        CompletionCandidate::new(word).help(about.map(Into::into))
    };
    fits.map(candidate).collect()
}

/// The completions of a kind, with their descriptions.
fn known(env: &Env, kind: &str) -> Vec<(String, String)> {
    let Ok(folder) = Folder::locate(env) else { return Vec::new() };
    let Ok(config) = Config::load(&folder) else { return Vec::new() };
    if kind == "profile" {
        let profiles = config.profiles.iter();
        return profiles.map(|(name, it)| (name.clone(), it.server.to_string())).collect();
    }
    let name = env.get(env::PROFILE).or(config.current.as_deref());
    let own = name.and_then(|name| config.profiles.get(name)).map(|it| it.server.to_string());
    let server = env.get(env::SERVER).map(str::to_owned).or(own);
    let server = parse_server(server.as_deref().unwrap_or(DEFAULT_SERVER), env::SERVER);
    let mut seen = server.map(|server| completion_cache::load(folder, &server)).unwrap_or_default();
    seen.remove(kind).unwrap_or_default()
}

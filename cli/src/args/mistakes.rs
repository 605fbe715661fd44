//! The error for a command line that cannot be parsed, with tips for common mistakes.

use std::ffi::OsString;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{grammar, wants_json};
use crate::context::shows_colors;
use crate::error::{Error, Exit};
use crate::terminal::Env;
use crate::terminal::Io;

/// Prints `--help` and `--version`, or the error of a command line.
pub fn show(io: &Io, env: &Env, args: &[OsString], mut error: clap::Error) -> Exit {
    let shown = |text: StyledStr, terminal| match shows_colors(env, terminal) {
        true => text.ansi().to_string(),
        false => text.to_string(),
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let text = shown(error.render(), io.terminals.stdout);
        return io.data(&text).map_or_else(|error| error.exit, |()| Exit::Success);
    }
    if let Some(near) = near_commands(&error) {
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
    if let Some(tip) = dash_tip(args, &error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let text = error.render();
    if wants_json(env, args) {
        io.say(&format!("{}\n", usage_error(&text.to_string()).json()));
    } else {
        io.say(&shown(text, io.terminals.stderr));
    }
    Exit::Usage
}

/// The error for a program: the first paragraph, and the tips, which offer near words.
fn usage_error(text: &str) -> Error {
    let message = text.split("\n\n").next().unwrap_or_default();
    let message: Vec<&str> = message.lines().map(str::trim).collect();
    let message = message.join(" ");
    let tips: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
    let hint = if tips.is_empty() { "see --help".to_owned() } else { tips.join("; ") };
    Error::usage(message.strip_prefix("error: ").unwrap_or(&message)).fix(hint)
}

/// A tip for a value that begins with a dash and was read as a flag.
fn dash_tip(args: &[OsString], error: &clap::Error) -> Option<String> {
    if error.kind() == ErrorKind::ValueValidation {
        return None;
    }
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
    let is_it = |flag: &str, value: &str| {
        let begins = value.starts_with('-') && !value.starts_with("--") && value.len() > 1;
        let is_wrong = value.starts_with(wrong.as_str()) || wrong.split(' ').next() == Some(flag);
        begins && is_wrong && takes_value(&grammar(), flag)
    };
    let pair = words.windows(2).find(|pair| is_it(&pair[0], &pair[1]))?;
    Some(format!("pass a value that begins with - after an equals sign: {}={}", pair[0], pair[1]))
}

/// The suggested commands without aliases, which would repeat a suggestion.
fn near_commands(error: &clap::Error) -> Option<ContextValue> {
    let Some(ContextValue::Strings(near)) = error.get(ContextKind::SuggestedSubcommand) else {
        return None;
    };
    let grammar = grammar();
    let names: Vec<String> = near.iter().filter(|word| is_name(&grammar, word)).cloned().collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(ContextValue::String(one.clone())),
        _ => Some(ContextValue::Strings(names)),
    }
}

/// Whether any command has this name, and not as an alias.
fn is_name(command: &Command, word: &str) -> bool {
    command.get_subcommands().any(|it| it.get_name() == word || is_name(it, word))
}

/// Whether any command has a flag of this name that takes a value.
fn takes_value(command: &Command, flag: &str) -> bool {
    let name = flag.strip_prefix("--");
    let mut args = command.get_arguments();
    args.any(|arg| arg.get_long() == name && name.is_some() && arg.get_action().takes_values())
        || command.get_subcommands().any(|command| takes_value(command, flag))
}

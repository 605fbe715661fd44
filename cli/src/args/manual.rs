//! `licctl completions` and `licctl man`: files for shells and packages.

use std::fs;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, Resettable};
use clap::{Args, Command, ValueHint};
use clap_mangen::Man;
use roff::{Roff, roman};

use super::completion;
use super::help;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::View;

/// Print a completion script for commands, flags, ids and names
#[derive(Args)]
pub struct CompletionsArgs {
    /// Your shell
    #[arg(value_parser = PossibleValuesParser::new(completion::SHELLS))]
    shell: String,
}

/// Print a manual page, or write all of them to a directory
#[derive(Args)]
pub struct ManArgs {
    /// Command to describe [default: licctl itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands to this directory
    #[arg(long, value_name = "FOLDER", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    all_to: Option<PathBuf>,
}

pub fn completions(args: &CompletionsArgs) -> Result<View> {
    completion::script(&args.shell).map(View::text)
}

/// More flags than any command has.
const GLOBALS: usize = 1000;

/// The pages of a grammar.
pub fn man(ctx: &Context, args: &ManArgs, mut command: Command) -> Result<View> {
    command.build();
    if let Some(folder) = &args.all_to {
        let written = fs::create_dir_all(folder).and_then(|()| write_all(&command, folder));
        let count = written.map_err(|error| {
            Error::usage(format!("Cannot write to {}.", folder.display()))
                .because(error.to_string())
        })?;
        ctx.note(&format!("wrote {count} pages to {}", folder.display()));
        return View::new(count, Vec::new());
    }
    let mut found = &command;
    for word in &args.command {
        let next = found.find_subcommand(word);
        found = next.ok_or_else(|| {
            Error::not_found(format!("Unknown command {word}.")).fix("licctl --help")
        })?;
    }
    page(found).map(View::text).map_err(|error| Error::usage(error.to_string()))
}

/// The page of a command, with the sections that every command shares.
fn page(command: &Command) -> std::io::Result<String> {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let whole = command.clone().mut_args(|arg| {
        // The command's own flags come before the global ones.
        let order = arg.get_display_order();
        let order = if arg.is_global_set() { order + GLOBALS } else { order };
        // Without this, the page would list the flags that the help hides without descriptions.
        arg.hide_short_help(false).hide_long_help(false).display_order(order)
    });
    let whole = whole.after_help(Resettable::Reset).after_long_help(Resettable::Reset);
    let mut page = Vec::new();
    Man::new(whole).source(concat!("licctl ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    let mut more = Roff::new();
    let examples = examples.strip_prefix("Examples:\n").unwrap_or(&examples);
    for (title, text) in [
        ("EXAMPLES", examples),
        ("EXIT STATUS", help::EXIT_CODES),
        ("ENVIRONMENT", help::ENVIRONMENT),
        ("FILES", help::FILES),
    ] {
        literal(&mut more, title, text);
    }
    Ok((String::from_utf8_lossy(&page) + &*more.to_roff()).chars().map(in_ascii).collect())
}

/// A character as every formatter reads it, whatever encoding it expects.
fn in_ascii(letter: char) -> String {
    if letter.is_ascii() { letter.into() } else { format!("\\[u{:04X}]", u32::from(letter)) }
}

/// A section whose lines stay as they are.
fn literal(roff: &mut Roff, title: &str, text: &str) {
    roff.control("SH", [title]).control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

/// Writes the page of a command and those of all below it; gives their number.
fn write_all(command: &Command, folder: &std::path::Path) -> std::io::Result<usize> {
    let man = Man::new(command.clone());
    fs::write(folder.join(man.get_filename()), page(command)?)?;
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    below.map(|command| write_all(command, folder)).sum::<std::io::Result<usize>>().map(|n| n + 1)
}

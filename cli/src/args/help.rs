//! `licctl help`: the help of a command, or a page about a topic. The pages are the text files in
//! this directory.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, Command};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::View;

pub const ENVIRONMENT: &str = include_str!("help/environment.txt");
pub const FILES: &str = include_str!("help/files.txt");
pub const EXIT_CODES: &str = include_str!("help/exit-codes.txt");

/// Show the help of a command, or a page about a topic
#[derive(Args)]
#[command(after_help = and_topics("\
Examples:
  licctl help plans create
  licctl help ci"))]
pub struct HelpArgs {
    /// Command or topic
    #[arg(value_name = "COMMAND or TOPIC")]
    words: Vec<String>,
}

/// A page that belongs to no single command.
struct Topic {
    name: &'static str,
    about: &'static str,
    page: fn(&Command) -> String,
}

const TOPICS: [Topic; 6] = [
    Topic {
        name: "environment",
        about: "environment variables and files",
        page: |_| format!("{ENVIRONMENT}\n{FILES}"),
    },
    Topic { name: "exit-codes", about: "exit codes and errors", page: |_| EXIT_CODES.to_owned() },
    Topic {
        name: "ci",
        about: "a complete CI job",
        page: |_| include_str!("help/ci.txt").to_owned(),
    },
    Topic {
        name: "output",
        about: "output formats, --jq and pipes",
        page: |_| include_str!("help/output.txt").to_owned(),
    },
    Topic {
        name: "bulk",
        about: "files of users, reports, --resume",
        page: |_| include_str!("help/bulk.txt").to_owned(),
    },
    Topic { name: "flags", about: "global flags", page: flags },
];

/// A text, and the topics below it.
pub fn and_topics(text: &str) -> String {
    let line = |topic: &Topic| format!("\n  licctl help {:<13} {}", topic.name, topic.about);
    format!("{text}\n\nTopics:{}", TOPICS.iter().map(line).collect::<String>())
}

/// Prints the help of these words: that of licctl itself when there are none.
pub fn run(ctx: &Context, args: &HelpArgs, mut grammar: Command) -> Result<View> {
    if let [word] = args.words.as_slice()
        && let Some(topic) = TOPICS.iter().find(|topic| topic.name == word)
    {
        return Ok(View::text((topic.page)(&grammar)));
    }
    // All commands are a short list; one command is described at length.
    let flag = if args.words.is_empty() { "-h" } else { "--help" };
    let words = args.words.iter().map(String::as_str);
    let line = ["licctl"].into_iter().chain(words).chain([flag]);
    let help = match grammar.try_get_matches_from_mut(line) {
        Err(help) if help.kind() == ErrorKind::DisplayHelp => help.render(),
        Err(error) => return Err(unknown(&args.words, &error)),
        Ok(_) => grammar.render_help(),
    };
    let text = if ctx.output.color { help.ansi().to_string() } else { help.to_string() };
    Ok(View::text(text))
}

/// The error for unknown words; the parser suggests a similar command.
fn unknown(words: &[String], error: &clap::Error) -> Error {
    let wrong = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(wrong)) => wrong.as_str(),
        _ => "",
    };
    let near = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::String(near)) => Some(near),
        Some(ContextValue::Strings(near)) => near.last(),
        _ => None,
    };
    let topic = |word: &String| {
        let near = TOPICS.iter().find(|it| strsim::damerau_levenshtein(it.name, word) <= 2)?;
        Some(format!(" {}", near.name))
    };
    if let [word] = words
        && let Some(topic) = topic(word)
    {
        let message = format!("Unknown command or topic {word}.");
        return Error::usage(message).fix(format!("licctl help{topic}"));
    }
    let fix = near.map_or_else(String::new, |near| {
        let right = words.iter().map(|word| if word == wrong { near } else { word });
        right.map(|word| format!(" {word}")).collect()
    });
    let message = format!("Unknown command or topic {}.", words.join(" "));
    Error::usage(message).fix(format!("licctl help{fix}"))
}

/// All global flags.
fn flags(grammar: &Command) -> String {
    flags_of(grammar, |_| true)
}

/// The global flags, or some of them.
pub fn flags_of(grammar: &Command, is_shown: impl Fn(&Arg) -> bool) -> String {
    let shown = grammar.get_arguments().filter(|arg| arg.is_global_set() && is_shown(arg));
    let shown = shown.map(|arg| arg.clone().hide_short_help(false).hide_long_help(false));
    let page = Command::new("licctl").args(shown).disable_help_flag(true).max_term_width(80);
    page.help_template("{all-args}").render_help().to_string() + "\n"
}

/// The topics, each with what it is about.
pub fn topics() -> Vec<(&'static str, &'static str)> {
    TOPICS.iter().map(|topic| (topic.name, topic.about)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_page_has_every_variable() {
        let source = include_str!("../terminal/env.rs");
        let quoted = source.split('"').filter(|word| word.starts_with("LICCTL_"));
        let variables: Vec<_> = quoted.collect();
        assert!(variables.len() >= 5, "{variables:?}");
        for variable in variables {
            assert!(ENVIRONMENT.contains(&format!("\n  {variable} ")), "{variable}");
        }
    }

    #[test]
    fn a_page_fits_a_terminal() {
        for topic in TOPICS.iter().filter(|topic| topic.name != "flags") {
            let page = (topic.page)(&Command::new("licctl"));
            assert!(page.lines().count() <= 50, "{}", topic.name);
            assert!(page.lines().all(|line| line.chars().count() <= 80), "{}", topic.name);
        }
    }
}

//! Prompts on the terminal. Without a terminal, a missing value ends the run with exit code 2 and
//! the name of its flag.

use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::str::FromStr;

use common::Mode;
use dialoguer::console::Term;
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{FuzzySelect, Input};

use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::escape::clean;
use crate::keystore::origin;
use crate::output::table::cut;

/// Fails when required values are missing and licctl may not prompt. The error names all of them.
pub fn require(ctx: &Context, wanted: &[(&str, bool)]) -> Result<()> {
    let missing: Vec<&str> =
        wanted.iter().filter(|(_, given)| !given).map(|(name, _)| *name).collect();
    if missing.is_empty() || ctx.can_prompt() {
        return Ok(());
    }
    let kind = |name: &str| match name.starts_with("--") {
        true => format!("option {name}"),
        false => format!("argument {name}"),
    };
    let named: Vec<String> = missing.iter().map(|name| kind(name)).collect();
    let message = format!("Missing {}.", named.join(" and "));
    Err(Error::usage(message).because(ctx.why_no_prompt()).fix(completed(ctx, &missing)))
}

/// The command as typed, with a placeholder for each missing value.
fn completed(ctx: &Context, missing: &[&str]) -> String {
    let placeholder = |name: &&str| match name.strip_prefix("--") {
        Some(flag) => format!("{name} {}", flag.to_uppercase()),
        None => (*name).to_owned(),
    };
    let words = ctx.take_command().into_iter().chain(missing.iter().map(placeholder));
    words.collect::<Vec<_>>().join(" ")
}

/// Prompts for a line of text until it parses as a `T`.
pub fn text<T>(ctx: &Context, question: &str, flag: Option<&str>) -> Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    let theme = theme(ctx);
    let input = Input::<String>::with_theme(theme.as_ref())
        .with_prompt(question)
        .validate_with(|text: &String| text.parse::<T>().map(drop).map_err(|e| e.to_string()));
    let answer = read_answer(input.interact_text_on(&Term::stderr()))?;
    let value = answer.parse().map_err(|error: T::Err| Error::usage(error.to_string()))?;
    ctx.record_prompt(flag, &answer);
    Ok(value)
}

/// The value of a flag, or of a prompt.
pub fn given_or_text<T>(ctx: &Context, given: Option<T>, question: &str, flag: &str) -> Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    given.map_or_else(|| text(ctx, question, Some(flag)), Ok)
}

/// Prompts for a line of text with a default until it can be parsed. The answer is not recorded as a
/// flag.
pub fn text_or<T>(
    ctx: &Context,
    question: &str,
    usual: &str,
    parse: impl Fn(&str) -> Result<T>,
) -> Result<T> {
    let theme = theme(ctx);
    let why = |error: &Error| match error.advice() {
        Some(advice) => format!("{} {advice}", error.message()),
        None => error.message().to_owned(),
    };
    let input = Input::<String>::with_theme(theme.as_ref())
        .with_prompt(question)
        .default(usual.to_owned())
        .validate_with(|text: &String| parse(text).map(drop).map_err(|error| why(&error)));
    parse(&read_answer(input.interact_text_on(&Term::stderr()))?)
}

/// Prompts for one of `labels`, found by typing a part of it; returns its index. None is preselected:
/// what is chosen may give a license away, and Enter may have been meant for the line before.
pub fn choose(ctx: &Context, question: &str, labels: &[String]) -> Result<usize> {
    // A wrapped line would count as one line when the list is redrawn.
    let (_, width) = Term::stderr().size();
    let room = usize::from(width).saturating_sub(question.len() + 8).max(20);
    let labels: Vec<_> = labels.iter().map(|label| cut(&clean(label), room)).collect();
    let theme = theme(ctx);
    let select =
        FuzzySelect::with_theme(theme.as_ref()).with_prompt(question).items(&labels).max_length(10);
    read_answer(select.interact_on_opt(&Term::stderr()))?.ok_or_else(Error::cancelled)
}

/// The most items that need no confirmation.
pub const MAX_UNCONFIRMED: usize = 25;

/// Asks for confirmation before many items are processed, and shows the target.
pub async fn confirm_many(ctx: &Context, count: usize, question: &str) -> Result<()> {
    if count > MAX_UNCONFIRMED { confirm_loss(ctx, question).await } else { Ok(()) }
}

/// Asks for confirmation before something is lost, and shows the target: with the wrong profile the
/// command would affect the customers of another server or mode.
pub async fn confirm_loss(ctx: &Context, question: &str) -> Result<()> {
    if needs_confirmation(ctx) && ctx.can_prompt() {
        let client = ctx.client().await?;
        let profile = ctx.destination().as_ref().and_then(|it| it.profile.clone());
        let profile = profile.map_or_else(String::new, |name| format!("profile {name} · "));
        let mode = client.key().mode();
        let server = origin(client.server());
        // It is shown with the question.
        drop(client.place());
        ctx.io.say(&format!("{}\n", clean(&format!("Target: {profile}{mode} mode · {server}"))));
    }
    confirm(ctx, question)
}

/// Whether to ask before a change that affects live customers. Scripts are not asked.
pub async fn confirms_in_live_mode(ctx: &Context) -> Result<bool> {
    let is_person = needs_confirmation(ctx) && ctx.can_prompt();
    Ok(is_person && ctx.client().await?.key().mode() == Mode::Live)
}

/// Whether confirmation is required: from the person, or as an error.
pub fn needs_confirmation(ctx: &Context) -> bool {
    !ctx.globals.yes && !ctx.globals.dry_run
}

/// Asks for confirmation, unless `--yes` gives it.
pub fn confirm(ctx: &Context, question: &str) -> Result<()> {
    if !needs_confirmation(ctx) {
        return Ok(());
    }
    if !ctx.can_prompt() {
        let error = Error::usage("This requires confirmation.")
            .because(format!("{question} {}", ctx.why_no_prompt()));
        return Err(error.fix("add --yes"));
    }
    agree(ctx, question)?;
    ctx.record_prompt(None, "--yes");
    Ok(())
}

/// Asks a yes-or-no question; `no` cancels the command.
pub fn agree(ctx: &Context, question: &str) -> Result<()> {
    if yes(ctx, question)? { Ok(()) } else { Err(Error::cancelled()) }
}

/// Asks a yes-or-no question. The answer is a line; Enter alone means no. An API key that was pasted
/// too early is not an answer, and is not echoed.
fn yes(ctx: &Context, question: &str) -> Result<bool> {
    let mut prompt = String::new();
    theme(ctx)
        .format_confirm_prompt(&mut prompt, &clean(question), None)
        .map_err(|error| Error::new(Exit::Internal, "terminal", error.to_string()))?;
    let begins_an_answer = |typed: &[u8]| {
        let typed = typed.to_ascii_lowercase();
        b"yes".starts_with(&typed) || b"no".starts_with(&typed)
    };
    loop {
        match read_line(ctx, &prompt, begins_an_answer)?.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "n" | "no" | "" => return Ok(false),
            _ => ctx.io.say("Type y or n and press Enter.\n"),
        }
    }
}

/// Prompts for a secret without echoing it.
pub fn secret(ctx: &Context, question: &str) -> Result<String> {
    read_line(ctx, &format!("{question}: "), |_| false)
}

/// Reads a line and echoes it while `is_shown` allows. The terminal stays raw throughout, because a
/// pasted secret would otherwise show between two reads.
fn read_line(ctx: &Context, prompt: &str, is_shown: impl Fn(&[u8]) -> bool) -> Result<String> {
    let raw = RawTerminal::begin().map_err(|error| broken(&error))?;
    ctx.io.say(prompt);
    let mut typed = Vec::new();
    let ended = loop {
        let mut byte = [0];
        match std::io::stdin().read(&mut byte) {
            Ok(0) => break Err(Error::cancelled()),
            Ok(_) => match byte[0] {
                b'\r' | b'\n' => break Ok(()),
                // Ctrl-C, and Ctrl-D on an empty line.
                3 => break Err(Error::cancelled()),
                4 if typed.is_empty() => break Err(Error::cancelled()),
                8 | 127 => {
                    if !typed.is_empty() && is_shown(&typed) {
                        ctx.io.say("\u{8} \u{8}");
                    }
                    typed.pop();
                }
                byte => {
                    typed.push(byte);
                    if is_shown(&typed) {
                        ctx.io.say(&char::from(byte).to_string());
                    }
                }
            },
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Err(broken(&error)),
        }
    };
    drop(raw);
    ctx.io.say("\n");
    ended?;
    String::from_utf8(typed).map_err(|_| Error::usage("The input is not valid UTF-8."))
}

/// A terminal in raw mode until dropped.
struct RawTerminal;

impl RawTerminal {
    fn begin() -> std::io::Result<Self> {
        crossterm::terminal::enable_raw_mode().map(|()| Self)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A drop can neither retry nor report the failure.
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

fn theme(ctx: &Context) -> Box<dyn Theme> {
    if ctx.output.color { Box::new(ColorfulTheme::default()) } else { Box::new(SimpleTheme) }
}

/// Turns Ctrl-C at a prompt into its own error, with the cursor shown again.
fn read_answer<T>(answer: dialoguer::Result<T>) -> Result<T> {
    let dialoguer::Error::IO(error) = match answer {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    let _ = Term::stderr().show_cursor();
    if error.kind() == ErrorKind::Interrupted {
        let _ = Term::stderr().write_line("");
        return Err(Error::cancelled());
    }
    Err(broken(&error))
}

fn broken(error: &std::io::Error) -> Error {
    Error::new(Exit::Internal, "terminal", "Cannot use the terminal.").because(error.to_string())
}

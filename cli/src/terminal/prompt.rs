//! Asks for values that are missing, and for confirmation. Where licctl may not ask, a missing
//! value is an error with exit code 2 and the name of its flag.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::rc::Rc;
use std::str::FromStr;

use dialoguer::console::Term;
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{FuzzySelect, Input};

use super::io::Io;
use crate::error::{Error, Exit, Result};
use crate::escape::{clean, cut, quote};

/// The prompts of a run, and the command that would have needed none.
pub struct Prompts {
    io: Rc<Io>,
    /// Reason why licctl may not prompt.
    refusal: Option<&'static str>,
    color: bool,
    /// The command line as typed, with the answers appended.
    words: RefCell<Vec<String>>,
    prompted: Cell<bool>,
}

impl Prompts {
    pub fn new(io: Rc<Io>, refusal: Option<&'static str>, color: bool, words: Vec<String>) -> Self {
        Self { io, refusal, color, words: RefCell::new(words), prompted: Cell::new(false) }
    }

    pub fn can_ask(&self) -> bool {
        self.refusal.is_none()
    }

    /// Returns the reason why licctl cannot prompt.
    pub fn why_not(&self) -> &'static str {
        self.refusal.unwrap_or_default()
    }

    /// Records an answer, to show the command that needs none.
    pub fn record(&self, flag: Option<&str>, value: &str) {
        self.prompted.set(true);
        let mut words = self.words.borrow_mut();
        words.extend(flag.map(str::to_owned));
        words.push(quote(value).into_owned());
    }

    /// Replaces a partial id with the full one, which the command without prompts requires.
    pub fn expand_id(&self, part: &str, id: &str) {
        for word in self.words.borrow_mut().iter_mut().filter(|word| **word == part) {
            id.clone_into(word);
        }
    }

    /// Replaces a word with the one that was chosen.
    pub fn replace_word(&self, word: &str, chosen: &str) {
        self.prompted.set(true);
        self.expand_id(word, chosen);
    }

    /// Replaces a key with this prefix by its id.
    pub fn expand_key(&self, prefix: &str, id: &str) {
        for word in self.words.borrow_mut().iter_mut().filter(|word| word.starts_with(prefix)) {
            id.clone_into(word);
        }
    }

    /// The command that would need no prompts; none if there were no prompts.
    pub fn without(&self) -> Option<String> {
        self.prompted.get().then(|| self.words.borrow().join(" "))
    }

    /// The words of the command, for a message that replaces the command without prompts.
    pub fn take_command(&self) -> Vec<String> {
        self.prompted.set(false);
        self.words.take()
    }

    /// Fails when required values are missing and licctl may not prompt. The error names all of
    /// them.
    pub fn require(&self, wanted: &[(&str, bool)]) -> Result<()> {
        let missing: Vec<&str> =
            wanted.iter().filter(|(_, given)| !given).map(|(name, _)| *name).collect();
        if missing.is_empty() || self.can_ask() {
            return Ok(());
        }
        let kind = |name: &str| match name.starts_with("--") {
            true => format!("option {name}"),
            false => format!("argument {name}"),
        };
        let named: Vec<String> = missing.iter().map(|name| kind(name)).collect();
        let message = format!("Missing {}.", named.join(" and "));
        Err(Error::usage(message).because(self.why_not()).fix(self.completed(&missing)))
    }

    /// The command as typed, with a placeholder for each missing value.
    fn completed(&self, missing: &[&str]) -> String {
        let placeholder = |name: &&str| match name.strip_prefix("--") {
            Some(flag) => format!("{name} {}", flag.to_uppercase()),
            None => (*name).to_owned(),
        };
        let words = self.take_command().into_iter().chain(missing.iter().map(placeholder));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Prompts for a line of text until it parses as a `T`.
    pub fn text<T>(&self, question: &str, flag: Option<&str>) -> Result<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        let theme = self.theme();
        let input = Input::<String>::with_theme(theme.as_ref())
            .with_prompt(question)
            .validate_with(|text: &String| text.parse::<T>().map(drop).map_err(|e| e.to_string()));
        let answer = read_answer(input.interact_text_on(&Term::stderr()))?;
        let value = answer.parse().map_err(|error: T::Err| Error::usage(error.to_string()))?;
        self.record(flag, &answer);
        Ok(value)
    }

    /// The value of a flag, or of a prompt.
    pub fn given_or_text<T>(&self, given: Option<T>, question: &str, flag: &str) -> Result<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        given.map_or_else(|| self.text(question, Some(flag)), Ok)
    }

    /// Prompts for a line of text with a default until it can be parsed. The answer is not recorded
    /// as a flag.
    pub fn text_or<T>(
        &self,
        question: &str,
        usual: &str,
        parse: impl Fn(&str) -> Result<T>,
    ) -> Result<T> {
        let theme = self.theme();
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

    /// Prompts for one of `labels`, found by typing a part of it; returns its index. None is
    /// preselected: what is chosen may give a license away, and Enter may have been meant for the
    /// line before.
    pub fn choose(&self, question: &str, labels: &[String]) -> Result<usize> {
        // A wrapped line would count as one line when the list is redrawn.
        let (_, width) = Term::stderr().size();
        let room = usize::from(width).saturating_sub(question.len() + 8).max(20);
        let labels: Vec<_> = labels.iter().map(|label| cut(&clean(label), room)).collect();
        let theme = self.theme();
        let select = FuzzySelect::with_theme(theme.as_ref())
            .with_prompt(question)
            .items(&labels)
            .max_length(10);
        read_answer(select.interact_on_opt(&Term::stderr()))?.ok_or_else(Error::cancelled)
    }

    /// Asks a yes-or-no question; `no` cancels the command.
    pub fn agree(&self, question: &str) -> Result<()> {
        if self.yes(question)? { Ok(()) } else { Err(Error::cancelled()) }
    }

    /// Asks a yes-or-no question. The answer is a line; An empty line means no. An API key that was
    /// pasted too early is not an answer, and is not echoed.
    fn yes(&self, question: &str) -> Result<bool> {
        let mut prompt = String::new();
        self.theme()
            .format_confirm_prompt(&mut prompt, &clean(question), None)
            .map_err(|error| Error::new(Exit::Internal, "terminal", error.to_string()))?;
        let begins_an_answer = |typed: &[u8]| {
            let typed = typed.to_ascii_lowercase();
            b"yes".starts_with(&typed) || b"no".starts_with(&typed)
        };
        loop {
            match self.read_line(&prompt, begins_an_answer)?.trim().to_ascii_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "n" | "no" | "" => return Ok(false),
                _ => self.io.say("Type y or n and press Enter.\n"),
            }
        }
    }

    /// Prompts for a secret without echoing it.
    pub fn secret(&self, question: &str) -> Result<String> {
        self.read_line(&format!("{question}: "), |_| false)
    }

    /// Reads a line and echoes it while `is_shown` allows. The terminal stays raw throughout,
    /// because a pasted secret would otherwise show between two reads.
    fn read_line(&self, prompt: &str, is_shown: impl Fn(&[u8]) -> bool) -> Result<String> {
        let raw = RawTerminal::begin().map_err(|error| broken(&error))?;
        self.io.say(prompt);
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
                            self.io.say("\u{8} \u{8}");
                        }
                        typed.pop();
                    }
                    byte => {
                        typed.push(byte);
                        if is_shown(&typed) {
                            self.io.say(&char::from(byte).to_string());
                        }
                    }
                },
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(broken(&error)),
            }
        };
        drop(raw);
        self.io.say("\n");
        ended?;
        String::from_utf8(typed).map_err(|_| Error::usage("The input is not valid UTF-8."))
    }

    fn theme(&self) -> Box<dyn Theme> {
        if self.color { Box::new(ColorfulTheme::default()) } else { Box::new(SimpleTheme) }
    }
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

//! Shows that a run is waiting for its server: on the terminal for as long as it waits, and
//! otherwise as a note.

use std::cell::RefCell;
use std::rc::Rc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Messages;
use crate::terminal::Io;

pub struct WaitDisplay {
    io: Rc<Io>,
    messages: Rc<Messages>,
    /// The bar of a bulk run, or a line of its own.
    bar: RefCell<Option<ProgressBar>>,
}

impl WaitDisplay {
    pub fn new(io: Rc<Io>, messages: Rc<Messages>) -> Self {
        Self { io, messages, bar: RefCell::default() }
    }

    /// Waits show as the message of this bar until [`Self::end`].
    pub fn use_bar(&self, bar: ProgressBar) {
        self.bar.replace(Some(bar));
    }

    /// Shows the text, in place of the one before.
    pub fn show(&self, text: String) {
        if self.io.terminals.stderr {
            let mut bar = self.bar.borrow_mut();
            bar.get_or_insert_with(line).set_message(text);
        }
    }

    /// Removes the text.
    pub fn clear(&self) {
        let mut bar = self.bar.borrow_mut();
        match &*bar {
            Some(of_run) if of_run.length().is_some() => {
                of_run.set_message("");
                // The pause says nothing about the rate after it.
                of_run.reset_eta();
            }
            _ => bar.take().into_iter().for_each(|line| line.finish_and_clear()),
        }
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.take().into_iter().for_each(|bar| bar.finish_and_clear());
    }

    /// Prints a line immediately, above the bar if there is one.
    pub fn say(&self, text: &str) {
        match &*self.bar.borrow() {
            Some(bar) => bar.println(text),
            None => self.io.say(&format!("{text}\n")),
        }
    }

    /// Notes in a log that a wait begins, which a terminal shows.
    pub fn log(&self, text: &str) {
        if !self.io.terminals.stderr && !self.messages.json {
            self.note(text);
        }
    }

    pub fn note(&self, text: &str) {
        self.messages.note(text);
    }
}

fn line() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{wide_msg}") {
        Ok(style) => line.with_style(style),
        Err(_) => line,
    }
}

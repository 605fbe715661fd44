//! Shows that a run is waiting for its server: as a temporary line on the terminal, in the bar of a
//! bulk run, or otherwise as a note.

use std::cell::RefCell;
use std::rc::Rc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::io::Io;

pub struct WaitDisplay {
    io: Rc<Io>,
    /// Whether stderr is JSON for a program.
    silent: bool,
    /// The bar of the bulk run, with the style that it has while it does not wait.
    bulk: RefCell<Option<(ProgressBar, ProgressStyle)>>,
    line: RefCell<Option<ProgressBar>>,
}

impl WaitDisplay {
    pub fn new(io: Rc<Io>, silent: bool) -> Self {
        Self { io, silent, bulk: RefCell::default(), line: RefCell::default() }
    }

    /// Waits show in this bar until [`Self::release_bar`].
    pub fn use_bar(&self, bar: ProgressBar, style: ProgressStyle) {
        self.bulk.replace(Some((bar, style)));
    }

    pub fn release_bar(&self) {
        self.bulk.take();
    }

    /// Shows the text, in place of the one before.
    pub fn show(&self, text: String) {
        if !self.io.terminals.stderr {
            return;
        }
        if let Some((bar, _)) = &*self.bulk.borrow() {
            bar.set_style(style("{pos} of {len}  {wide_msg}"));
            bar.set_message(text);
            return;
        }
        let mut line = self.line.borrow_mut();
        let line = line.get_or_insert_with(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            line.set_style(style("{wide_msg}"));
            line
        });
        line.set_message(text);
    }

    /// Removes the text.
    pub fn clear(&self) {
        if let Some((bar, usual)) = &*self.bulk.borrow() {
            bar.set_message("");
            bar.set_style(usual.clone());
            // The pause says nothing about the rate after it.
            bar.reset_eta();
        }
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }

    /// Prints a line immediately, above the bar if there is one.
    pub fn say(&self, text: &str) {
        match &*self.bulk.borrow() {
            Some((bar, _)) => bar.println(text),
            None => self.io.say(&format!("{text}\n")),
        }
    }

    /// Notes that a wait begins, where no temporary line can be shown.
    pub fn note(&self, text: &str) {
        if !self.io.terminals.stderr && !self.silent {
            self.io.say(&format!("note: {text}\n"));
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

//! Ctrl-C, for the commands that finish requests in flight before they end.

use std::cell::Cell;

use tokio::sync::Notify;

/// Whether Ctrl-C ends the run at once, and whether it was pressed.
#[derive(Default)]
pub struct Interruption {
    held: Cell<bool>,
    wanted: Cell<bool>,
    usual: Cell<bool>,
    notify: Notify,
}

impl Interruption {
    /// Postpones the end of the run: only a second Ctrl-C ends it at once.
    pub fn hold(&self) {
        self.held.set(true);
    }

    /// Ends [`Self::hold`]; returns whether Ctrl-C was pressed meanwhile.
    pub fn release(&self) -> bool {
        self.held.set(false);
        self.wanted.get()
    }

    /// Declares Ctrl-C the usual end of the run, of which nothing is to be said.
    pub fn expect(&self) {
        self.usual.set(true);
    }

    pub fn is_usual(&self) -> bool {
        self.usual.get()
    }

    pub fn wanted(&self) -> bool {
        self.wanted.get()
    }

    /// Returns when Ctrl-C is pressed, or was.
    pub async fn heard(&self) {
        if !self.wanted() {
            self.notify.notified().await;
        }
    }

    /// Records a Ctrl-C; returns whether the run continues for now.
    pub fn note(&self) -> bool {
        let first = !self.wanted.replace(true);
        self.notify.notify_waiters();
        self.held.get() && first
    }
}

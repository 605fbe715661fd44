//! Ctrl-C and SIGTERM, for the commands that finish requests in flight before they end.

use std::cell::Cell;
#[cfg(unix)]
use std::{cell::RefCell, future::poll_fn, task::Poll};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

/// Whether a signal ends the run immediately, and whether there was one.
#[derive(Default)]
pub struct Interruption {
    held: Cell<bool>,
    wanted: Cell<bool>,
    usual: Cell<bool>,
    notify: Notify,
    #[cfg(unix)]
    sigterm: RefCell<Option<Signal>>,
}

impl Interruption {
    /// Postpones the end of the run: only a second signal ends it immediately. SIGTERM is caught
    /// from now on, and not before, as a prompt would not notice it.
    pub fn hold(&self) {
        self.held.set(true);
        #[cfg(unix)]
        self.catch_sigterm();
    }

    #[cfg(unix)]
    fn catch_sigterm(&self) {
        let mut sigterm = self.sigterm.borrow_mut();
        if sigterm.is_none() {
            // Without it, the signal ends the process as usual.
            *sigterm = signal(SignalKind::terminate()).ok();
        }
    }

    /// Returns at SIGTERM if that is caught.
    #[cfg(unix)]
    pub async fn terminated(&self) {
        poll_fn(|cx| match &mut *self.sigterm.borrow_mut() {
            Some(sigterm) => sigterm.poll_recv(cx).map(drop),
            None => Poll::Pending,
        })
        .await;
    }

    #[cfg(not(unix))]
    pub async fn terminated(&self) {
        std::future::pending().await
    }

    /// Ends [`Self::hold`]; returns whether a signal came in the meantime.
    pub fn release(&self) -> bool {
        self.held.set(false);
        self.wanted.get()
    }

    /// Declares a signal the usual end of the run, of which nothing is to be said.
    pub fn expect(&self) {
        self.usual.set(true);
    }

    pub fn is_usual(&self) -> bool {
        self.usual.get()
    }

    pub fn wanted(&self) -> bool {
        self.wanted.get()
    }

    /// Returns at a signal, or if there was one.
    pub async fn heard(&self) {
        if !self.wanted() {
            self.notify.notified().await;
        }
    }

    /// Records a signal; returns whether the run continues for now.
    pub fn note(&self) -> bool {
        let first = !self.wanted.replace(true);
        self.notify.notify_waiters();
        self.held.get() && first
    }
}

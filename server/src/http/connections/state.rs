//! What a connection is doing and since when: its own task writes it, the accept loop reads it.
//!
//! A timer for each request would cost an allocation and two locks. Here the task stores a word
//! when its phase changes, and the accept loop looks at all connections now and then. The word
//! holds the phase and its beginning, and is only ever exchanged as a whole. So a connection that
//! waits is ended before a request begins on it, or not at all.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::blocked::Blocked;
use super::clock::{millis, now};
use super::limits::ConnectionLimits;

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No request has come yet, nor the first byte of one. A TLS handshake is a part of this.
    New,
    /// A head has begun to arrive.
    Head,
    /// A request is being handled, or its answer sent.
    Request,
    /// The answer is complete, and not all of it has gone to the kernel.
    Flushing,
    /// Kept alive for the next request.
    Idle,
    /// Our side is shut; what the client still sends is thrown away.
    Lingering,
    /// The accept loop has ended the connection.
    Ended,
}

impl Phase {
    const ALL: [Self; 7] = [
        Self::New,
        Self::Head,
        Self::Request,
        Self::Flushing,
        Self::Idle,
        Self::Lingering,
        Self::Ended,
    ];

    fn of(word: u64) -> Self {
        Self::ALL[(word & 0b111) as usize % Self::ALL.len()]
    }

    /// A word: three bits for the phase, the rest for the time.
    fn since(self, millis: u64) -> u64 {
        millis << 3 | self as u64
    }
}

/// When the word's phase began.
fn since(word: u64) -> u64 {
    word >> 3
}

/// Why the accept loop ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    Head,
    Idle,
    Reader,
    Lingering,
}

/// How long a client may go on sending after its connection was shut, so that it hears the answer.
const LINGER: Duration = Duration::from_secs(5);

pub struct ConnectionState {
    word: AtomicU64,
    pub blocked: Blocked,
    /// A head could not be read.
    is_malformed: AtomicBool,
    /// A TLS handshake failed.
    is_handshake_failed: AtomicBool,
}

impl ConnectionState {
    pub fn new() -> Self {
        Self {
            word: AtomicU64::new(Phase::New.since(now())),
            blocked: Blocked::default(),
            is_malformed: AtomicBool::new(false),
            is_handshake_failed: AtomicBool::new(false),
        }
    }

    fn word(&self) -> u64 {
        self.word.load(Ordering::Acquire)
    }

    fn change(&self, from: u64, to: Phase) -> bool {
        let to = to.since(now());
        self.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// What the connection's task notes.
impl ConnectionState {
    /// The TLS handshake failed.
    pub fn handshake_failed(&self) {
        self.is_handshake_failed.store(true, Ordering::Relaxed);
    }

    /// Bytes arrived.
    pub fn received(&self) {
        let word = self.word();
        if matches!(Phase::of(word), Phase::New | Phase::Idle) {
            self.change(word, Phase::Head);
        }
    }

    /// A request begins. False when the connection was ended, and the request must not be handled.
    pub fn begin(&self) -> bool {
        loop {
            let word = self.word();
            if Phase::of(word) == Phase::Ended {
                return false;
            }
            if self.change(word, Phase::Request) {
                return true;
            }
        }
    }

    /// An answer is complete.
    pub fn answered(&self) {
        let word = self.word();
        if Phase::of(word) == Phase::Request {
            self.change(word, Phase::Flushing);
        }
    }

    /// Whether what is written now cannot be the answer of a handler, and is hyper's own refusal.
    pub fn is_between_requests(&self) -> bool {
        matches!(Phase::of(self.word()), Phase::New | Phase::Head | Phase::Idle)
    }

    /// The kernel took everything that it was given.
    pub fn flushed(&self) {
        self.blocked.kernel_took_all();
        let word = self.word();
        if Phase::of(word) == Phase::Flushing {
            self.change(word, Phase::Idle);
        }
    }

    /// hyper refuses a head.
    pub fn refused(&self) {
        self.is_malformed.store(true, Ordering::Relaxed);
    }

    /// Our side is shut.
    pub fn linger(&self) {
        let word = self.word();
        if Phase::of(word) != Phase::Ended {
            self.change(word, Phase::Lingering);
        }
    }
}

/// What the accept loop decides. When it has ended a connection here, it must abort its task.
impl ConnectionState {
    pub fn is_ended(&self) -> bool {
        Phase::of(self.word()) == Phase::Ended
    }

    /// Whether it ended with a head that could not be read.
    pub fn is_malformed(&self) -> bool {
        self.is_malformed.load(Ordering::Relaxed)
    }

    /// Whether it ended with a TLS handshake that failed.
    pub fn is_handshake_failed(&self) -> bool {
        self.is_handshake_failed.load(Ordering::Relaxed)
    }

    /// Ends the connection if it has waited for too long.
    pub fn end_if_overdue(&self, limits: &ConnectionLimits, now: u64) -> Option<Overdue> {
        let word = self.word();
        let waited = |limit: Duration| now.saturating_sub(since(word)) >= millis(limit);
        let overdue = match Phase::of(word) {
            Phase::New | Phase::Head if waited(limits.head_timeout) => Overdue::Head,
            Phase::Idle if waited(limits.idle_timeout) => Overdue::Idle,
            Phase::Lingering if waited(LINGER) => Overdue::Lingering,
            Phase::Request | Phase::Flushing
                if self.blocked.is_overdue(limits.write_timeout, now) =>
            {
                Overdue::Reader
            }
            _ => return None,
        };
        self.change(word, Phase::Ended).then_some(overdue)
    }

    /// Whether the connection waits after a request, and since when it waits. None while a request
    /// is handled, or its answer sent.
    pub fn waits(&self) -> Option<(bool, u64)> {
        let word = self.word();
        match Phase::of(word) {
            Phase::New | Phase::Head | Phase::Lingering => Some((false, since(word))),
            Phase::Idle => Some((true, since(word))),
            Phase::Request | Phase::Flushing | Phase::Ended => None,
        }
    }

    /// Ends the connection unless a request is handled. If `is_grace`, also not in the middle of a
    /// head.
    pub fn end_if_waiting(&self, is_grace: bool) -> bool {
        let word = self.word();
        let waits = match Phase::of(word) {
            Phase::New | Phase::Idle => true,
            Phase::Head | Phase::Lingering => !is_grace,
            Phase::Request | Phase::Flushing | Phase::Ended => false,
        };
        waits && self.change(word, Phase::Ended)
    }
}

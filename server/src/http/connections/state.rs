//! What a connection is doing and since when: its own task writes it, the accept loop reads it.
//!
//! A timer for each request would cost an allocation and two locks. Here the task stores a word
//! when its phase changes, and the accept loop looks at all connections now and then. The word
//! holds the phase, its beginning and the number of requests, and is only ever exchanged as a whole.
//! So a connection that waits is ended before a request begins on it, or not at all.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::blocked::Blocked;
use super::clock::{millis, now};
use super::limits::ConnectionLimits;

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No request has come yet, nor the first byte of one. A TLS handshake is a part of this.
    New,
    /// A head has begun to arrive. HTTP/2 has no such phase, as heads arrive beside requests.
    Head,
    /// Requests are being handled, or their answers sent. Over HTTP/1.1 there is one.
    Request,
    /// The answer is complete, and not all of it has gone to the kernel. HTTP/2 has no such phase.
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

    /// A word: three bits for the phase, sixteen for the number of requests, the rest for the time.
    fn since(self, millis: u64, requests: u64) -> u64 {
        millis << 19 | requests << 3 | self as u64
    }
}

/// When the word's phase began.
fn since(word: u64) -> u64 {
    word >> 19
}

/// How many requests are handled or answered; a client may have 32 at once.
fn requests(word: u64) -> u64 {
    word >> 3 & 0xffff
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
    is_http2: AtomicBool,
    /// It broke the rules of HTTP/2.
    is_http2_broken: AtomicBool,
    /// Tells an HTTP/2 connection that the service stops.
    stop: Notify,
}

impl ConnectionState {
    pub fn new() -> Self {
        Self {
            word: AtomicU64::new(Phase::New.since(now(), 0)),
            blocked: Blocked::default(),
            is_malformed: AtomicBool::new(false),
            is_handshake_failed: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            is_http2_broken: AtomicBool::new(false),
            stop: Notify::new(),
        }
    }

    fn word(&self) -> u64 {
        self.word.load(Ordering::Acquire)
    }

    pub fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    fn change(&self, from: u64, to: Phase) -> bool {
        self.exchange(from, to.since(now(), requests(from)))
    }

    fn exchange(&self, from: u64, to: u64) -> bool {
        self.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// What the connection's task notes.
impl ConnectionState {
    /// The handshake ended with HTTP/2.
    pub fn speaks_http2(&self) {
        self.is_http2.store(true, Ordering::Relaxed);
    }

    /// The TLS handshake failed.
    pub fn handshake_failed(&self) {
        self.is_handshake_failed.store(true, Ordering::Relaxed);
    }

    /// The client broke the rules of HTTP/2, or asked for nothing with all that it sent.
    pub fn http2_broken(&self) {
        self.is_http2_broken.store(true, Ordering::Relaxed);
    }

    /// Bytes arrived. Over HTTP/2 they may be anything, such as a ping.
    pub fn received(&self) {
        let word = self.word();
        if matches!(Phase::of(word), Phase::New | Phase::Idle) && !self.is_http2() {
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
            if self.exchange(word, Phase::Request.since(now(), requests(word) + 1)) {
                return true;
            }
        }
    }

    /// An answer is complete. With the last of them an HTTP/2 connection is idle: what the kernel
    /// did not take of it yet still counts as blocked.
    pub fn answered(&self) {
        loop {
            let word = self.word();
            let left = requests(word).saturating_sub(1);
            let to = match Phase::of(word) {
                Phase::Request if left > 0 => Phase::Request.since(since(word), left),
                Phase::Request if self.is_http2() => Phase::Idle.since(now(), 0),
                Phase::Request => Phase::Flushing.since(now(), 0),
                _ => return,
            };
            if self.exchange(word, to) {
                return;
            }
        }
    }

    /// Whether what is written now cannot be the answer of a handler, and is hyper's own refusal.
    pub fn is_between_requests(&self) -> bool {
        let between = matches!(Phase::of(self.word()), Phase::New | Phase::Head | Phase::Idle);
        between && !self.is_http2()
    }

    /// Completes when an HTTP/2 connection shall end with the requests that are in flight.
    pub async fn stop_requested(&self) {
        self.stop.notified().await;
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

    /// Whether it ended as its client broke the rules of HTTP/2.
    pub fn is_http2_broken(&self) -> bool {
        self.is_http2_broken.load(Ordering::Relaxed)
    }

    /// Tells an HTTP/2 connection to take no more requests. Others hear it with their next answer.
    pub fn request_stop(&self) {
        self.stop.notify_one();
    }

    /// Ends the connection if it has waited for too long.
    pub fn end_if_overdue(&self, limits: &ConnectionLimits, now: u64) -> Option<Overdue> {
        let word = self.word();
        let waited = |limit: Duration| now.saturating_sub(since(word)) >= millis(limit);
        let overdue = match Phase::of(word) {
            Phase::New | Phase::Head if waited(limits.head_timeout) => Overdue::Head,
            Phase::Idle if waited(limits.idle_timeout) => Overdue::Idle,
            Phase::Lingering if waited(LINGER) => Overdue::Lingering,
            Phase::Request | Phase::Flushing | Phase::Idle
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
            Phase::Idle if !self.blocked.is_blocked() => Some((true, since(word))),
            Phase::Idle | Phase::Request | Phase::Flushing | Phase::Ended => None,
        }
    }

    /// Ends the connection unless a request is handled. If `is_grace`, also not in the middle of a
    /// head, nor one of HTTP/2 that was told to stop.
    pub fn end_if_waiting(&self, is_grace: bool) -> bool {
        let word = self.word();
        let waits = match Phase::of(word) {
            Phase::Idle if self.blocked.is_blocked() => false,
            Phase::Idle => !(is_grace && self.is_http2()),
            Phase::New => true,
            Phase::Head | Phase::Lingering => !is_grace,
            Phase::Request | Phase::Flushing | Phase::Ended => false,
        };
        waits && self.change(word, Phase::Ended)
    }
}

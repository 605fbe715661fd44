//! What a connection is doing and since when: its own task writes it, the accept loop reads it.
//!
//! A timer for each request would cost an allocation and two locks. Here the task stores a word
//! when its phase changes, and the accept loop looks at all connections now and then. The word
//! holds the phase and its beginning, and is only ever exchanged as a whole. So a connection that
//! waits is ended before a request begins on it, or not at all.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::limits::ConnectionLimits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was received yet.
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
    const BITS: u32 = 3;

    fn of(word: u64) -> Self {
        Self::ALL[(word & 0b111) as usize % Self::ALL.len()]
    }

    fn since(self, millis: u64) -> u64 {
        millis << Self::BITS | self as u64
    }
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
/// How much a client must take in each [`ConnectionLimits::write_timeout`].
const MIN_WRITTEN: u64 = 64 * 1024;

pub struct ConnectionState {
    word: AtomicU64,
    /// When the kernel first took no more of an answer; 0 while it takes everything.
    blocked_since: AtomicU64,
    /// What it took since then, in bytes.
    written: AtomicU64,
    /// A head could not be read.
    is_malformed: AtomicBool,
}

impl ConnectionState {
    pub fn new() -> Self {
        Self {
            word: AtomicU64::new(Phase::New.since(now())),
            blocked_since: AtomicU64::new(0),
            written: AtomicU64::new(0),
            is_malformed: AtomicBool::new(false),
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

    /// The answer is complete.
    pub fn answered(&self) {
        let word = self.word();
        if Phase::of(word) == Phase::Request {
            self.change(word, Phase::Flushing);
        }
    }

    /// Whether what is written now cannot be the answer of a handler.
    pub fn is_between_requests(&self) -> bool {
        matches!(Phase::of(self.word()), Phase::New | Phase::Head | Phase::Idle)
    }

    /// The kernel took so many bytes of an answer.
    pub fn wrote(&self, bytes: usize) {
        if self.blocked_since.load(Ordering::Relaxed) != 0 {
            self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// The kernel takes no more, as the client does not read.
    pub fn blocked(&self) {
        if self.blocked_since.load(Ordering::Relaxed) == 0 {
            self.written.store(0, Ordering::Relaxed);
            self.blocked_since.store(now(), Ordering::Relaxed);
        }
    }

    pub fn is_blocked(&self) -> bool {
        self.blocked_since.load(Ordering::Relaxed) != 0
    }

    /// The kernel took everything.
    pub fn flushed(&self) {
        if self.is_blocked() {
            self.blocked_since.store(0, Ordering::Relaxed);
        }
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

    /// Ends the connection if it has waited for too long.
    pub fn end_if_overdue(&self, limits: &ConnectionLimits, now: u64) -> Option<Overdue> {
        let word = self.word();
        let waited = |limit: Duration| now.saturating_sub(word >> Phase::BITS) >= millis(limit);
        let overdue = match Phase::of(word) {
            Phase::New | Phase::Head if waited(limits.head_timeout) => Overdue::Head,
            Phase::Idle if waited(limits.idle_timeout) => Overdue::Idle,
            Phase::Lingering if waited(LINGER) => Overdue::Lingering,
            Phase::Request | Phase::Flushing if self.is_slow_reader(limits, now) => Overdue::Reader,
            _ => return None,
        };
        self.change(word, Phase::Ended).then_some(overdue)
    }

    /// Whether the client has taken too little. One that took enough is given as long again.
    fn is_slow_reader(&self, limits: &ConnectionLimits, now: u64) -> bool {
        let since = self.blocked_since.load(Ordering::Relaxed);
        if since == 0 || now.saturating_sub(since) < millis(limits.write_timeout) {
            return false;
        }
        if self.written.swap(0, Ordering::Relaxed) < MIN_WRITTEN {
            return true;
        }
        // Fails when everything was taken meanwhile.
        let order = Ordering::Relaxed;
        let _ = self.blocked_since.compare_exchange(since, now, order, order);
        false
    }

    /// Whether the connection waits after a request, and since when it waits. None while a request
    /// is handled.
    pub fn waits(&self) -> Option<(bool, u64)> {
        let word = self.word();
        let since = word >> Phase::BITS;
        match Phase::of(word) {
            Phase::New | Phase::Head | Phase::Lingering => Some((false, since)),
            Phase::Idle => Some((true, since)),
            Phase::Request | Phase::Flushing | Phase::Ended => None,
        }
    }

    /// Ends the connection unless a request is handled; if `spares_heads`, also not in the middle
    /// of a head.
    pub fn end_if_waiting(&self, spares_heads: bool) -> bool {
        let word = self.word();
        let waits = match Phase::of(word) {
            Phase::New | Phase::Idle => true,
            Phase::Head | Phase::Lingering => !spares_heads,
            Phase::Request | Phase::Flushing | Phase::Ended => false,
        };
        waits && self.change(word, Phase::Ended)
    }
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The clock of all states: milliseconds since the first look at it, and 1.
pub fn now() -> u64 {
    millis(START.elapsed()) + 1
}

pub fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits {
        max_connections: None,
        head_timeout: Duration::from_secs(10),
        idle_timeout: Duration::from_secs(75),
        write_timeout: Duration::from_secs(20),
    };

    /// The state after `seconds` in which nothing happens.
    fn after(state: &ConnectionState, seconds: u64) -> Option<Overdue> {
        state.end_if_overdue(&LIMITS, now() + seconds * 1000)
    }

    fn idle() -> ConnectionState {
        let state = ConnectionState::new();
        state.received();
        assert!(state.begin());
        state.answered();
        state.flushed();
        state
    }

    #[test]
    fn a_head_and_an_idle_connection_have_their_time() {
        let state = ConnectionState::new();
        assert_eq!(after(&state, 9), None);
        assert_eq!(after(&state, 10), Some(Overdue::Head));
        let state = idle();
        assert_eq!(after(&state, 74), None);
        assert_eq!(after(&state, 75), Some(Overdue::Idle));
        let state = idle();
        state.received();
        assert_eq!(after(&state, 10), Some(Overdue::Head));
    }

    #[test]
    fn a_request_is_never_interrupted_and_never_begins_after_the_end() {
        let state = idle();
        assert!(state.begin());
        assert_eq!(after(&state, 1_000_000), None);
        assert!(!state.end_if_waiting(false));
        state.answered();
        assert!(!state.end_if_waiting(false), "the answer is not sent yet");
        state.flushed();
        assert!(state.end_if_waiting(true));
        assert!(!state.begin());
    }

    #[test]
    fn a_reader_must_take_a_little_in_each_period() {
        let state = idle();
        assert!(state.begin());
        state.blocked();
        assert_eq!(after(&state, 19), None);
        state.wrote(64 * 1024);
        assert_eq!(after(&state, 21), None, "it took enough");
        state.wrote(1000);
        assert_eq!(after(&state, 40), None, "a new period has begun");
        assert_eq!(after(&state, 42), Some(Overdue::Reader));
        let state = idle();
        assert!(state.begin());
        state.blocked();
        state.flushed();
        assert_eq!(after(&state, 1000), None, "everything was taken");
    }
}

//! Retries while the server is busy, rate limiting or unreachable. A request that fails this way
//! delays all requests of the run, until any of them gets a response.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::error::{BROKEN_ANSWER, Error, NOT_LICD, Result, UNREACHABLE};
use crate::interruption::Interruption;
use crate::wait_display::WaitDisplay;

/// The pause after a refusal without `Retry-After`.
const USUAL_PAUSE: Duration = Duration::from_secs(1);
/// The bounds of the pause before another attempt to connect.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_RECONNECT_PAUSE: Duration = Duration::from_secs(2);
/// Pauses up to this length are not noted.
const QUIET_PAUSE: Duration = Duration::from_secs(2);

/// Why a request may succeed later.
#[derive(Clone, Copy)]
enum Trouble {
    RateLimit,
    Busy,
    /// There is no connection, or it broke.
    Silence,
}

/// No request is sent before the end of a pause.
#[derive(Clone, Copy)]
struct Pause {
    trouble: Trouble,
    end: Instant,
    /// The end that is shown: of the pause, or of all attempts to connect.
    shown_end: Instant,
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.shown_end.saturating_duration_since(Instant::now()).as_secs_f64().ceil();
        match self.trouble {
            Trouble::RateLimit => {
                write!(f, "rate limited; retrying in {seconds} s")
            }
            Trouble::Busy => write!(f, "the server is busy; retrying in {seconds} s"),
            Trouble::Silence => {
                write!(f, "no response from the server; giving up in {seconds} s")
            }
        }
    }
}

/// What is known about the server, from nothing to a response.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerKnowledge {
    /// The default server, or one that a login is about to try.
    Unknown,
    /// A flag or variable names it, as in a script that also starts licd.
    Named,
    /// licd responded there when the profile was stored.
    Stored,
    /// licd has responded there in this run.
    Responded,
}

/// The attempts to send one request.
pub(super) struct Attempts {
    is_write: bool,
    is_resent: bool,
    /// The error of an attempt that may have taken effect.
    in_doubt: Option<Error>,
}

impl Attempts {
    pub(super) fn new(is_write: bool) -> Self {
        Self { is_write, is_resent: false, in_doubt: None }
    }

    fn failed(&mut self, error: Error) {
        self.is_resent = true;
        if self.is_write && !error.had_no_effect() {
            self.in_doubt.get_or_insert(error);
        }
    }

    /// The error of a response. A secret is sent only once: a retry after the attempt that created it
    /// gets a conflict.
    fn refused(&mut self, error: Error) -> Error {
        self.in_doubt.take().filter(|_| error.code() == "conflict").unwrap_or(error)
    }

    /// The error to report. An attempt that never arrived says nothing about earlier ones.
    fn end(&mut self, error: Error) -> Error {
        self.in_doubt.take().filter(|_| error.had_no_effect()).unwrap_or(error)
    }
}

pub struct Patience {
    /// The longest time without a response.
    limit: Duration,
    display: Rc<WaitDisplay>,
    interruption: Rc<Interruption>,
    known: Cell<ServerKnowledge>,
    /// Since when no request has been answered.
    stuck_since: Cell<Option<Instant>>,
    pause: Cell<Option<Pause>>,
    /// The end of the wait that was last noted.
    noted_until: Cell<Option<Instant>>,
    waiting: Cell<usize>,
}

impl Patience {
    pub fn new(
        limit: Duration,
        known: ServerKnowledge,
        display: Rc<WaitDisplay>,
        interruption: Rc<Interruption>,
    ) -> Self {
        Self {
            limit,
            display,
            interruption,
            known: Cell::new(known),
            stuck_since: Cell::default(),
            pause: Cell::default(),
            noted_until: Cell::default(),
            waiting: Cell::default(),
        }
    }

    /// Whether licd is known to be at this address, so that any other response is a proxy's.
    pub(super) fn expects_licd(&self) -> bool {
        self.known.get() >= ServerKnowledge::Named
    }

    /// Prints a line, even while a bar is shown.
    pub(super) fn say(&self, text: &str) {
        self.display.say(text);
    }

    /// Waits for the end of a pause. Ctrl-C ends the wait, and with it the request.
    pub(super) async fn wait(&self) -> Result<()> {
        if self.pending().is_none() {
            return Ok(());
        }
        let _shown = Shown::begin(self);
        while let Some(pause) = self.pending() {
            if self.interruption.wanted() {
                return Err(Error::interrupted());
            }
            self.display.show(format!("{pause} (Ctrl-C to stop)"));
            tokio::select! {
                () = sleep_until(pause.end.min(next_second(pause.shown_end))) => {}
                () = self.interruption.heard() => {}
            }
        }
        Ok(())
    }

    /// Records that a request was answered.
    pub(super) fn answered(&self) {
        self.known.set(ServerKnowledge::Responded);
        self.stuck_since.set(None);
    }

    /// Schedules a pause if the request may succeed after it; otherwise returns the request's error.
    pub(super) fn after(&self, error: Error, attempts: &mut Attempts) -> Result<()> {
        let Some(trouble) = self.trouble(&error, attempts) else {
            if error.status().is_some() && error.code() != NOT_LICD {
                self.answered();
            }
            return Err(attempts.refused(error));
        };
        if error.status().is_some() {
            self.known.set(ServerKnowledge::Responded);
        }
        let now = Instant::now();
        let since = self.stuck_since.get().unwrap_or(now);
        self.stuck_since.set(Some(since));
        let left = (since + self.limit).saturating_duration_since(now);
        let pause = match (trouble, error.retry_after) {
            (Trouble::Silence, _) => reconnect_pause(now - since).min(left),
            (_, Some(seconds)) => Duration::from_secs(seconds).max(MIN_PAUSE),
            (_, None) => USUAL_PAUSE,
        };
        if left.is_zero() || pause > left {
            return Err(attempts.end(self.advised(error)));
        }
        let shown = if matches!(trouble, Trouble::Silence) { left } else { pause };
        self.pause_until(Pause { trouble, end: now + pause, shown_end: now + shown }, since);
        attempts.failed(error);
        Ok(())
    }

    fn trouble(&self, error: &Error, attempts: &Attempts) -> Option<Trouble> {
        let Attempts { is_write, is_resent, .. } = *attempts;
        let known = self.known.get();
        let silence = |is_temporary: bool| is_temporary.then_some(Trouble::Silence);
        match (error.code(), error.status()) {
            // What never responds is probably not licd. A write is retried anyway, because it may
            // have taken effect.
            (BROKEN_ANSWER, _) => {
                silence(known >= ServerKnowledge::Stored || is_write || !is_resent)
            }
            // A mistyped name is not retried.
            (UNREACHABLE, _) if error.is_unknown_host => {
                silence(known == ServerKnowledge::Responded)
            }
            (UNREACHABLE, _) => silence(known >= ServerKnowledge::Named || is_resent),
            (NOT_LICD, _) => None,
            (_, Some(429)) => Some(Trouble::RateLimit),
            (_, Some(502..=504)) => Some(Trouble::Busy),
            // The service is still processing the attempt whose response was lost.
            ("idempotency_key_in_use", _) => is_resent.then_some(Trouble::Busy),
            _ => None,
        }
    }

    fn pause_until(&self, pause: Pause, since: Instant) {
        if self.pending().is_some_and(|pending| pending.end >= pause.end) {
            return;
        }
        self.pause.set(Some(pause));
        let now = Instant::now();
        let is_noted = self.noted_until.get().is_some_and(|end| end > now);
        if !is_noted && pause.end - since > QUIET_PAUSE {
            self.noted_until.set(Some(pause.shown_end));
            self.display.note(&pause.to_string());
        }
    }

    fn pending(&self) -> Option<Pause> {
        self.pause.get().filter(|pause| pause.end > Instant::now())
    }

    /// The error when patience runs out, with a span that would have been enough.
    fn advised(&self, error: Error) -> Error {
        match error.retry_after.filter(|_| !self.limit.is_zero()) {
            Some(seconds) => {
                let enough = seconds.max(self.limit.as_secs() * 2);
                error.fix(format!("try again in {seconds} s, or raise --patience to {enough}s"))
            }
            None => error,
        }
    }
}

/// Shows the wait until the last waiting request resumes.
struct Shown<'a>(&'a Patience);

impl<'a> Shown<'a> {
    fn begin(patience: &'a Patience) -> Self {
        patience.waiting.set(patience.waiting.get() + 1);
        Self(patience)
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        let others = self.0.waiting.get() - 1;
        self.0.waiting.set(others);
        if others == 0 {
            self.0.display.clear();
        }
    }
}

/// Grows with the length of the outage.
fn reconnect_pause(silence: Duration) -> Duration {
    (silence / 2).clamp(MIN_PAUSE, MAX_RECONNECT_PAUSE)
}

/// When the countdown to `end` next changes.
fn next_second(end: Instant) -> Instant {
    let now = Instant::now();
    let part = end.saturating_duration_since(now).subsec_nanos();
    now + if part == 0 { Duration::from_secs(1) } else { Duration::from_nanos(part.into()) }
}

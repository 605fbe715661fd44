//! How long a run waits for its server. One request that is refused because of a rate limit or a busy
//! server, or that does not get through, delays all requests of the run; any answer ends the trouble.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::error::{BROKEN_ANSWER, Error, NOT_LICD, Result, UNREACHABLE};
use crate::interruption::Interruption;
use crate::wait_display::WaitDisplay;

/// The pause after a refusal that names none.
const USUAL_PAUSE: Duration = Duration::from_secs(1);
/// The bounds of the pause before another attempt to connect.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_RECONNECT_PAUSE: Duration = Duration::from_secs(2);
/// A pause up to this length needs no note.
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
    /// What is shown as the end: of the pause, or of all attempts to connect.
    shown_end: Instant,
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.shown_end.saturating_duration_since(Instant::now()).as_secs_f64().ceil();
        match self.trouble {
            Trouble::RateLimit => {
                write!(f, "the server limits the rate; continuing in {seconds} s")
            }
            Trouble::Busy => write!(f, "the server is busy; continuing in {seconds} s"),
            Trouble::Silence => {
                write!(f, "the server does not answer; trying for {seconds} s more")
            }
        }
    }
}

/// What is known of the server, from a wrong address to one that works.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Acquaintance {
    /// It is the default one, or one that a login is about to try.
    Unknown,
    /// A flag or variable names it, as in a script that starts licd too.
    Named,
    /// licd has answered there when the profile was stored.
    Stored,
    /// licd has answered there in this run.
    Answered,
}

/// The attempts to send one request.
pub(super) struct Attempts {
    is_write: bool,
    is_resent: bool,
    /// The error of an attempt that may have had its effect.
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

    /// The error of an answer. A secret is answered once: the attempt after one that did create it
    /// gets a conflict.
    fn refused(&mut self, error: Error) -> Error {
        self.in_doubt.take().filter(|_| error.code() == "conflict").unwrap_or(error)
    }

    /// The error at the end. An attempt that did not arrive says nothing about those before it.
    fn end(&mut self, error: Error) -> Error {
        self.in_doubt.take().filter(|_| error.had_no_effect()).unwrap_or(error)
    }
}

pub struct Patience {
    /// The longest time without any answer.
    limit: Duration,
    display: Rc<WaitDisplay>,
    interruption: Rc<Interruption>,
    acquaintance: Cell<Acquaintance>,
    /// The time since which no request was answered.
    stuck_since: Cell<Option<Instant>>,
    pause: Cell<Option<Pause>>,
    /// The end of the wait of which a note was written.
    noted_until: Cell<Option<Instant>>,
    waiting: Cell<usize>,
}

impl Patience {
    pub fn new(
        limit: Duration,
        acquaintance: Acquaintance,
        display: Rc<WaitDisplay>,
        interruption: Rc<Interruption>,
    ) -> Self {
        Self {
            limit,
            display,
            interruption,
            acquaintance: Cell::new(acquaintance),
            stuck_since: Cell::default(),
            pause: Cell::default(),
            noted_until: Cell::default(),
            waiting: Cell::default(),
        }
    }

    /// Whether licd is at this address, so that another answer may come from a proxy.
    pub(super) fn expects_licd(&self) -> bool {
        self.acquaintance.get() >= Acquaintance::Named
    }

    /// Says something in a line of its own, also while a bar is shown.
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
            self.display.show(format!("{pause}, Ctrl-C stops"));
            tokio::select! {
                () = sleep_until(pause.end.min(next_second(pause.shown_end))) => {}
                () = self.interruption.heard() => {}
            }
        }
        Ok(())
    }

    /// Records that a request was answered.
    pub(super) fn answered(&self) {
        self.acquaintance.set(Acquaintance::Answered);
        self.stuck_since.set(None);
    }

    /// Plans a pause when the failed request may succeed after it; fails otherwise, with the
    /// request's own error.
    pub(super) fn after(&self, error: Error, attempts: &mut Attempts) -> Result<()> {
        let Some(trouble) = self.trouble(&error, attempts) else {
            if error.status().is_some() && error.code() != NOT_LICD {
                self.answered();
            }
            return Err(attempts.refused(error));
        };
        if error.status().is_some() {
            self.acquaintance.set(Acquaintance::Answered);
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
        let acquaintance = self.acquaintance.get();
        let silence = |is_temporary: bool| is_temporary.then_some(Trouble::Silence);
        match (error.code(), error.status()) {
            // What never answers is probably not licd. A write is sent again nevertheless, as it
            // may have been done.
            (BROKEN_ANSWER, _) => {
                silence(acquaintance >= Acquaintance::Stored || is_write || !is_resent)
            }
            // A mistyped name is not waited for.
            (UNREACHABLE, _) if error.is_unknown_host => {
                silence(acquaintance == Acquaintance::Answered)
            }
            (UNREACHABLE, _) => silence(acquaintance >= Acquaintance::Named || is_resent),
            (NOT_LICD, _) => None,
            (_, Some(429)) => Some(Trouble::RateLimit),
            (_, Some(502..=504)) => Some(Trouble::Busy),
            // The service still works on the attempt whose answer was lost.
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

    /// The error at the end of the patience, with a span that would have been enough.
    fn advised(&self, error: Error) -> Error {
        match error.retry_after.filter(|_| !self.limit.is_zero()) {
            Some(seconds) => {
                let enough = seconds.max(self.limit.as_secs() * 2);
                error.fix(format!("try again in {seconds} s, or wait with --patience {enough}s"))
            }
            None => error,
        }
    }
}

/// Keeps the wait on the screen until the last request that waits goes on.
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

/// Grows with the time that the server was silent.
fn reconnect_pause(silence: Duration) -> Duration {
    (silence / 2).clamp(MIN_PAUSE, MAX_RECONNECT_PAUSE)
}

/// When the seconds until `end` have one less.
fn next_second(end: Instant) -> Instant {
    let now = Instant::now();
    let part = end.saturating_duration_since(now).subsec_nanos();
    now + if part == 0 { Duration::from_secs(1) } else { Duration::from_nanos(part.into()) }
}

//! Retries while the server is busy, rate limiting or unreachable. A request that fails this way
//! delays all requests of the run, until any of them gets a response.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use common::ErrorCode;
use tokio::time::{Instant, sleep_until};

use crate::error::{BROKEN_ANSWER, Error, Exit, NOT_LICD, Result, UNREACHABLE};
use crate::output::WaitDisplay;
use crate::terminal::Interruption;

/// The pause after a refusal without `Retry-After`.
const USUAL_PAUSE: Duration = Duration::from_secs(1);
/// The bounds of the pause before another attempt to connect.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_RECONNECT_PAUSE: Duration = Duration::from_secs(2);
/// Pauses up to this length are not noted.
const QUIET_PAUSE: Duration = Duration::from_secs(2);

/// Reason why a request may succeed later.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trouble {
    RateLimit,
    Busy,
    /// There is no connection, or it broke.
    Silence,
}

impl Trouble {
    /// Describes a wait of this length.
    fn words(self, wait: Duration) -> String {
        let seconds = wait.as_secs_f64().ceil();
        match self {
            Self::RateLimit => format!("rate limited; retrying in {seconds} s"),
            Self::Busy => format!("the server is busy; retrying in {seconds} s"),
            Self::Silence => format!("no response from the server; giving up in {seconds} s"),
        }
    }
}

/// Knowledge about the server, from nothing to a response.
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

    /// The error of a response. A secret is sent only once: a retry after the attempt that created
    /// it gets a conflict.
    fn refused(&mut self, error: Error) -> Error {
        self.in_doubt.take().filter(|_| error.is(ErrorCode::Conflict)).unwrap_or(error)
    }

    /// The error to report. An attempt that never arrived says nothing about earlier ones.
    fn end(&mut self, error: Error) -> Error {
        self.in_doubt.take().filter(|_| error.had_no_effect()).unwrap_or(error)
    }
}

pub struct Patience {
    /// The longest time without a response.
    limit: Cell<Duration>,
    display: Rc<WaitDisplay>,
    interruption: Rc<Interruption>,
    known: Cell<ServerKnowledge>,
    /// Since when no request has been answered.
    stuck_since: Cell<Option<Instant>>,
    /// No request is sent before this moment.
    paused_until: Cell<Instant>,
    /// The end of the wait that was last noted.
    noted_until: Cell<Instant>,
}

impl Patience {
    pub fn new(
        limit: Duration,
        known: ServerKnowledge,
        display: Rc<WaitDisplay>,
        interruption: Rc<Interruption>,
    ) -> Self {
        let now = Instant::now();
        Self {
            limit: Cell::new(limit),
            display,
            interruption,
            known: Cell::new(known),
            stuck_since: Cell::default(),
            paused_until: Cell::new(now),
            noted_until: Cell::new(now),
        }
    }

    /// Waits for the server as long as it takes, whatever it was asked before.
    pub(super) fn be_endless(&self) {
        self.limit.set(Duration::MAX);
    }

    fn is_endless(&self) -> bool {
        self.limit.get() == Duration::MAX
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
        while self.paused_until.get() > Instant::now() {
            tokio::select! {
                () = sleep_until(self.paused_until.get()) => {}
                () = self.interruption.heard() => {}
            }
            self.display.clear();
            if self.interruption.wanted() {
                return Err(Error::interrupted());
            }
        }
        Ok(())
    }

    /// Records that a response came.
    pub(super) fn answered(&self) {
        self.known.set(ServerKnowledge::Responded);
        if self.stuck_since.take().is_some() && self.is_endless() {
            self.display.note("the server is back");
        }
    }

    /// Schedules a pause if the request may succeed after it; otherwise returns the request's
    /// error.
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
        let is_first = self.stuck_since.get().is_none();
        let since = self.stuck_since.get().unwrap_or(now);
        self.stuck_since.set(Some(since));
        let left = self.limit.get().saturating_sub(now - since);
        let pause = match (trouble, error.retry_after) {
            (Trouble::Silence, _) => reconnect_pause(now - since).min(left),
            (_, Some(seconds)) => Duration::from_secs(seconds).max(MIN_PAUSE),
            (_, None) => USUAL_PAUSE,
        };
        if left.is_zero() || pause > left {
            return Err(attempts.end(self.advised(error)));
        }
        let wait = if trouble == Trouble::Silence { left } else { pause };
        if !self.is_endless() {
            self.show(trouble, pause, wait, since);
        } else if is_first {
            self.display.note(&format!("{} Waiting.", error.message()));
        }
        self.paused_until.set(self.paused_until.get().max(now + pause));
        attempts.failed(error);
        Ok(())
    }

    /// Shows a pause, as the wait of which it may be a part; in a log once, if it is a long one.
    fn show(&self, trouble: Trouble, pause: Duration, wait: Duration, since: Instant) {
        let (now, words) = (Instant::now(), trouble.words(wait));
        self.display.show(format!("{words} (Ctrl-C to stop)"));
        if self.noted_until.get() <= now && now + pause > since + QUIET_PAUSE {
            self.noted_until.set(now + wait);
            self.display.log(&words);
        }
    }

    fn trouble(&self, error: &Error, attempts: &Attempts) -> Option<Trouble> {
        let Attempts { is_write, is_resent, .. } = *attempts;
        let known = self.known.get();
        if self.is_endless() && matches!(error.exit, Exit::Unreachable | Exit::RateLimited) {
            return Some(if error.status().is_some() { Trouble::Busy } else { Trouble::Silence });
        }
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
            // licd names no time if waiting does not help.
            (_, Some(503)) if error.is(ErrorCode::Unavailable) && error.retry_after.is_none() => {
                None
            }
            (_, Some(502..=504)) => Some(Trouble::Busy),
            // The service is still processing the attempt whose response was lost.
            _ if error.is(ErrorCode::IdempotencyKeyInUse) => is_resent.then_some(Trouble::Busy),
            _ => None,
        }
    }

    /// The error when patience runs out, with a span that would have been enough.
    fn advised(&self, error: Error) -> Error {
        match error.retry_after.filter(|_| !self.limit.get().is_zero()) {
            Some(seconds) => {
                let enough = seconds.max(self.limit.get().as_secs() * 2);
                error.fix(format!("try again in {seconds} s, or raise --patience to {enough}s"))
            }
            None => error,
        }
    }
}

/// Grows with the length of the outage.
fn reconnect_pause(silence: Duration) -> Duration {
    (silence / 2).clamp(MIN_PAUSE, MAX_RECONNECT_PAUSE)
}

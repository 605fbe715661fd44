//! Readiness: whether this node can read its database, which is enough for most validations, and
//! whether it can write to it.
//!
//! A probe is a small read and a small write. It runs at most five times a second. Callers that
//! wait share its result, which is never older than their request.

use std::io::ErrorKind;
use std::time::Duration;

use parking_lot::Mutex as BlockingMutex;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout};

use crate::db::{self, Db};
use crate::error::Error;
use crate::store::worlds;

/// Minimum time between the starts of two probes.
const INTERVAL: Duration = Duration::from_millis(200);
/// Timeout of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which a failed batch of validations counts, unless another one succeeds.
const FAILURE_MEMORY: Duration = Duration::from_secs(5);

/// Health of the node.
pub struct Readiness {
    pub reads: Ability,
    pub writes: Ability,
}

impl Default for Readiness {
    fn default() -> Self {
        Self { reads: Ability::new(Kind::Read), writes: Ability::new(Kind::Write) }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
}

/// An ability of the node: to read or to write.
pub struct Ability {
    kind: Kind,
    probed: Mutex<Option<Probed>>,
    failed_at: BlockingMutex<Option<Instant>>,
}

struct Probed {
    began_at: Instant,
    is_well: bool,
}

impl Ability {
    fn new(kind: Kind) -> Self {
        Self { kind, probed: Mutex::default(), failed_at: BlockingMutex::default() }
    }

    /// Records the outcome of a batch of validations, because on a full disk a probe may succeed
    /// although a larger write fails.
    pub fn record_batch(&self, outcome: Result<(), &Error>) {
        let mut failed_at = self.failed_at.lock();
        match outcome {
            Ok(()) => *failed_at = None,
            Err(Error::Unavailable) => *failed_at = Some(Instant::now()),
            Err(_) => {}
        }
    }

    /// Whether the node has the ability now. Returns within about two seconds.
    pub async fn check(&self, db: &Db) -> bool {
        let asked_at = Instant::now();
        let mut probed = self.probed.lock().await;
        let is_well = match &*probed {
            Some(last) if last.began_at >= asked_at => last.is_well,
            last => {
                if let Some(last) = last {
                    sleep_until(last.began_at + INTERVAL).await;
                }
                let was_well = last.as_ref().is_none_or(|last| last.is_well);
                let began_at = Instant::now();
                let is_well = self.kind.is_well(db, was_well).await;
                *probed = Some(Probed { began_at, is_well });
                is_well
            }
        };
        is_well && !self.failed_lately()
    }

    fn failed_lately(&self) -> bool {
        let failed_at = self.failed_at.lock();
        failed_at.is_some_and(|at| at.elapsed() < FAILURE_MEMORY)
    }
}

impl Kind {
    /// Probes the database, and logs if the state has changed.
    async fn is_well(self, db: &Db, was_well: bool) -> bool {
        let outcome = timeout(PROBE_TIMEOUT, self.probe(db)).await;
        let outcome =
            outcome.unwrap_or_else(|_| Err(std::io::Error::from(ErrorKind::TimedOut).into()));
        match (&outcome, self) {
            (Err(error), Self::Read) if was_well => tracing::warn!(%error, "this node cannot read"),
            (Err(error), Self::Write) if was_well => {
                tracing::warn!(%error, "this node cannot write");
            }
            (Ok(()), Self::Read) if !was_well => tracing::info!("this node can read again"),
            (Ok(()), Self::Write) if !was_well => tracing::info!("this node can write again"),
            _ => {}
        }
        outcome.is_ok()
    }

    async fn probe(self, db: &Db) -> db::Result<()> {
        match self {
            Self::Read => worlds::read_first(&mut db.read_for_validations().await?).await,
            Self::Write => {
                // Writes existing data, and waits until it is on disk.
                let mut tx = db.begin().await?;
                worlds::rewrite_first(&mut tx).await?;
                tx.commit().await
            }
        }
    }
}

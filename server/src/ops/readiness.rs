//! Whether this node can serve: it can write to its database, and somebody answers validations.
//!
//! Asking costs a small write, at most five a second however many ask: those who wait for it share
//! its outcome. It is never older than the question.

use std::io::ErrorKind;
use std::sync::{Mutex as StdMutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout};

use crate::db::{self, Db};
use crate::error::Error;
use crate::store::worlds;

/// Between the beginnings of two writes.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long the write may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a batch of validations that failed counts, unless one succeeds.
const FAILURE_MEMORY: Duration = Duration::from_secs(5);

struct Probed {
    began_at: Instant,
    is_well: bool,
}

/// What is known of the node's health.
#[derive(Default)]
pub struct Readiness {
    probed: Mutex<Option<Probed>>,
    failed_at: StdMutex<Option<Instant>>,
}

impl Readiness {
    /// Notes how a batch of validations ended. A small write may succeed where a larger one finds
    /// the disk full.
    pub fn note_batch(&self, outcome: Result<(), &Error>) {
        let mut failed_at = self.failed_at.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(()) => *failed_at = None,
            Err(Error::Unavailable) => *failed_at = Some(Instant::now()),
            Err(_) => {}
        }
    }

    /// Fails while the node cannot write. Answers within about two seconds.
    pub async fn check(&self, db: &Db) -> Result<(), Error> {
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
                let is_well = is_writable(db, was_well).await;
                *probed = Some(Probed { began_at, is_well });
                is_well
            }
        };
        if is_well && !self.failed_lately() { Ok(()) } else { Err(Error::Unavailable) }
    }

    fn failed_lately(&self) -> bool {
        let failed_at = self.failed_at.lock().unwrap_or_else(PoisonError::into_inner);
        failed_at.is_some_and(|at| at.elapsed() < FAILURE_MEMORY)
    }
}

/// Logs when it is another than it was.
async fn is_writable(db: &Db, was_writable: bool) -> bool {
    let outcome = timeout(PROBE_TIMEOUT, probe(db)).await;
    let outcome = outcome.unwrap_or_else(|_| Err(std::io::Error::from(ErrorKind::TimedOut).into()));
    match &outcome {
        Err(error) if was_writable => tracing::warn!(%error, "this node cannot write"),
        Ok(()) if !was_writable => tracing::info!("this node can write again"),
        _ => {}
    }
    outcome.is_ok()
}

/// Writes what is there already, and waits until it is on disk.
async fn probe(db: &Db) -> db::Result<()> {
    let mut tx = db.begin().await?;
    worlds::rewrite_first(&mut tx).await?;
    tx.commit().await
}

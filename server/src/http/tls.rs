//! TLS: the certificate and key that licd shows to its clients, read from files, and read again when
//! these change.

mod pair;

use std::fmt;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use common::Timestamp;
use parking_lot::RwLock;
use rustls::ServerConfig;
use tokio::sync::Notify;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::permissions::chmod_hint;
use pair::{Fingerprint, Pair, PairFiles};

pub use pair::TlsError;

/// Interval between looks at the files. A change that is present at two looks is read.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Time before the expiry of a certificate from which licd warns, and the interval of the warnings.
const EXPIRY_NOTICE: TimeDelta = TimeDelta::days(14);
const EXPIRY_WARNING_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// The certificate and key in use. Clones share them.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    files: PairFiles,
    /// The files as they were before they were read for the first time.
    first: Fingerprint,
    pair: RwLock<Pair>,
    reload: Notify,
}

impl Tls {
    /// Reads the files, which hold PEM: the certificate with those between it and the authority, and
    /// its key. Fails if they cannot be read, or do not fit each other.
    pub fn open(certificate: PathBuf, key: PathBuf) -> Result<Self, TlsError> {
        let files = PairFiles { certificate, key };
        let first = files.fingerprint();
        let pair = RwLock::new(files.read()?);
        let tls = Self(Arc::new(Inner { files, first, pair, reload: Notify::new() }));
        tls.warn_of_times();
        tls.warn_of_exposure();
        Ok(tls)
    }

    /// Returns the configuration for new connections.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.0.pair.read().config.clone()
    }

    /// Has [`Self::watch`] read the files, whether or not they changed.
    pub fn reload(&self) {
        self.0.reload.notify_one();
    }

    /// Reads the files whenever they have changed. A pair that is no good leaves the one before in
    /// use.
    pub async fn watch(self) {
        let mut looks = interval(POLL_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut read, mut last) = (self.0.first, self.0.first);
        let mut warned = Instant::now();
        loop {
            let is_asked = tokio::select! {
                _ = looks.tick() => false,
                () = self.0.reload.notified() => true,
            };
            let tls = self.clone();
            let look = move || {
                let seen = tls.0.files.fingerprint();
                // Operators replace one file after the other, so wait until both are stable.
                let has_changed = seen != read && seen == last;
                if is_asked || has_changed {
                    tls.read();
                }
                (if is_asked || has_changed { seen } else { read }, seen)
            };
            match spawn_blocking(look).await.map_err(JoinError::try_into_panic) {
                Ok(seen) => (read, last) = seen,
                Err(Ok(panic)) => resume_unwind(panic),
                Err(Err(_)) => return,
            }
            if warned.elapsed() >= EXPIRY_WARNING_INTERVAL {
                warned = Instant::now();
                self.warn_of_times();
            }
        }
    }

    fn read(&self) {
        let certificate = self.0.files.certificate.display();
        match self.0.files.read() {
            Ok(pair) => {
                let expires_at = pair.expires_at;
                *self.0.pair.write() = pair;
                tracing::info!(%certificate, %expires_at, "a TLS certificate was read, and is in use");
                self.warn_of_times();
                self.warn_of_exposure();
            }
            Err(error) => {
                let error = anyhow::Error::from(error);
                tracing::warn!(
                    error = format!("{error:#}"),
                    "a TLS certificate cannot be used; the one before stays in use"
                );
            }
        }
    }

    fn warn_of_exposure(&self) {
        if let Some(fix) = chmod_hint(&self.0.files.key) {
            let setting = "LICD_TLS_KEY";
            tracing::warn!("others can read or change the file of {setting}; fix it with: {fix}");
        }
    }

    fn warn_of_times(&self) {
        let (valid_from, expires_at) = {
            let pair = self.0.pair.read();
            (pair.valid_from, pair.expires_at)
        };
        let left = expires_at.since(Timestamp::now());
        let certificate = self.0.files.certificate.display();
        if left <= TimeDelta::zero() {
            tracing::warn!(%certificate, %expires_at, "the TLS certificate has expired");
        } else if left <= EXPIRY_NOTICE {
            tracing::warn!(%certificate, %expires_at, "the TLS certificate expires soon");
        }
        if valid_from > Timestamp::now() {
            tracing::warn!(%certificate, %valid_from, "the TLS certificate is not valid yet");
        }
    }
}

/// Without the key.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.0.files).finish()
    }
}

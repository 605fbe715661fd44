//! Idempotent requests: they have their effect once, however often they are sent.
//!
//! A caller that lost a response cannot know whether the request succeeded. With an idempotency key
//! it can send the request again: the outcome is stored in the same transaction as the effect, and
//! returned again for a week. Validations need no key, because each is decided again.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::TimeDelta;
use common::Timestamp;
use parking_lot::Mutex;

use crate::db::{self, Conn, Db};
use crate::error::Error;
use crate::store::idempotency::{self, Answered};
use crate::store::{Scope, retention};

/// Retention of outcomes. Payment services repeat a notification for up to three days.
pub(super) const RETENTION: TimeDelta = TimeDelta::days(7);

/// The idempotency key of a request.
pub struct IdempotencyKey {
    pub name: String,
    /// SHA-256 of the request. Another request with the same key is refused.
    pub fingerprint: [u8; 32],
}

/// Idempotent requests that this process is handling.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<BTreeSet<(Scope, String)>>>);

impl InFlight {
    /// Starts a request. Fails if one with the same key is in progress.
    pub fn enter(&self, scope: Scope, key: IdempotencyKey) -> Result<IdempotentRequest, Error> {
        let IdempotencyKey { name, fingerprint } = key;
        if !self.0.lock().insert((scope, name.clone())) {
            return Err(Error::IdempotencyKeyInUse);
        }
        Ok(IdempotentRequest { in_flight: self.clone(), scope, name, fingerprint })
    }
}

/// Outcome of an idempotent request.
pub enum Idempotent<T> {
    Done(T),
    /// The request had succeeded before.
    Replayed(Stored),
}

impl<T> Idempotent<T> {
    /// Returns the outcome of an operation that shows a secret. Its response is never stored, so a
    /// second request has failed with [`Error::ShownOnce`].
    pub fn of_secret(self) -> Result<T, Error> {
        match self {
            Self::Done(outcome) => Ok(outcome),
            Self::Replayed(_) => Err(Error::Internal),
        }
    }
}

/// A stored response.
pub struct Stored {
    pub status: i32,
    pub body: String,
    pub etag: Option<String>,
}

/// The stored part of an outcome.
pub enum StoredOutcome {
    Answer {
        is_new: bool,
        body: String,
        /// Tag of the record in `body`.
        etag: Option<String>,
    },
    /// Id of the created record, if the response contained a secret.
    Id(String),
}

/// Status of a repeated request whose first response contained a secret.
const SHOWN_ONCE: i32 = 409;

/// A request with an idempotency key. It is in progress until this is dropped.
pub struct IdempotentRequest {
    in_flight: InFlight,
    scope: Scope,
    name: String,
    fingerprint: [u8; 32],
}

impl Drop for IdempotentRequest {
    fn drop(&mut self) {
        self.in_flight.0.lock().remove(&(self.scope, std::mem::take(&mut self.name)));
    }
}

impl IdempotentRequest {
    /// Claims the key, or returns the stored response to the same request.
    pub async fn claim(&self, conn: &mut Conn) -> Result<Option<Stored>, Error> {
        let (scope, name, now) = (self.scope, &*self.name, Timestamp::now());
        let horizon = now.plus(-RETENTION);
        idempotency::forget(conn, scope, name, horizon).await?;
        if idempotency::claim(conn, scope, name, &self.fingerprint, now).await? {
            return Ok(None);
        }
        match idempotency::find(conn, scope, name, horizon).await? {
            Some(answered) if answered.fingerprint == self.fingerprint => {
                replay(answered).map(Some)
            }
            Some(_) => Err(Error::IdempotencyKeyReused),
            None => Err(Error::Unavailable),
        }
    }

    /// Stores the outcome for repeated requests.
    pub async fn settle(&self, conn: &mut Conn, stored: &StoredOutcome) -> db::Result<()> {
        let (status, body, etag) = match stored {
            StoredOutcome::Answer { is_new: true, body, etag } => (201, body, etag.as_deref()),
            StoredOutcome::Answer { is_new: false, body, etag } => (200, body, etag.as_deref()),
            StoredOutcome::Id(id) => (SHOWN_ONCE, id, None),
        };
        idempotency::settle(conn, self.scope, &self.name, status, body, etag).await
    }
}

fn replay(Answered { status, body, etag, .. }: Answered) -> Result<Stored, Error> {
    match body {
        Some(body) if status != SHOWN_ONCE => Ok(Stored { status, body, etag }),
        id => Err(Error::ShownOnce(id.unwrap_or_default())),
    }
}

/// Deletes outcomes beyond the retention.
pub async fn forget_old(db: &Db, now: Timestamp) -> db::Result<()> {
    retention::delete_old(db, retention::IDEMPOTENCY_KEYS, now.plus(-RETENTION)).await
}

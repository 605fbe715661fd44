//! Requests that have their effect once, however often they are sent.
//!
//! A caller who lost an answer cannot know whether the request had its effect. With an
//! idempotency key it may simply send the request again: the outcome is stored in one transaction
//! with the effect, and answered again for a week. A validation needs none of this: it is decided
//! anew each time, and an old answer would be a wrong one.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::TimeDelta;
use common::Timestamp;
use parking_lot::Mutex;

use crate::db::{self, Conn, Db};
use crate::error::Error;
use crate::store::Scope;
use crate::store::idempotency::{self, Answered};

/// How long answers are kept: payment services repeat a notification for three days.
pub(super) const KEPT: TimeDelta = TimeDelta::days(7);

/// What marks a request that may be sent again.
pub struct IdempotencyKey {
    pub name: String,
    /// The SHA-256 of the request: another one with the same name is refused.
    pub fingerprint: [u8; 32],
}

/// The requests with a key that this process is busy with.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<BTreeSet<(Scope, String)>>>);

impl InFlight {
    pub fn enter(&self, scope: Scope, key: IdempotencyKey) -> Result<Attempt, Error> {
        let IdempotencyKey { name, fingerprint } = key;
        if !self.0.lock().insert((scope, name.clone())) {
            return Err(Error::IdempotencyKeyInUse);
        }
        Ok(Attempt { in_flight: self.clone(), scope, name, fingerprint })
    }
}

/// What came of a request that may be sent again.
pub enum Once<T> {
    Done(T),
    /// It was done before.
    Replayed(Stored),
}

impl<T> Once<T> {
    /// The outcome of an operation that shows a secret. Its response is never stored: the second
    /// request fails with [`Error::ShownOnce`].
    pub fn of_secret(self) -> Result<T, Error> {
        match self {
            Self::Done(outcome) => Ok(outcome),
            Self::Replayed(_) => Err(Error::Internal),
        }
    }
}

/// The response to a request, as it was stored.
pub struct Stored {
    pub status: i32,
    pub body: String,
    pub etag: Option<String>,
}

/// What is kept of an outcome.
pub enum Kept {
    Answer {
        is_new: bool,
        body: String,
        /// The tag of the record in it.
        etag: Option<String>,
    },
    /// The id of the record that was created, because the answer showed a secret.
    Id(String),
}

/// The status of a request that is sent again and whose answer is not.
const SHOWN_ONCE: i32 = 409;

/// A request with a key. It is in flight as long as this lives.
pub struct Attempt {
    in_flight: InFlight,
    scope: Scope,
    name: String,
    fingerprint: [u8; 32],
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.in_flight.0.lock().remove(&(self.scope, std::mem::take(&mut self.name)));
    }
}

impl Attempt {
    /// Claims the key, or returns the stored response to the very same request.
    pub async fn claim(&self, conn: &mut Conn) -> Result<Option<Stored>, Error> {
        let (scope, name, now) = (self.scope, &*self.name, Timestamp::now());
        let horizon = now.plus(-KEPT);
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

    /// Stores the outcome as it is answered again.
    pub async fn settle(&self, conn: &mut Conn, kept: &Kept) -> db::Result<()> {
        let (status, body, etag) = match kept {
            Kept::Answer { is_new: true, body, etag } => (201, body, etag.as_deref()),
            Kept::Answer { is_new: false, body, etag } => (200, body, etag.as_deref()),
            Kept::Id(id) => (SHOWN_ONCE, id, None),
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

/// Deletes the keys that are older than a week, a portion at a time, and lets others write in
/// between.
pub async fn forget_old(db: &Db, now: Timestamp) -> db::Result<()> {
    let horizon = now.plus(-KEPT);
    while idempotency::forget_old(&mut db.write().await?, horizon).await? {}
    Ok(())
}

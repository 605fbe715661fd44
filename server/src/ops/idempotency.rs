//! Requests that are done once, however often they are sent.
//!
//! A caller who lost an answer cannot know whether the request was done. With an `Idempotency-Key`
//! it may simply send it again: what was answered is stored in one transaction with what was done,
//! and answered again for a day. The validation of a user needs none of this: it is asked anew each
//! time, and an old answer would be a wrong one.

mod age;

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::request::Parts;
use common::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::App;
use crate::db::{self, Conn, Db, Tx};
use crate::error::Error;
use crate::http::answer::Answer;
use crate::store::Scope;
use crate::store::idempotency::{self, Answered};
use age::Clocks;

const HEADER: &str = "idempotency-key";
const MAX_LENGTH: usize = 255;

/// The names of requests that this process is busy with.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<BTreeSet<(Scope, String)>>>);

impl InFlight {
    fn enter(&self, scope: Scope, name: &str) -> Result<InFlightGuard, Error> {
        let entry = (scope, name.to_owned());
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.insert(entry.clone()) {
            return Err(Error::Conflict("A request with this Idempotency-Key is still running"));
        }
        Ok(InFlightGuard { running: self.clone(), entry })
    }
}

/// While it lives, its request is running.
struct InFlightGuard {
    running: InFlight,
    entry: (Scope, String),
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let mut running = self.running.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.entry);
    }
}

/// How a request that changes something wants to be done: once, if it carries a key.
pub struct Idempotency {
    name: Option<String>,
    /// Method and path.
    what: String,
}

impl FromRequestParts<App> for Idempotency {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let Ok(OriginalUri(uri)) = OriginalUri::from_request_parts(parts, app).await;
        let what = format!("{} {}", parts.method, uri.path());
        let mut values = parts.headers.get_all(HEADER).iter();
        let Some(value) = values.next() else { return Ok(Self { name: None, what }) };
        if values.next().is_some() {
            let rule = "Idempotency-Key must be given only once";
            return Err(Error::invalid("Idempotency-Key", rule));
        }
        let name = value.to_str().ok().filter(|name| is_well_formed(name)).ok_or_else(|| {
            let rule = "Idempotency-Key must be 1 to 255 printable ASCII characters without spaces";
            Error::invalid("Idempotency-Key", rule)
        })?;
        Ok(Self { name: Some(name.to_owned()), what })
    }
}

fn is_well_formed(name: &str) -> bool {
    (1..=MAX_LENGTH).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

impl Idempotency {
    /// Begins a transaction for what the request asks. When the very same request was answered
    /// before, ends the handler with that answer.
    pub async fn begin<B: Serialize>(
        self,
        app: &App,
        scope: Scope,
        body: &B,
    ) -> Result<IdempotentTx, Error> {
        let Some(name) = self.name else {
            return Ok(IdempotentTx::new(app.begin(scope.tenant).await?, None));
        };
        let busy = app.running.enter(scope, &name)?;
        let body = serde_json::to_vec(body).map_err(|_| Error::Internal)?;
        let fingerprint =
            Sha256::new().chain_update(&self.what).chain_update([0]).chain_update(body);
        let fingerprint = fingerprint.finalize();
        let mut tx = app.begin(scope.tenant).await?;
        let clocks = Clocks::now();
        idempotency::forget(&mut tx, scope, &name, clocks.horizon()).await?;
        if idempotency::claim(&mut tx, scope, &name, &fingerprint, clocks.given()).await? {
            return Ok(IdempotentTx::new(tx, Some((scope, name, busy))));
        }
        match idempotency::find(&mut tx, scope, &name, clocks.horizon()).await? {
            Some(answered) if answered.fingerprint == *fingerprint => Err(replay(answered)),
            Some(_) => Err(Error::IdempotencyKeyReused),
            None => Err(Error::Unavailable),
        }
    }
}

fn replay(answered: Answered) -> Error {
    match answered.body {
        Some(body) => Error::Replayed { status: answered.status, body },
        None => Error::Conflict("This was done before, and what it answered is shown only once"),
    }
}

/// A transaction that, with what it does, notes what is answered.
pub struct IdempotentTx {
    tx: Tx,
    once: Option<(Scope, String, InFlightGuard)>,
    /// The time of the change, read after the transaction began: one that waited for others carries
    /// no earlier time than theirs.
    pub now: Timestamp,
}

impl IdempotentTx {
    fn new(tx: Tx, once: Option<(Scope, String, InFlightGuard)>) -> Self {
        Self { tx, once, now: Timestamp::now() }
    }

    /// Makes it so, and gives the answer back.
    pub async fn commit<A: Answer>(self, answer: A) -> Result<A, Error> {
        let body = if self.once.is_some() { Some(answer.body()?) } else { None };
        self.settle(answer, body).await
    }

    /// As [`commit`](Self::commit), for an answer that shows a secret: it is not kept.
    pub async fn commit_secret<A: Answer>(self, answer: A) -> Result<A, Error> {
        self.settle(answer, None).await
    }

    async fn settle<A: Answer>(mut self, answer: A, body: Option<String>) -> Result<A, Error> {
        if let Some((scope, name, _)) = &self.once {
            let status = i32::from(answer.parts().0.as_u16());
            idempotency::settle(&mut self.tx, *scope, name, status, body.as_deref()).await?;
        }
        self.tx.commit().await?;
        Ok(answer)
    }
}

impl Deref for IdempotentTx {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.tx
    }
}

impl DerefMut for IdempotentTx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.tx
    }
}

/// Forgets what is older than a day, a portion at a time, and lets others write in between.
pub async fn forget_old(db: &Db) -> db::Result<()> {
    let horizon = Clocks::now().horizon();
    while idempotency::forget_old(&mut db.write().await?, horizon).await? {}
    Ok(())
}

//! The parameter of operations that write.

use std::fmt::Display;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use common::{KeyId, Success, Timestamp};

use super::etag::{Expected, Tagged};
use super::idempotency::{Attempt, Kept};
use super::outcome::{Outcome, Record};
use crate::db::{Conn, Result, Tx};
use crate::error::Error;
use crate::events::{self, Actor, NewEvent, Origin};
use crate::store::Scope;
use crate::validation::LastChecks;

/// A transaction and the cause of its changes. It is rolled back unless [`commit`](Self::commit) is
/// called.
///
/// Locks are always taken in one order: users, licenses, assignments, each by id, then the event
/// counters.
pub struct Change {
    tx: Tx,
    origin: Origin,
    attempt: Option<Attempt>,
    expected: Expected,
    drops_leases: bool,
    /// The last checks that are not in the database yet.
    pub(super) last_checks: Arc<LastChecks>,
    /// The time of the change. It is read after the transaction has begun, so that a change that
    /// waited for others is not dated before them.
    pub now: Timestamp,
}

/// The events of a change, in order.
pub struct Events(Vec<NewEvent>);

impl Events {
    /// For operations that changed nothing.
    pub fn none() -> Self {
        Self(Vec::new())
    }
}

impl From<NewEvent> for Events {
    fn from(event: NewEvent) -> Self {
        Self(vec![event])
    }
}

impl From<Vec<NewEvent>> for Events {
    fn from(events: Vec<NewEvent>) -> Self {
        Self(events)
    }
}

impl Change {
    pub(super) fn new(
        tx: Tx,
        origin: Origin,
        attempt: Option<Attempt>,
        last_checks: Arc<LastChecks>,
    ) -> Self {
        let (expected, now) = (Expected::Anything, Timestamp::now());
        Self { tx, origin, attempt, expected, drops_leases: false, last_checks, now }
    }

    /// A change made by a licd command on the server's host.
    pub(super) fn on_host(tx: Tx, command: &'static str, scope: Scope, now: Timestamp) -> Self {
        let origin = Origin { actor: Actor::Host { command }, scope, request_id: None };
        Self { now, ..Self::new(tx, origin, None, Arc::default()) }
    }

    /// Applies the change only if the record is still as the caller saw it. Operations that change
    /// or delete one record by its id check this.
    pub fn expecting(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    /// Takes seats away also while leases hold them.
    pub fn dropping_leases(self, drops_leases: bool) -> Self {
        Self { drops_leases, ..self }
    }

    pub(super) fn drops_leases(&self) -> bool {
        self.drops_leases
    }

    /// Refuses the change if the record, which is locked, differs from what the caller saw.
    pub(super) fn check(&self, record: &impl Tagged) -> std::result::Result<(), Error> {
        self.expected.check(record)
    }

    /// The time of a record's next state: now, and after the state before, as tags tell states
    /// apart by it.
    pub(super) fn time_after(&self, before: Timestamp) -> Timestamp {
        self.now.after(before)
    }

    pub fn scope(&self) -> Scope {
        self.origin.scope
    }

    /// The key that makes the change, itself or in a session of the dashboard.
    pub fn actor_key(&self) -> Option<KeyId> {
        self.origin.actor.key()
    }

    /// Records the events and commits. On return, everything is on disk.
    pub async fn commit<O: Outcome>(self, outcome: O, events: impl Into<Events>) -> Result<O> {
        let (is_new, record) = (outcome.is_new(), outcome.record());
        let body =
            self.attempt.is_some().then(|| serde_json::to_string(&Success::new(record.shown())));
        let body = body.transpose().map_err(|error| sqlx::Error::Encode(error.into()))?;
        let kept = body.map(|body| {
            let etag = record.tag().map(|etag| etag.to_string());
            Kept::Answer { is_new, body, etag }
        });
        self.finish(outcome, kept, events.into()).await
    }

    /// Like [`commit`](Self::commit), for an outcome that contains a secret: only its id is stored.
    pub async fn commit_secret<O: Outcome>(
        self,
        outcome: O,
        id: impl Display,
        events: impl Into<Events>,
    ) -> Result<O> {
        self.finish(outcome, Some(Kept::Id(id.to_string())), events.into()).await
    }

    async fn finish<O: Outcome>(
        mut self,
        outcome: O,
        kept: Option<Kept>,
        Events(events): Events,
    ) -> Result<O> {
        if let (Some(attempt), Some(kept)) = (&self.attempt, kept) {
            attempt.settle(&mut self.tx, &kept).await?;
        }
        let events: Vec<_> = events.into_iter().map(|event| (self.origin.clone(), event)).collect();
        events::record(&mut self.tx, &events, self.now).await?;
        self.tx.commit().await?;
        Ok(outcome)
    }
}

impl Deref for Change {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.tx
    }
}

impl DerefMut for Change {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.tx
    }
}

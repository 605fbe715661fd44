//! [`Change`], the parameter of operations that write.

use std::fmt::Display;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use common::{KeyId, Success, Timestamp};

use super::etag::{Expected, Tagged};
use super::idempotency::{IdempotentRequest, StoredOutcome};
use super::outcome::{Outcome, Record};
use crate::db::{Conn, Result, Tx};
use crate::error::Error;
use crate::events::{self, Actor, NewEvent, Origin};
use crate::store::Scope;
use crate::validation::LastChecks;

/// A transaction with the cause of its changes. Dropping it rolls the transaction back, unless
/// [`commit`](Self::commit) was called.
///
/// Locks are always taken in one order: the tenant's keys, users, licenses and assignments, each by
/// id, then the event counters.
pub struct Change {
    tx: Tx,
    origin: Origin,
    request: Option<IdempotentRequest>,
    expected: Expected,
    drops_leases: bool,
    /// Checks of seats that are not in the database yet.
    pub(super) last_checks: Arc<LastChecks>,
    /// Time of the change. It is read after the transaction has begun, so that a change is not
    /// dated before those that it waited for.
    pub now: Timestamp,
}

/// Events of a change, in order.
pub struct Events(Vec<NewEvent>);

impl Events {
    /// Returns no events, for an operation that changed nothing.
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
        request: Option<IdempotentRequest>,
        last_checks: Arc<LastChecks>,
    ) -> Self {
        let (expected, now) = (Expected::Anything, Timestamp::now());
        Self { tx, origin, request, expected, drops_leases: false, last_checks, now }
    }

    /// Creates a change for a licd command on the server's host.
    pub(super) fn on_host(tx: Tx, command: &'static str, scope: Scope, now: Timestamp) -> Self {
        let origin = Origin { actor: Actor::Host { command }, scope, request_id: None };
        Self { now, ..Self::new(tx, origin, None, Arc::default()) }
    }

    /// Makes the change depend on the state of the record that the caller saw. Operations that
    /// change or delete one record call [`check`](Self::check).
    pub fn expecting(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    /// Sets whether the change may free seats that leases hold.
    pub fn dropping_leases(self, drops_leases: bool) -> Self {
        Self { drops_leases, ..self }
    }

    pub(super) fn drops_leases(&self) -> bool {
        self.drops_leases
    }

    /// Fails if the locked record differs from the state that the caller saw.
    pub(super) fn check(&self, record: &impl Tagged) -> std::result::Result<(), Error> {
        self.expected.check(record)
    }

    /// Returns the time of a record's next state. It is later than `before`, because tags
    /// distinguish states by this time.
    pub(super) fn time_after(&self, before: Timestamp) -> Timestamp {
        self.now.after(before)
    }

    pub fn scope(&self) -> Scope {
        self.origin.scope
    }

    /// Returns the key that makes the change, by the API or in a session of the dashboard.
    pub fn actor_key(&self) -> Option<KeyId> {
        self.origin.actor.key()
    }

    /// Records the events and commits. When it returns, everything is on disk.
    pub async fn commit<O: Outcome>(self, outcome: O, events: impl Into<Events>) -> Result<O> {
        let (is_new, record) = (outcome.is_new(), outcome.record());
        let body =
            self.request.is_some().then(|| serde_json::to_string(&Success::new(record.shown())));
        let body = body.transpose().map_err(|error| sqlx::Error::Encode(error.into()))?;
        let stored = body.map(|body| {
            let etag = record.tag().map(|etag| etag.to_string());
            StoredOutcome::Answer { is_new, body, etag }
        });
        self.finish(outcome, stored, events.into()).await
    }

    /// Commits an outcome that contains a secret. For repeated requests, only the id of the record
    /// is stored.
    pub async fn commit_secret<O: Outcome>(
        self,
        outcome: O,
        id: impl Display,
        events: impl Into<Events>,
    ) -> Result<O> {
        self.finish(outcome, Some(StoredOutcome::Id(id.to_string())), events.into()).await
    }

    async fn finish<O: Outcome>(
        mut self,
        outcome: O,
        stored: Option<StoredOutcome>,
        Events(events): Events,
    ) -> Result<O> {
        if let (Some(request), Some(stored)) = (&self.request, stored) {
            request.settle(&mut self.tx, &stored).await?;
        }
        let events: Vec<_> = events.into_iter().map(|event| (self.origin.clone(), event)).collect();
        events::commit(self.tx, &events, self.now).await?;
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

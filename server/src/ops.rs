//! Operations: one file for each resource, without HTTP and without SQL.
//!
//! An operation that writes takes a [`Change`] and commits it together with its events. An operation
//! that reads takes a [`View`]. Both belong to one world.

pub mod change;
pub mod etag;
pub mod events;
pub mod explain;
pub mod forget;
pub mod idempotency;
pub mod keys;
pub mod leases;
pub mod license_keys;
pub mod licenses;
mod members;
pub mod nodes;
pub mod notices;
pub mod numbers;
pub mod outcome;
pub mod outcomes;
pub mod plans;
pub mod products;
pub mod readiness;
pub mod release;
pub mod renames;
pub mod sessions;
pub mod signing_keys;
mod similar_users;
pub mod tenants;
pub mod usage;
pub mod user_lookup;
pub mod users;
pub mod view;
pub mod webhooks;

use std::future::Future;
use std::sync::Arc;

use crate::db::{AdminPermits, Db, Tx};
use crate::error::Error;
use crate::events::Origin;
use crate::store::Scope;
use crate::validation::LastChecks;
use change::Change;
use idempotency::{IdempotencyKey, Idempotent, InFlight};
use view::View;

/// Starts all operations, and shares the database fairly by tenants. Cheap to clone.
#[derive(Clone)]
pub struct Operations {
    db: Db,
    last_checks: Arc<LastChecks>,
    permits: AdminPermits,
    in_flight: InFlight,
}

impl Operations {
    /// Creates the operations. They show seats with the times in `last_checks`.
    pub fn new(db: Db, last_checks: Arc<LastChecks>) -> Self {
        let permits = db.admin_permits();
        Self { db, last_checks, permits, in_flight: InFlight::default() }
    }

    /// Returns for each kind of permit the numbers of those held and of waiters.
    pub fn permits(&self) -> Vec<(&'static str, (usize, usize))> {
        self.permits
            .kinds()
            .iter()
            .map(|(kind, permits)| (*kind, permits.held_and_waiting()))
            .collect()
    }

    /// Returns read access to a world.
    pub fn view(&self, scope: Scope) -> View {
        View::new(self.db.clone(), self.last_checks.clone(), self.permits.reads.clone(), scope)
    }

    /// Begins a change.
    pub async fn change(&self, origin: Origin) -> Result<Change, Error> {
        let tx = self.begin(&origin).await?;
        Ok(Change::new(tx, origin, None, self.last_checks.clone()))
    }

    /// Runs an operation, unless the same request with the same key has succeeded before.
    pub async fn once<T, F>(
        &self,
        origin: Origin,
        key: Option<IdempotencyKey>,
        operation: impl FnOnce(Change) -> F,
    ) -> Result<Idempotent<T>, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let attempt = key.map(|key| self.in_flight.enter(origin.scope, key)).transpose()?;
        let (mut tx, mut stored) = (self.begin(&origin).await?, None);
        if let Some(attempt) = &attempt {
            stored = attempt.claim(&mut tx).await?;
        }
        match stored {
            Some(stored) => Ok(Idempotent::Replayed(stored)),
            None => {
                let change = Change::new(tx, origin, attempt, self.last_checks.clone());
                operation(change).await.map(Idempotent::Done)
            }
        }
    }

    async fn begin(&self, origin: &Origin) -> Result<Tx, Error> {
        let permit = self.permits.writes.acquire_for(origin.scope.tenant).await?;
        Ok(self.db.begin().await?.with_permit(permit))
    }
}

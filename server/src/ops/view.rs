//! [`View`], the parameter of operations that only read.

use std::sync::Arc;

use crate::db::{Conn, Db, Tx};
use crate::error::Error;
use crate::fair::FairSemaphore;
use crate::store::Scope;
use crate::validation::LastChecks;

/// Read access to one world. Each read waits for a permit of the tenant. Cheap to clone.
#[derive(Clone)]
pub struct View {
    db: Db,
    /// Checks of seats that are not in the database yet.
    pub last_checks: Arc<LastChecks>,
    permits: FairSemaphore,
    pub scope: Scope,
}

impl View {
    pub(super) fn new(
        db: Db,
        last_checks: Arc<LastChecks>,
        permits: FairSemaphore,
        scope: Scope,
    ) -> Self {
        Self { db, last_checks, permits, scope }
    }

    /// Returns a connection for independent statements.
    pub async fn read(&self) -> Result<Conn, Error> {
        let permit = self.permits.acquire_for(self.scope.tenant).await?;
        Ok(self.db.read().await?.with_permit(permit))
    }

    /// Starts a transaction whose reads all see the same state.
    pub async fn snapshot(&self) -> Result<Tx, Error> {
        let permit = self.permits.acquire_for(self.scope.tenant).await?;
        Ok(self.db.snapshot().await?.with_permit(permit))
    }
}

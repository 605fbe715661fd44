//! The parameter of operations that only read.

use std::sync::Arc;

use crate::db::{Conn, Db, Tx};
use crate::error::Error;
use crate::fair::Turns;
use crate::store::Scope;
use crate::validation::LastChecks;

/// What one world contains. Each read waits for the tenant's turn. Cheap to clone.
#[derive(Clone)]
pub struct View {
    db: Db,
    /// The last checks that are not in the database yet.
    pub last_checks: Arc<LastChecks>,
    turns: Turns,
    pub scope: Scope,
}

impl View {
    pub(super) fn new(db: Db, last_checks: Arc<LastChecks>, turns: Turns, scope: Scope) -> Self {
        Self { db, last_checks, turns, scope }
    }

    /// A connection for independent statements.
    pub async fn read(&self) -> Result<Conn, Error> {
        let turn = self.turns.take(self.scope.tenant).await?;
        Ok(self.db.read().await?.with_turn(turn))
    }

    /// A transaction whose reads all see the same state.
    pub async fn snapshot(&self) -> Result<Tx, Error> {
        let turn = self.turns.take(self.scope.tenant).await?;
        Ok(self.db.snapshot().await?.with_turn(turn))
    }
}

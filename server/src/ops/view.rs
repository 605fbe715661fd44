//! Reading: what operations that change nothing take.

use std::sync::Arc;

use crate::db::{Conn, Db, Tx};
use crate::error::Error;
use crate::fair::Turns;
use crate::store::Scope;
use crate::validation::LastChecks;

/// What one world shows. Each look takes the tenant's turn. Cloning it is cheap.
#[derive(Clone)]
pub struct View {
    db: Db,
    /// Newer than what the database has of seats.
    pub last_checks: Arc<LastChecks>,
    turns: Turns,
    pub scope: Scope,
}

impl View {
    pub(super) fn new(db: Db, last_checks: Arc<LastChecks>, turns: Turns, scope: Scope) -> Self {
        Self { db, last_checks, turns, scope }
    }

    /// A connection for statements that each stand alone.
    pub async fn read(&self) -> Result<Conn, Error> {
        let turn = self.turns.take(self.scope.tenant).await?;
        Ok(self.db.read().await?.with_turn(turn))
    }

    /// A transaction whose reads all see one moment.
    pub async fn snapshot(&self) -> Result<Tx, Error> {
        let turn = self.turns.take(self.scope.tenant).await?;
        Ok(self.db.snapshot().await?.with_turn(turn))
    }
}

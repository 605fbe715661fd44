//! Reading: what operations that change nothing take.

use crate::db::{Conn, Db, Tx};
use crate::error::Error;
use crate::fair::Turns;
use crate::store::Scope;

/// What one world shows. Each look takes the tenant's turn. Cloning it is cheap.
#[derive(Clone)]
pub struct View {
    db: Db,
    turns: Turns,
    pub scope: Scope,
}

impl View {
    pub(super) fn new(db: Db, turns: Turns, scope: Scope) -> Self {
        Self { db, turns, scope }
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

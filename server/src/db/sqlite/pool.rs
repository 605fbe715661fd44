//! Connections to SQLite with the same settings, each lent to one user at a time.
//!
//! A statement whose caller has gone is interrupted. After a failed write (disk full,
//! input/output error) SQLite may have rolled the transaction back itself. So a connection on which
//! a statement failed or was interrupted is closed, and the next user opens a new one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::db::{PoolState, Result, STATEMENT_TIMEOUT, with_timeout};
use crate::error::has_primary_code;
use crate::fair::Permit;

/// Number of instructions that SQLite executes, in well under a millisecond, before it checks for
/// an interruption.
const INSTRUCTIONS: i32 = 10_000;

/// Connections with the same settings, each for one user at a time.
pub struct SqlitePool {
    name: &'static str,
    pub options: SqliteConnectOptions,
    pub max: usize,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Opened>>,
}

struct Opened {
    conn: SqliteConnection,
    /// Ends the statement that is running, and every later one.
    interrupted: Arc<AtomicBool>,
}

impl SqlitePool {
    /// At most `max` connections, each of which is opened when it is needed.
    pub fn new(name: &'static str, options: SqliteConnectOptions, max: usize) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(max));
        Arc::new(Self { name, options, max, permits, idle: Mutex::default() })
    }

    /// Waits at most [`STATEMENT_TIMEOUT`] for a connection.
    pub async fn lend(self: &Arc<Self>) -> Result<SqliteConn> {
        let lent = tokio::time::timeout(STATEMENT_TIMEOUT, self.find());
        lent.await.map_err(|_| sqlx::Error::PoolTimedOut)?
    }

    async fn find(self: &Arc<Self>) -> Result<SqliteConn> {
        let permit = self.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        if let Some(opened) = self.idle.lock().pop() {
            return Ok(SqliteConn::new(self.clone(), opened, permit));
        }
        // A separate task: opening a file on a hanging disk continues after the caller has given
        // up, and must not be started again and again.
        let pool = self.clone();
        let opening = tokio::spawn(async move {
            let opened = Opened::new(&pool.options).await?;
            Ok(SqliteConn::new(pool, opened, permit))
        });
        opening.await.map_err(|_| sqlx::Error::WorkerCrashed)?
    }

    pub fn state(&self) -> PoolState {
        let in_use = self.max - self.permits.available_permits();
        PoolState { name: self.name, in_use, idle: self.idle.lock().len(), max: self.max }
    }

    /// Waits until all connections are returned, and closes them.
    pub async fn close(&self) {
        let all = self.permits.acquire_many(self.max as u32).await;
        self.permits.close();
        drop(all);
        let idle = std::mem::take(&mut *self.idle.lock());
        for opened in idle {
            // The process is ending, and commits are on disk in any case.
            opened.close().await;
        }
    }
}

impl Opened {
    async fn new(options: &SqliteConnectOptions) -> Result<Self> {
        let mut conn = options.connect().await?;
        let interrupted = Arc::<AtomicBool>::default();
        let wanted = interrupted.clone();
        let go_on = move || !wanted.load(Ordering::Relaxed);
        conn.lock_handle().await?.set_progress_handler(INSTRUCTIONS, go_on);
        Ok(Self { conn, interrupted })
    }

    async fn close(self) {
        self.interrupted.store(true, Ordering::Relaxed);
        if let Err(error) = self.conn.close().await {
            tracing::debug!(%error, "a connection to SQLite ended with an error");
        }
    }
}

/// A connection in use.
pub struct SqliteConn {
    /// None once it has been returned.
    held: Option<Held>,
    in_transaction: bool,
    /// False while a statement runs, and for good after one failed or was aborted.
    intact: bool,
}

/// Resources that are held until the connection is returned or closed.
struct Held {
    pool: Arc<SqlitePool>,
    opened: Opened,
    admin_permit: Option<Permit>,
    _permit: OwnedSemaphorePermit,
}

impl SqliteConn {
    fn new(pool: Arc<SqlitePool>, opened: Opened, permit: OwnedSemaphorePermit) -> Self {
        let held = Held { pool, opened, admin_permit: None, _permit: permit };
        Self { held: Some(held), in_transaction: false, intact: true }
    }

    /// Holds `permit` until the connection is free again.
    pub fn keep_permit(&mut self, permit: Permit) {
        if let Some(held) = &mut self.held {
            held.admin_permit = Some(permit);
        }
    }

    /// Begins a transaction, which is rolled back unless it is committed.
    pub async fn begin(mut self, statement: &'static str) -> Result<Self> {
        self.in_transaction = true;
        loop {
            match self.execute(statement).await {
                Err(error) if is_locked(&error) => {}
                begun => return begun.map(|()| self),
            }
        }
    }

    pub async fn commit(mut self) -> Result<()> {
        self.execute("commit").await?;
        self.in_transaction = false;
        Ok(())
    }

    /// The connection, to run a statement. It counts as broken until [`done`](Self::done) is
    /// called.
    pub fn start(&mut self) -> Result<&mut SqliteConnection> {
        self.intact = false;
        self.held.as_mut().map(|held| &mut held.opened.conn).ok_or(sqlx::Error::WorkerCrashed)
    }

    pub fn done(&mut self) {
        self.intact = true;
    }

    pub fn is_in_transaction(&self) -> bool {
        self.in_transaction
    }

    async fn execute(&mut self, statement: &'static str) -> Result<()> {
        sqlx::query(statement).execute(self.start()?).await?;
        self.done();
        Ok(())
    }
}

impl Drop for SqliteConn {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        if self.intact && !self.in_transaction {
            held.give_back();
        } else if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(held.end(self.intact));
        }
        // Without a runtime the process is ending, so the connection is not needed.
    }
}

impl Held {
    fn give_back(self) {
        self.pool.idle.lock().push(self.opened);
    }

    /// Rolls back the transaction, or closes the connection.
    async fn end(mut self, intact: bool) {
        let conn = &mut self.opened.conn;
        let is_rolled_back = intact && {
            let rollback = sqlx::query("rollback").execute(conn);
            with_timeout(STATEMENT_TIMEOUT, rollback).await.is_ok()
        };
        if is_rolled_back {
            self.give_back();
        } else {
            self.opened.close().await;
        }
    }
}

/// Whether another process has locked the file.
pub fn is_locked(error: &sqlx::Error) -> bool {
    has_primary_code(error, &[5])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use common::{TenantId, Timestamp};

    use super::*;
    use crate::db::Db;

    /// Otherwise its connection would be occupied until it ends, and soon all connections would be.
    #[tokio::test]
    async fn a_statement_that_nobody_waits_for_ends() {
        const ENDLESS: &str = "with recursive numbers (n) as (
            select 1 union all select n + 1 from numbers) select count(*) from numbers";
        let folder = tempfile::TempDir::new().unwrap();
        let url = format!("sqlite://{}", folder.path().join("licd.db").display());
        let db = Db::open(&url.parse().unwrap()).await.unwrap();
        let permits = db.admin_permits().reads;
        for _ in 0..8 {
            let permit = permits.acquire_for(TenantId::new(Timestamp::now())).await.unwrap();
            let mut conn = db.read().await.unwrap().with_permit(permit);
            let endless = conn.query(ENDLESS).fetch_one::<(i64,)>();
            assert!(tokio::time::timeout(Duration::from_millis(20), endless).await.is_err());
            drop(conn);
            assert_eq!(permits.held_and_waiting().0, 1, "its permit ends with it");
            let ended = async {
                while permits.held_and_waiting().0 > 0 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(STATEMENT_TIMEOUT, ended).await.expect("the statement runs on");
        }
        db.close().await;
    }
}

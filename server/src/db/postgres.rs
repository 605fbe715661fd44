//! A connection that PostgreSQL's pool has lent, and how it is given back.
//!
//! The pool pings every connection that is given back, and waits for the answer as long as the
//! network lets it. A server that fell silent never answers: soon the pool would have no connection
//! left, and would never close. Here that wait has a timeout.
//!
//! One connection on which nothing failed is kept as a spare for the next use. So work that comes
//! one after the other, as batches do, saves that ping each time, and stays with one process of
//! PostgreSQL, whose caches are warm.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Executor, PgConnection, PgPool, Postgres};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};

use super::{PoolState, Result, with_timeout};

/// How long PostgreSQL may take to end what a connection that is given back was doing. One that
/// takes longer is closed.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);
/// The age at which a connection is closed: it keeps plans that it made when the tables had another
/// size.
pub const POSTGRES_MAX_AGE: Duration = Duration::from_secs(300);

/// Where connections are lent from.
#[derive(Clone)]
pub struct PgConnections {
    pool: PgPool,
    spare: Arc<Mutex<Option<Spare>>>,
}

struct Spare {
    conn: PoolConnection<Postgres>,
    /// When it left the pool, which closes old connections.
    lent: Instant,
}

impl PgConnections {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, spare: Arc::default() }
    }

    pub async fn lend(&self) -> Result<PgConn> {
        let Spare { conn, lent } = match self.take_spare() {
            Some(spare) => spare,
            None => Spare { conn: self.pool.acquire().await?, lent: Instant::now() },
        };
        Ok(PgConn { connections: self.clone(), conn: Some(conn), lent, open: false, sound: true })
    }

    /// A connection in a transaction that `statement` begins.
    pub async fn begin(&self, statement: &'static str) -> Result<PgConn> {
        let mut conn = self.lend().await?;
        // Set before: a statement that timed out may have begun a transaction all the same.
        conn.open = true;
        conn.execute(statement).await?;
        Ok(conn)
    }

    /// The pool with its spare, which is idle.
    pub fn pool_state(&self) -> PoolState {
        let has_spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let idle = self.pool.num_idle() + usize::from(has_spare);
        PoolState {
            name: "postgres",
            in_use: (self.pool.size() as usize).saturating_sub(idle),
            idle,
            max: self.pool.options().get_max_connections() as usize,
        }
    }

    /// A connection that the caller owns and closes.
    pub async fn detached(&self) -> Result<PgConnection> {
        Ok(self.pool.acquire().await?.detach())
    }

    /// Opens connections to this server from now on. Idle connections are closed without a word to
    /// their server, which may never answer again.
    pub fn turn_to(&self, server: PgConnectOptions) {
        self.pool.set_connect_options(server);
        if let Some(spare) = self.take_spare() {
            drop(spare.conn.detach());
        }
        while let Some(idle) = self.pool.try_acquire() {
            drop(idle.detach());
        }
    }

    /// Ends when the connections are to be closed.
    pub async fn closed(&self) {
        self.pool.close_event().await;
    }

    /// Waits until all connections are given back and closed.
    pub async fn close(&self) {
        let closing = self.pool.close();
        drop(self.take_spare());
        closing.await;
    }

    fn take_spare(&self) -> Option<Spare> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the connection as the spare, unless there is one already or the pool has waiters.
    fn keep_spare(
        &self,
        conn: PoolConnection<Postgres>,
        lent: Instant,
    ) -> Option<PoolConnection<Postgres>> {
        let most = self.pool.options().get_max_connections();
        let awaited = self.pool.num_idle() == 0 && self.pool.size() >= most;
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if awaited || spare.is_some() || self.pool.is_closed() || lent.elapsed() > POSTGRES_MAX_AGE
        {
            return Some(conn);
        }
        *spare = Some(Spare { conn, lent });
        None
    }
}

pub struct PgConn {
    connections: PgConnections,
    /// None once it is given back.
    conn: Option<PoolConnection<Postgres>>,
    lent: Instant,
    /// In a transaction, which ends without effect unless it is committed.
    open: bool,
    /// All of its statements completed: none failed, and none was cancelled.
    sound: bool,
}

impl PgConn {
    pub async fn commit(mut self) -> Result<()> {
        self.execute("commit").await?;
        self.open = false;
        Ok(())
    }

    /// The connection, for a statement. It is reused only after [`done`](Self::done).
    #[expect(clippy::expect_used, reason = "only `drop` takes the connection away")]
    pub fn start(&mut self) -> &mut PgConnection {
        self.sound = false;
        self.conn.as_mut().expect("a connection stays until it is dropped")
    }

    pub fn done(&mut self) {
        self.sound = true;
    }

    async fn execute(&mut self, statement: &'static str) -> Result<()> {
        self.start().execute(statement).await?;
        self.done();
        Ok(())
    }

    pub fn is_in_transaction(&self) -> bool {
        self.open
    }
}

impl Drop for PgConn {
    fn drop(&mut self) {
        let Some(mut conn) = self.conn.take() else { return };
        if self.sound && !self.open {
            match self.connections.keep_spare(conn, self.lent) {
                Some(not_needed) => conn = not_needed,
                None => return,
            }
        }
        // Without a runtime, which is when the process ends, there is nothing to give it back to.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(give_back(conn, self.open));
        }
    }
}

async fn give_back(mut conn: PoolConnection<Postgres>, open: bool) {
    if open && with_timeout(RELEASE_TIMEOUT, conn.execute("rollback")).await.is_err() {
        drop(conn.detach());
        return;
    }
    // After the timeout it is closed, and the pool may open another.
    drop(timeout(RELEASE_TIMEOUT, conn.return_to_pool()).await);
}

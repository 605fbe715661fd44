//! A connection that PostgreSQL's pool has lent, and how it is given back.
//!
//! The pool pings every connection that is given back, and waits for the answer as long as the
//! network lets it. A server that fell silent never answers: soon the pool would have no connection
//! left, and would never close. Here that wait has a timeout.
//!
//! One connection on which nothing failed is kept as a spare for the next use. So work that comes
//! one after the other, as batches do, saves that ping each time, and stays with one process of
//! PostgreSQL, whose caches are warm.
//!
//! A server that restarts closes all connections, and those that are idle show it only when they are
//! used. So an idle connection is pinged before its use, unless it was used a moment ago and no
//! other was lost since.
//!
//! A session keeps the settings with which it began, such as a database's read-only mode. So when a
//! statement fails as such a setting makes it fail, no connection opened before that is used again.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, Executor, PgConnection, PgPool, Postgres};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};

use super::{PoolState, Result, with_timeout, within_statement_timeout};
use crate::error::has_code;
use crate::fair::Permit;

/// Time in which PostgreSQL must end the work of a returned connection. A connection that takes
/// longer is closed.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for which an idle connection is used without a ping, which costs a round trip. A busy node
/// sends no pings.
const FRESH: Duration = Duration::from_millis(100);
/// Time in which PostgreSQL must respond to a ping. After that the connection is closed.
const PING_TIMEOUT: Duration = Duration::from_secs(3);
/// The age at which a connection is closed: it keeps plans that it made when the tables had another
/// size.
pub const POSTGRES_MAX_AGE: Duration = Duration::from_secs(300);

/// Source of connections.
#[derive(Clone)]
pub struct PgConnections {
    pool: PgPool,
    spare: Arc<Mutex<Option<Spare>>>,
    last: Arc<LastFailures>,
}

struct Spare {
    conn: PoolConnection<Postgres>,
    /// Time at which it left the pool, which closes old connections.
    lent: Instant,
    idle_since: Instant,
}

/// Time of the last failure of a connection that may affect others.
#[derive(Default)]
struct LastFailures {
    /// The connection was lost.
    loss: LastTime,
    /// The server refused what only the session's settings, or rights, forbid.
    refusal: LastTime,
}

impl LastFailures {
    fn may_be_lost(&self, idle_since: Instant) -> bool {
        idle_since.elapsed() > FRESH || self.loss.is_at_or_after(idle_since)
    }

    fn note(&self, error: &sqlx::Error) {
        if is_loss(error) {
            self.loss.set();
        }
        if is_of_session(error) {
            self.refusal.set();
        }
    }
}

/// The last time at which something happened, if it ever did.
#[derive(Default)]
struct LastTime(Mutex<Option<Instant>>);

impl LastTime {
    fn set(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    fn is_at_or_after(&self, time: Instant) -> bool {
        let moment = *self.0.lock();
        moment.is_some_and(|moment| time <= moment)
    }
}

impl PgConnections {
    pub async fn open(options: PgPoolOptions, server: PgConnectOptions) -> Result<Self> {
        let last = Arc::<LastFailures>::default();
        let noted = last.clone();
        let options = options.test_before_acquire(false).before_acquire(move |conn, state| {
            let now = Instant::now();
            let [opened, idle_since] = [state.age, state.idle_for].map(|ago| now.checked_sub(ago));
            let is_stale = opened.is_none_or(|opened| noted.refusal.is_at_or_after(opened));
            let is_doubtful = idle_since.is_none_or(|since| noted.may_be_lost(since));
            Box::pin(async move { Ok(!is_stale && (!is_doubtful || answers(conn).await)) })
        });
        let pool = options.connect_with(server).await?;
        Ok(Self { pool, spare: Arc::default(), last })
    }

    /// A connection that answers, or answered a moment ago.
    pub async fn lend(&self) -> Result<PgConn> {
        let (conn, lent) = within_statement_timeout(self.find()).await?;
        let connections = self.clone();
        Ok(PgConn { connections, conn: Some(conn), lent, open: false, sound: true, permit: None })
    }

    async fn find(&self) -> Result<(PoolConnection<Postgres>, Instant)> {
        if let Some(Spare { mut conn, lent, idle_since }) = self.take_spare() {
            let is_stale = self.last.refusal.is_at_or_after(lent);
            if !is_stale && (!self.last.may_be_lost(idle_since) || answers(&mut conn).await) {
                return Ok((conn, lent));
            }
            drop(conn.detach());
        }
        Ok((self.pool.acquire().await?, Instant::now()))
    }

    /// A connection in a transaction that `statement` begins. If it turns out to be lost, nothing was
    /// done on it, and another is taken.
    pub async fn begin(&self, statement: &'static str) -> Result<PgConn> {
        match self.begin_once(statement).await {
            Err(error) if is_loss(&error) => self.begin_once(statement).await,
            begun => begun,
        }
    }

    async fn begin_once(&self, statement: &'static str) -> Result<PgConn> {
        let mut conn = self.lend().await?;
        // Set before the statement, because one that timed out may have begun a transaction anyway.
        conn.open = true;
        conn.execute(statement).await?;
        Ok(conn)
    }

    /// The pool with its spare, which is idle.
    pub fn pool_state(&self) -> PoolState {
        let has_spare = self.spare.lock().is_some();
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
    pub fn switch_to(&self, server: PgConnectOptions) {
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
        self.spare.lock().take()
    }

    /// Keeps the connection as the spare, unless there is one already or the pool has waiters.
    fn keep_spare(
        &self,
        conn: PoolConnection<Postgres>,
        lent: Instant,
    ) -> Option<PoolConnection<Postgres>> {
        let most = self.pool.options().get_max_connections();
        let awaited = self.pool.num_idle() == 0 && self.pool.size() >= most;
        let mut spare = self.spare.lock();
        if awaited || spare.is_some() || self.pool.is_closed() || lent.elapsed() > POSTGRES_MAX_AGE
        {
            return Some(conn);
        }
        *spare = Some(Spare { conn, lent, idle_since: Instant::now() });
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
    permit: Option<Permit>,
}

impl PgConn {
    /// Holds `permit` until the connection is given back.
    pub fn keep_permit(&mut self, permit: Permit) {
        self.permit = Some(permit);
    }

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

    /// The statement has ended, and how.
    pub fn done<T>(&mut self, outcome: &Result<T>) {
        match outcome {
            Ok(_) => self.sound = true,
            Err(error) => self.connections.last.note(error),
        }
    }

    async fn execute(&mut self, statement: &'static str) -> Result<()> {
        let outcome = self.start().execute(statement).await;
        self.done(&outcome);
        outcome.map(drop)
    }

    pub fn is_in_transaction(&self) -> bool {
        self.open
    }
}

async fn answers(conn: &mut PgConnection) -> bool {
    with_timeout(PING_TIMEOUT, conn.ping()).await.is_ok()
}

/// The connection broke, or the server ended it.
fn is_loss(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(_))
        || has_code(error, |code| code.starts_with("08") || code.starts_with("57P0"))
}

/// The session is read-only, has no such table, or lacks the right: its settings, which a new session
/// may no longer have, can be the reason.
fn is_of_session(error: &sqlx::Error) -> bool {
    has_code(error, |code| matches!(code, "25006" | "3F000" | "42501" | "42P01"))
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
            let (open, permit) = (self.open, self.permit.take());
            runtime.spawn(async move {
                give_back(conn, open).await;
                drop(permit);
            });
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

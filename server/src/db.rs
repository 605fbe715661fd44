//! The only access to the database, whichever it is.
//!
//! [`Db`] provides connections and transactions. A statement is written once and runs on both
//! SQLite and PostgreSQL (see [`query`]). The statements are in `store`.
//!
//! The caller waits for a [`Permit`] of its tenant, which lives as long as its
//! connection.

mod connect;
mod files;
mod hosts;
mod identity;
pub mod inspect;
mod json;
mod open_error;
mod postgres;
mod query;
mod replace;
mod schema;
pub mod sharding;
mod sqlite;
mod url;

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::fair::{FairSemaphore, Permit};

pub use files::{PermissionProblem, find as find_file, with_suffix};
pub use hosts::Hosts;
pub use json::AsWritten;
pub use open_error::OpenError;
use postgres::{PgConn, PgConnections};
pub(crate) use query::locking;
pub use query::{Query, Row, Sql, Value};
pub use replace::UnusedDatabase;
pub use schema::Upgrade;
use sqlite::{SqliteConn, SqliteConnections};
pub use url::{DatabaseUrl, InvalidUrl};

pub type Result<T, E = sqlx::Error> = std::result::Result<T, E>;

/// Maximum duration of a step (connecting, running a statement, committing) before the database
/// counts as unavailable. PostgreSQL gets the same limit, so that it gives up too.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Limits a step to [`STATEMENT_TIMEOUT`]. A connection whose step timed out is closed, or cleaned
/// up by its pool, before its next use.
///
/// The step is boxed: sqlx's futures take tens of kilobytes, and every future that awaits one would
/// be as large from the start, even while it waits for the rest of a request.
fn within_statement_timeout<T>(
    step: impl Future<Output = Result<T>>,
) -> impl Future<Output = Result<T>> {
    with_timeout(STATEMENT_TIMEOUT, Box::pin(step))
}

async fn with_timeout<T>(time: Duration, step: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(time, step).await {
        Ok(outcome) => outcome,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

/// A database. Cheap to clone; clones share its connections.
#[derive(Clone)]
pub enum Db {
    Sqlite(SqliteConnections),
    Postgres { connections: PgConnections, kind: PostgresKind, most_reading: u32 },
}

/// The kind of a PostgreSQL, which decides how statements are sent.
#[derive(Clone, Copy)]
pub struct PostgresKind {
    /// A pooler assigns connections per transaction.
    pooler: bool,
    /// Worlds are distributed over several servers. A statement names one world if it can.
    sharded: bool,
}

/// Maximum number of administrative requests that use PostgreSQL at the same time. The other
/// connections are for validations, look-ups of keys and background tasks.
const POSTGRES_PERMITS: usize = 11;
/// Maximum number of administrative requests that read SQLite at the same time. The remaining
/// reader looks up keys.
const SQLITE_READ_PERMITS: usize = 3;
/// Maximum number of administrative requests that wait for SQLite's only writer at the same time.
/// So a validation waits for at most one of them.
const SQLITE_WRITE_PERMITS: usize = 1;
/// Maximum number of look-ups of keys that use PostgreSQL, or SQLite, at the same time. So even a
/// flood of unknown keys takes no connections from validations.
const POSTGRES_LOOKUPS: usize = 2;
const SQLITE_LOOKUPS: usize = 1;
/// Number of connections that read for webhooks.
const WEBHOOK_READERS: usize = 1;
/// The remaining connections are for new users and seats, and for background tasks.
const _: () = assert!(
    POSTGRES_PERMITS + POSTGRES_LOOKUPS + WEBHOOK_READERS + 2
        <= connect::POSTGRES_CONNECTIONS as usize
);
const _: () =
    assert!(SQLITE_READ_PERMITS + SQLITE_LOOKUPS + WEBHOOK_READERS <= connect::SQLITE_READERS);

/// The permits that administrative requests need for the database. They are shared fairly by tenants.
#[derive(Clone)]
pub struct AdminPermits {
    pub reads: FairSemaphore,
    pub writes: FairSemaphore,
}

impl AdminPermits {
    /// Returns each kind of permit with its name.
    pub fn kinds(&self) -> Vec<(&'static str, &FairSemaphore)> {
        if self.reads.is_same(&self.writes) {
            return vec![("any", &self.reads)];
        }
        vec![("read", &self.reads), ("write", &self.writes)]
    }
}

/// The connections of one pool.
pub struct PoolState {
    pub name: &'static str,
    pub in_use: usize,
    pub idle: usize,
    /// The limit of the pool.
    pub max: usize,
}

impl Db {
    /// The current state of each pool.
    pub fn pools(&self) -> Vec<PoolState> {
        match self {
            Self::Sqlite(connections) => connections.pools().into(),
            Self::Postgres { connections, .. } => vec![connections.pool_state()],
        }
    }

    pub fn admin_permits(&self) -> AdminPermits {
        match self {
            Self::Sqlite(_) => AdminPermits {
                reads: FairSemaphore::new(SQLITE_READ_PERMITS),
                writes: FairSemaphore::new(SQLITE_WRITE_PERMITS),
            },
            Self::Postgres { .. } => {
                let both = FairSemaphore::new(POSTGRES_PERMITS);
                AdminPermits { reads: both.clone(), writes: both }
            }
        }
    }

    /// Returns the number of batches of validations that may read at the same time.
    pub fn most_reading(&self) -> u32 {
        match self {
            Self::Sqlite(connections) => connections.most_reading(),
            Self::Postgres { most_reading, .. } => *most_reading,
        }
    }

    /// Returns the number of keys that may be looked up at the same time.
    pub fn lookups(&self) -> usize {
        match self {
            Self::Sqlite(_) => SQLITE_LOOKUPS,
            Self::Postgres { .. } => POSTGRES_LOOKUPS,
        }
    }

    /// Returns the number of batches of validations that may write at the same time.
    pub fn most_writing(&self) -> u32 {
        if self.is_sharded() { connect::SHARDED_WRITING } else { 1 }
    }

    /// Whether worlds are distributed over several servers.
    pub fn is_sharded(&self) -> bool {
        matches!(self, Self::Postgres { kind: PostgresKind { sharded: true, .. }, .. })
    }

    /// Copies SQLite's write-ahead log into the file once it has grown. PostgreSQL does this
    /// itself.
    pub async fn checkpoint(&self) -> Result<()> {
        match self {
            Self::Sqlite(connections) => connections.checkpoint().await,
            Self::Postgres { .. } => Ok(()),
        }
    }

    /// Waits until all connections are returned and closed.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(connections) => connections.close().await,
            Self::Postgres { connections, .. } => connections.close().await,
        }
    }

    /// A connection for independent statements that only read.
    pub async fn read(&self) -> Result<Conn> {
        Ok(match self {
            Self::Sqlite(connections) => Conn::Sqlite(connections.read().await?),
            Self::Postgres { connections, kind, .. } => {
                Conn::Postgres(connections.lend().await?, *kind)
            }
        })
    }

    /// Like [`read`](Self::read), for a batch of validations, which does not wait for other
    /// readers. Fails immediately if the files at the path of the SQLite database are not the
    /// opened ones.
    pub async fn read_for_validations(&self) -> Result<Conn> {
        match self {
            Self::Sqlite(connections) => {
                Ok(Conn::Sqlite(connections.read_for_validations().await?))
            }
            Self::Postgres { .. } => self.read().await,
        }
    }

    /// A connection for independent statements that write.
    pub async fn write(&self) -> Result<Conn> {
        match self {
            Self::Sqlite(connections) => Ok(Conn::Sqlite(connections.write().await?)),
            Self::Postgres { .. } => self.read().await,
        }
    }

    /// A transaction whose reads all see the same state of the database.
    pub async fn snapshot(&self) -> Result<Tx> {
        Ok(Tx(match self {
            Self::Sqlite(connections) => {
                let conn = connections.read().await?;
                Conn::Sqlite(within_statement_timeout(conn.begin("begin")).await?)
            }
            Self::Postgres { connections, kind, .. } => {
                let begin = connections.begin("begin isolation level repeatable read");
                Conn::Postgres(within_statement_timeout(begin).await?, *kind)
            }
        }))
    }

    /// A transaction that writes.
    ///
    /// On SQLite it holds the write lock from the start, since taking it at the first write fails
    /// if another transaction has written in the meantime. On PostgreSQL each statement sees what was
    /// committed before it began.
    pub async fn begin(&self) -> Result<Tx> {
        match self {
            Self::Sqlite(connections) => begin_immediate(connections.write().await?).await,
            Self::Postgres { connections, kind, .. } => {
                let begun = within_statement_timeout(connections.begin("begin")).await?;
                Ok(Tx(Conn::Postgres(begun, *kind)))
            }
        }
    }
}

/// Begins a transaction that holds SQLite's write lock.
async fn begin_immediate(conn: SqliteConn) -> Result<Tx> {
    let begun = within_statement_timeout(conn.begin("begin immediate")).await?;
    Ok(Tx(Conn::Sqlite(begun)))
}

/// A connection, on which store functions run their statements.
pub enum Conn {
    Sqlite(SqliteConn),
    Postgres(PgConn, PostgresKind),
}

impl Conn {
    /// Like [`Db::is_sharded`].
    pub fn is_sharded(&self) -> bool {
        matches!(self, Self::Postgres(_, PostgresKind { sharded: true, .. }))
    }

    /// Holds `permit` until the connection is free for the next user.
    pub fn with_permit(mut self, permit: Permit) -> Self {
        match &mut self {
            Self::Sqlite(conn) => conn.keep_permit(permit),
            Self::Postgres(conn, _) => conn.keep_permit(permit),
        }
        self
    }
}

/// A transaction. It is rolled back unless [`commit`](Self::commit) is called.
pub struct Tx(Conn);

impl Tx {
    /// On return, all writes are on disk.
    pub async fn commit(self) -> Result<()> {
        match self.0 {
            Conn::Sqlite(tx) => within_statement_timeout(tx.commit()).await,
            Conn::Postgres(tx, _) => within_statement_timeout(tx.commit()).await,
        }
    }

    /// Like [`Conn::with_permit`].
    pub fn with_permit(self, permit: Permit) -> Self {
        Self(self.0.with_permit(permit))
    }
}

impl Deref for Tx {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

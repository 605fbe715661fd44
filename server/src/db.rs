//! The one door to the database, whichever it is.
//!
//! [`Db`] hands out connections and transactions; a statement is written once and runs on SQLite
//! and on PostgreSQL alike (see [`query`]). What the statements say is the business of `store`.
//!
//! SQLite has one writer at a time. Its writing connection is therefore a pool of one, so that
//! writers of this process queue in order instead of polling the file's lock; readers have
//! connections of their own and, thanks to the write-ahead log, never wait for the writer.

mod connect;
mod files;
mod hosts;
mod json;
mod lease;
mod query;
mod schema;
mod url;

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Sqlite, SqlitePool, Transaction};

pub use connect::OpenError;
pub use json::AsWritten;
use lease::{Lease, Lender};
pub(crate) use query::locking;
pub use query::{Query, Row, Sql, Value};
pub use schema::Upgrade;
pub use url::{DatabaseUrl, InvalidUrl};

pub type Result<T, E = sqlx::Error> = std::result::Result<T, E>;

/// How long one step may take (to connect, to run a statement, to commit) before the database
/// counts as away. PostgreSQL is told the same, so that it gives up too.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits for a step no longer than [`PATIENCE`]. A connection that was given up on is closed or
/// cleaned by its pool before anyone else gets it.
async fn patient<T>(step: impl Future<Output = Result<T>>) -> Result<T> {
    within(PATIENCE, step).await
}

async fn within<T>(time: Duration, step: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(time, step).await {
        Ok(outcome) => outcome,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

/// A database. Cloning it is cheap and shares its connections.
#[derive(Clone)]
pub enum Db {
    Sqlite { writer: SqlitePool, readers: SqlitePool },
    Postgres { lender: Lender, pooler: bool },
}

impl Db {
    /// Waits until all connections are given back and closed.
    pub async fn close(&self) {
        match self {
            Self::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Self::Postgres { lender, .. } => lender.close().await,
        }
    }

    /// A connection for statements that each stand alone and only read.
    pub async fn read(&self) -> Result<Conn> {
        Ok(Conn(match self {
            Self::Sqlite { readers, .. } => Inner::Sqlite(readers.acquire().await?),
            Self::Postgres { lender, pooler } => Inner::Postgres(lender.lend().await?, *pooler),
        }))
    }

    /// A connection for statements that each stand alone and write.
    pub async fn write(&self) -> Result<Conn> {
        match self {
            Self::Sqlite { writer, .. } => Ok(Conn(Inner::Sqlite(writer.acquire().await?))),
            Self::Postgres { .. } => self.read().await,
        }
    }

    /// A transaction whose reads all see the database as it is at one moment.
    pub async fn snapshot(&self) -> Result<Tx> {
        Ok(Tx(Conn(match self {
            Self::Sqlite { readers, .. } => Inner::SqliteTx(patient(readers.begin()).await?),
            Self::Postgres { lender, pooler } => {
                let begin = lender.begin("begin isolation level repeatable read");
                Inner::Postgres(patient(begin).await?, *pooler)
            }
        })))
    }

    /// A transaction that writes.
    ///
    /// On SQLite it holds the write lock from the start: taking it only at the first write fails
    /// when another writer came in between. On PostgreSQL each statement sees what was committed
    /// before it began.
    pub async fn begin(&self) -> Result<Tx> {
        Ok(Tx(Conn(match self {
            Self::Sqlite { writer, .. } => {
                Inner::SqliteTx(patient(writer.begin_with("begin immediate")).await?)
            }
            Self::Postgres { lender, pooler } => {
                Inner::Postgres(patient(lender.begin("begin")).await?, *pooler)
            }
        })))
    }
}

/// A connection: what store functions take to run their statements on.
pub struct Conn(Inner);

enum Inner {
    Sqlite(PoolConnection<Sqlite>),
    SqliteTx(Transaction<'static, Sqlite>),
    /// And whether it comes from a pooler that lends connections for a transaction each.
    Postgres(Lease, bool),
}

/// A transaction. Dropped without [`commit`](Self::commit), it never happened.
pub struct Tx(Conn);

impl Tx {
    /// When this returns, all that was written is on disk.
    pub async fn commit(self) -> Result<()> {
        match self.0.0 {
            Inner::SqliteTx(tx) => patient(tx.commit()).await,
            Inner::Postgres(tx, _) => patient(tx.commit()).await,
            Inner::Sqlite(_) => unreachable!("only Db makes transactions"),
        }
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

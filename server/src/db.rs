//! The one door to the database, whichever it is.
//!
//! [`Db`] hands out connections and transactions; a statement is written once and runs on SQLite
//! and on PostgreSQL alike (see [`query`]). The statements are in `store`.
//!
//! The caller decides on the order of users; the [`Turn`] for which it waited lives as long as the
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
mod schema;
mod sqlite;
mod url;

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::fair::{Turn, Turns};

pub use files::{Exposure, find as find_file};
pub use hosts::Hosts;
pub use json::AsWritten;
pub use open_error::OpenError;
use postgres::{PgConn, PgConnections};
pub(crate) use query::locking;
pub use query::{Query, Row, Sql, Value};
pub use schema::Upgrade;
use sqlite::{SqliteConn, SqliteConnections};
pub use url::{DatabaseUrl, InvalidUrl};

pub type Result<T, E = sqlx::Error> = std::result::Result<T, E>;

/// How long one step may take (to connect, to run a statement, to commit) before the database
/// counts as unavailable. PostgreSQL gets the same limit, so that it gives up too.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Waits for a step no longer than [`STATEMENT_TIMEOUT`]. A connection whose step timed out is
/// closed, or cleaned by its pool, before it is used again.
///
/// The step is boxed here: sqlx's futures take tens of kilobytes, and whatever awaits one would be as
/// large from its beginning, also while it waits for the rest of a request.
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

/// A database. Cloning it is cheap and shares its connections.
#[derive(Clone)]
pub enum Db {
    Sqlite(SqliteConnections),
    Postgres { connections: PgConnections, pooler: bool, most_reading: u32 },
}

/// How many administrative requests use PostgreSQL at once. The other connections are for
/// validations, the look-ups of keys and the background tasks.
const POSTGRES_TURNS: usize = 11;
/// How many administrative requests read SQLite at once; the remaining reader looks up keys.
const SQLITE_READ_TURNS: usize = 3;
/// How many administrative requests wait for SQLite's one writer at once: a validation that comes
/// then waits for one of them at most.
const SQLITE_WRITE_TURNS: usize = 1;
/// How many look-ups of keys use PostgreSQL at once, and SQLite. Unknown keys, of which strangers
/// may send as many as they like, so take no connection from validations.
const POSTGRES_LOOKUPS: usize = 2;
const SQLITE_LOOKUPS: usize = 1;
/// The connections that these leave are for new users and seats, and for the background tasks.
const _: () =
    assert!(POSTGRES_TURNS + POSTGRES_LOOKUPS + 2 <= connect::POSTGRES_CONNECTIONS as usize);
const _: () = assert!(SQLITE_READ_TURNS + SQLITE_LOOKUPS <= connect::SQLITE_READERS as usize);

/// The turns in which administrative requests use the database, fair to each tenant.
#[derive(Clone)]
pub struct AdminTurns {
    pub reads: Turns,
    pub writes: Turns,
}

impl AdminTurns {
    /// Each kind of turn once, with its name.
    pub fn kinds(&self) -> Vec<(&'static str, &Turns)> {
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
    /// How many there may be.
    pub max: usize,
}

impl Db {
    /// The state of each pool at this moment.
    pub fn pools(&self) -> Vec<PoolState> {
        match self {
            Self::Sqlite(connections) => connections.pools().into(),
            Self::Postgres { connections, .. } => vec![connections.pool_state()],
        }
    }

    pub fn admin_turns(&self) -> AdminTurns {
        match self {
            Self::Sqlite(_) => AdminTurns {
                reads: Turns::new(SQLITE_READ_TURNS),
                writes: Turns::new(SQLITE_WRITE_TURNS),
            },
            Self::Postgres { .. } => {
                let both = Turns::new(POSTGRES_TURNS);
                AdminTurns { reads: both.clone(), writes: both }
            }
        }
    }

    /// How many batches of validations may read at once.
    pub fn most_reading(&self) -> u32 {
        match self {
            Self::Sqlite(connections) => connections.most_reading(),
            Self::Postgres { most_reading, .. } => *most_reading,
        }
    }

    /// How many keys may be looked up at once.
    pub fn lookups(&self) -> usize {
        match self {
            Self::Sqlite(_) => SQLITE_LOOKUPS,
            Self::Postgres { .. } => POSTGRES_LOOKUPS,
        }
    }

    /// Copies SQLite's write-ahead log into the file once it has grown. PostgreSQL does the same by
    /// itself.
    pub async fn checkpoint(&self) -> Result<()> {
        match self {
            Self::Sqlite(connections) => connections.checkpoint().await,
            Self::Postgres { .. } => Ok(()),
        }
    }

    /// Waits until all connections are given back and closed.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(connections) => connections.close().await,
            Self::Postgres { connections, .. } => connections.close().await,
        }
    }

    /// A connection for statements that each stand alone and only read.
    pub async fn read(&self) -> Result<Conn> {
        Ok(Conn::new(match self {
            Self::Sqlite(connections) => Inner::Sqlite(connections.read().await?),
            Self::Postgres { connections, pooler, .. } => {
                Inner::Postgres(connections.lend().await?, *pooler)
            }
        }))
    }

    /// The same for a batch of validations, which waits for no other reader. Fails at once when the
    /// files at the path of SQLite's database are no longer those that were opened.
    pub async fn read_for_validations(&self) -> Result<Conn> {
        match self {
            Self::Sqlite(connections) => {
                Ok(Conn::new(Inner::Sqlite(connections.read_for_validations().await?)))
            }
            Self::Postgres { .. } => self.read().await,
        }
    }

    /// A connection for statements that each stand alone and write.
    pub async fn write(&self) -> Result<Conn> {
        match self {
            Self::Sqlite(connections) => Ok(Conn::new(Inner::Sqlite(connections.write().await?))),
            Self::Postgres { .. } => self.read().await,
        }
    }

    /// A transaction whose reads all see the database as it is at one moment.
    pub async fn snapshot(&self) -> Result<Tx> {
        Ok(Tx(Conn::new(match self {
            Self::Sqlite(connections) => {
                let conn = connections.read().await?;
                Inner::Sqlite(within_statement_timeout(conn.begin("begin")).await?)
            }
            Self::Postgres { connections, pooler, .. } => {
                let begin = connections.begin("begin isolation level repeatable read");
                Inner::Postgres(within_statement_timeout(begin).await?, *pooler)
            }
        })))
    }

    /// A transaction that writes.
    ///
    /// On SQLite it holds the write lock from the start: taking it only at the first write fails
    /// when another writer came in between. On PostgreSQL each statement sees what was committed
    /// before it began.
    pub async fn begin(&self) -> Result<Tx> {
        match self {
            Self::Sqlite(connections) => begin_immediate(connections.write().await?).await,
            Self::Postgres { connections, pooler, .. } => {
                let begun = within_statement_timeout(connections.begin("begin")).await?;
                Ok(Tx(Conn::new(Inner::Postgres(begun, *pooler))))
            }
        }
    }
}

/// Begins a transaction that holds SQLite's write lock.
async fn begin_immediate(conn: SqliteConn) -> Result<Tx> {
    let begun = within_statement_timeout(conn.begin("begin immediate")).await?;
    Ok(Tx(Conn::new(Inner::Sqlite(begun))))
}

/// A connection: what store functions take to run their statements on.
pub struct Conn {
    inner: Inner,
    _turn: Option<Turn>,
}

enum Inner {
    Sqlite(SqliteConn),
    /// And whether it comes from a pooler that lends connections for a transaction each.
    Postgres(PgConn, bool),
}

impl Conn {
    fn new(inner: Inner) -> Self {
        Self { inner, _turn: None }
    }

    /// Ends `turn` together with the use of this connection.
    pub fn with_turn(self, turn: Turn) -> Self {
        Self { _turn: Some(turn), ..self }
    }
}

/// A transaction. Dropped without [`commit`](Self::commit), it never happened.
pub struct Tx(Conn);

impl Tx {
    /// When this returns, all that was written is on disk.
    pub async fn commit(self) -> Result<()> {
        match self.0.inner {
            Inner::Sqlite(tx) => within_statement_timeout(tx.commit()).await,
            Inner::Postgres(tx, _) => within_statement_timeout(tx.commit()).await,
        }
    }

    /// Ends `turn` together with the transaction.
    pub fn with_turn(self, turn: Turn) -> Self {
        Self(self.0.with_turn(turn))
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

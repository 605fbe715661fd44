//! SQLite's connections: one that writes, several that read, and the handling of failed ones.
//!
//! SQLite allows one writer at a time, so the writing connection is behind a lock, and writers
//! queue in order instead of polling the lock of the file. Readers come from a pool; thanks to the
//! write-ahead log they never wait for the writer. Validations have their own readers, each behind
//! a lock as well: the pool pings a returned connection, which costs as much as their read.
//!
//! After a failed write (disk full, input/output error) SQLite may have rolled the transaction back
//! itself, and a statement that timed out may still be running. So a connection on which anything
//! failed is closed, and the next user opens a new one.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Sqlite, SqliteConnection, SqlitePool};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::identity::DatabaseFiles;
use super::{PoolState, Result, STATEMENT_TIMEOUT, with_timeout};
use crate::error::has_primary_code;

/// How long the writer lets SQLite wait for another writing process before it repeats the
/// statement. SQLite polls less and less often, down to ten times a second, so with a busy other
/// process it would wait for seconds.
pub(super) const LOCK_WAIT: Duration = Duration::from_millis(10);

/// How many pages of the write-ahead log, 16 MB, make a checkpoint worthwhile. A page that is
/// written often is then copied once.
const CHECKPOINT_PAGES: i64 = 4000;

/// How many pages of the log, 500 MB, are worth a warning: SQLite cannot begin it anew while somebody
/// reads what was true before.
const LARGE_LOG_PAGES: i64 = 125_000;

/// A connection for one user at a time. None before the first use, after a failure, and once
/// closed.
type Slot = Arc<Mutex<Option<SqliteConnection>>>;
type HeldSlot = OwnedMutexGuard<Option<SqliteConnection>>;

/// The connections to one SQLite file. Clones share them.
#[derive(Clone)]
pub struct SqliteConnections {
    writer_options: Arc<SqliteConnectOptions>,
    writer: Slot,
    readers: SqlitePool,
    validator_options: Arc<SqliteConnectOptions>,
    /// The readers of validations, one for each batch that may read at the same time.
    validators: Arc<[Slot]>,
    files: Arc<DatabaseFiles>,
    /// Kept open and closed last: SQLite deletes the write-ahead log together with the last
    /// connection, so if the log is missing, someone else has deleted it.
    first: Slot,
    log_is_large: Arc<AtomicBool>,
}

impl SqliteConnections {
    /// `first` is already open.
    pub fn new(
        path: PathBuf,
        first: SqliteConnection,
        readers: SqlitePool,
        [writer_options, validator_options]: [SqliteConnectOptions; 2],
        most_reading: u32,
    ) -> Result<Self> {
        Ok(Self {
            files: DatabaseFiles::at(path)?.into(),
            first: Arc::new(Mutex::new(Some(first))),
            log_is_large: Arc::default(),
            writer_options: writer_options.into(),
            writer: Slot::default(),
            readers,
            validator_options: validator_options.into(),
            validators: (0..most_reading).map(|_| Slot::default()).collect(),
        })
    }

    pub async fn read(&self) -> Result<SqliteConn> {
        Ok(SqliteConn::new(CheckedOut::Reader(Box::pin(self.readers.acquire()).await?)))
    }

    pub fn most_reading(&self) -> u32 {
        self.validators.len() as u32
    }

    /// Like [`write`](Self::write), fails if the files were replaced.
    pub async fn read_for_validations(&self) -> Result<SqliteConn> {
        self.files.check()?;
        // All are in use only while readiness is probed, or while a failed one is being closed.
        let free = self.validators.iter().find_map(|slot| slot.clone().try_lock_owned().ok());
        let slot = async {
            match free {
                Some(slot) => slot,
                None => self.validators[0].clone().lock_owned().await,
            }
        };
        self.take(slot, &self.validator_options).await
    }

    /// Waits at most [`STATEMENT_TIMEOUT`] for the writer. Fails immediately if the files at the
    /// database's path are no longer the opened ones, since writes to those would be lost.
    pub async fn write(&self) -> Result<SqliteConn> {
        self.files.check()?;
        self.take(self.writer.clone().lock_owned(), &self.writer_options).await
    }

    async fn take(
        &self,
        slot: impl Future<Output = HeldSlot>,
        options: &Arc<SqliteConnectOptions>,
    ) -> Result<SqliteConn> {
        let opened = async { self.open(slot.await, options).await };
        let opened = tokio::time::timeout(STATEMENT_TIMEOUT, opened);
        Ok(SqliteConn::new(CheckedOut::Slot(opened.await.map_err(|_| sqlx::Error::PoolTimedOut)??)))
    }

    async fn open(
        &self,
        mut slot: HeldSlot,
        options: &Arc<SqliteConnectOptions>,
    ) -> Result<HeldSlot> {
        if self.readers.is_closed() {
            return Err(sqlx::Error::PoolClosed);
        }
        if slot.is_some() {
            return Ok(slot);
        }
        // A separate task: opening a file on a hanging disk continues after the caller has given
        // up, and must not be started again and again.
        let options = options.clone();
        let opening = tokio::spawn(async move {
            *slot = Some(options.connect().await?);
            Ok(slot)
        });
        opening.await.map_err(|_| sqlx::Error::WorkerCrashed)?
    }

    /// The state of the writer and of the readers.
    pub fn pools(&self) -> [PoolState; 3] {
        let state = |name, slots: &[Slot]| {
            let (free, taken): (Vec<_>, Vec<_>) =
                slots.iter().map(|slot| slot.try_lock()).partition(Result::is_ok);
            let idle = free.into_iter().flatten().filter(|slot| slot.is_some()).count();
            PoolState { name, in_use: taken.len(), idle, max: slots.len() }
        };
        let pool = &self.readers;
        let readers = PoolState {
            name: "readers",
            in_use: (pool.size() as usize).saturating_sub(pool.num_idle()),
            idle: pool.num_idle(),
            max: pool.options().get_max_connections() as usize,
        };
        [
            state("writer", std::slice::from_ref(&self.writer)),
            readers,
            state("validations", &self.validators),
        ]
    }

    /// Copies the write-ahead log into the file once it has grown. This blocks nobody, whereas a
    /// checkpoint by the writer would delay all writers.
    pub async fn checkpoint(&self) -> Result<()> {
        let mut first = self.first.lock().await;
        let Some(conn) = first.as_mut() else { return Ok(()) };
        let state = sqlx::query_as("pragma wal_checkpoint(noop)");
        let (_, pages, copied): (i64, i64, i64) = state.fetch_one(&mut *conn).await?;
        if pages - copied >= CHECKPOINT_PAGES {
            sqlx::query("pragma wal_checkpoint(passive)").execute(conn).await?;
        }
        let is_large = pages >= LARGE_LOG_PAGES;
        let was_large = self.log_is_large.swap(is_large, Ordering::Relaxed);
        if is_large && !was_large {
            tracing::warn!(
                megabytes = pages * 4096 / 1_000_000,
                "the write-ahead log is large: another program reads the database for a long time"
            );
        }
        Ok(())
    }

    /// A connection that the caller owns and closes.
    pub async fn detached(&self) -> Result<SqliteConnection> {
        let options = SqliteConnectOptions::clone(&self.writer_options);
        options.busy_timeout(STATEMENT_TIMEOUT).connect().await
    }

    /// Waits until all connections are returned and closed.
    pub async fn close(&self) {
        self.readers.close().await;
        for last in self.validators.iter().chain([&self.writer, &self.first]) {
            if let Some(conn) = last.lock().await.take() {
                // The process is ending, and commits are on disk in any case.
                drop(conn.close().await);
            }
        }
    }
}

enum CheckedOut {
    Slot(HeldSlot),
    Reader(PoolConnection<Sqlite>),
}

impl CheckedOut {
    fn conn(&mut self) -> Option<&mut SqliteConnection> {
        match self {
            Self::Slot(slot) => slot.as_mut(),
            Self::Reader(reader) => Some(reader),
        }
    }

    /// The next user gets a new one, once this one has closed the file.
    async fn close(self) {
        let closed = match self {
            Self::Slot(mut slot) => match slot.take() {
                Some(conn) => conn.close().await,
                None => Ok(()),
            },
            Self::Reader(reader) => reader.close().await,
        };
        if let Err(error) = closed {
            tracing::debug!(%error, "a connection to SQLite ended with an error");
        }
    }
}

/// A connection in use.
pub struct SqliteConn {
    /// None once it has been returned.
    held: Option<CheckedOut>,
    in_transaction: bool,
    /// False while a statement runs, and for good after one failed or was aborted.
    intact: bool,
}

impl SqliteConn {
    fn new(held: CheckedOut) -> Self {
        Self { held: Some(held), in_transaction: false, intact: true }
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
        self.held.as_mut().and_then(CheckedOut::conn).ok_or(sqlx::Error::WorkerCrashed)
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
            return;
        }
        // Without a runtime the process is ending, and nobody needs the connection.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(give_back(held, self.intact));
        }
    }
}

/// Rolls back the transaction of `held`, or closes it.
async fn give_back(mut held: CheckedOut, intact: bool) {
    if intact
        && let Some(conn) = held.conn()
        && with_timeout(STATEMENT_TIMEOUT, rollback(conn)).await.is_ok()
    {
        return;
    }
    held.close().await;
}

/// Whether another process has locked the file.
pub(super) fn is_locked(error: &sqlx::Error) -> bool {
    has_primary_code(error, &[5])
}

async fn rollback(conn: &mut SqliteConnection) -> Result<()> {
    sqlx::query("rollback").execute(conn).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::error::Error;

    #[tokio::test]
    async fn a_grown_log_is_copied_into_the_file_and_a_small_one_is_not() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("licd.db");
        let db = Db::open(&format!("sqlite://{}", path.display()).parse().unwrap()).await.unwrap();
        let size = || std::fs::metadata(&path).unwrap().len();
        let empty = size();
        for (table, is_copied) in [
            ("create table small as select zeroblob(1000000) as bytes", false),
            ("create table large as select zeroblob(20000000) as bytes", true),
        ] {
            db.write().await.unwrap().query(table).execute().await.unwrap();
            db.checkpoint().await.unwrap();
            assert_eq!(size() > empty, is_copied, "{table}");
        }
        db.close().await;
    }

    /// A reader that stays makes the log grow; once it is gone, the log shrinks again.
    #[tokio::test]
    async fn a_log_that_has_grown_is_shortened() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("licd.db");
        let db = Db::open(&format!("sqlite://{}", path.display()).parse().unwrap()).await.unwrap();
        let log = || std::fs::metadata(folder.path().join("licd.db-wal")).unwrap().len();
        let write = async |sql| {
            db.write().await.unwrap().query(sql).execute().await.unwrap();
            db.checkpoint().await.unwrap();
        };
        write("create table large (bytes blob)").await;
        let mut reader = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        sqlx::query("begin").execute(&mut reader).await.unwrap();
        sqlx::query("select count(*) from large").fetch_one(&mut reader).await.unwrap();
        write("insert into large values (zeroblob(100000000))").await;
        assert!(log() > 100_000_000);
        reader.close().await.unwrap();
        write("insert into large values (x'01')").await;
        write("insert into large values (x'02')").await;
        assert!(log() <= 64_000_000, "{}", log());
        db.close().await;
    }

    #[tokio::test]
    async fn a_damaged_sqlite_file_is_unavailable() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("licd.db");
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let mut conn = options.connect().await.unwrap();
        let statement = async |conn: &mut _, sql| sqlx::query(sql).execute(conn).await.map(drop);
        statement(&mut conn, "create table t (a)").await.unwrap();
        let mistaken = statement(&mut conn, "select b from t").await.unwrap_err();
        assert_eq!(Error::from(mistaken), Error::Internal);
        conn.close().await.unwrap();
        std::fs::write(&path, [0xa5; 8192]).unwrap();
        let mut conn = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        let damaged = statement(&mut conn, "select a from t").await.unwrap_err();
        assert_eq!(Error::from(damaged), Error::Unavailable);
    }
}

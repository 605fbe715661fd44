//! SQLite's connections: one that writes, several that read, and their write-ahead log. How each is
//! lent, and what becomes of a failed one, is in [`pool`].
//!
//! SQLite allows one writer at a time, so writers queue in order for the one writing connection
//! instead of polling the lock of the file. Thanks to the write-ahead log, readers never wait for
//! the writer. Validations have their own readers.

mod pool;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::sync::Mutex;

use super::identity::DatabaseFiles;
use super::{PoolState, Result, STATEMENT_TIMEOUT};

pub use pool::{SqliteConn, SqlitePool, is_locked};

/// Time for which SQLite waits for another writing process before the writer repeats the statement.
/// SQLite polls less and less often, down to ten times a second, so with a busy other process it
/// would wait for seconds.
pub(super) const LOCK_WAIT: Duration = Duration::from_millis(10);

/// Number of pages of the write-ahead log, 16 MB, from which a checkpoint is worthwhile. A page
/// that is written often is then copied once.
const CHECKPOINT_PAGES: i64 = 4000;

/// Number of pages of the log from which licd warns: 500 MB. SQLite cannot reset the log while a
/// process reads an old snapshot.
const LARGE_LOG_PAGES: i64 = 125_000;

/// The connections to one SQLite file. Clones share them.
#[derive(Clone)]
pub struct SqliteConnections {
    writer: Arc<SqlitePool>,
    readers: Arc<SqlitePool>,
    /// The readers of validations, one for each batch that may read at the same time.
    validators: Arc<SqlitePool>,
    files: Arc<DatabaseFiles>,
    /// Kept open and closed last: SQLite deletes the write-ahead log together with the last
    /// connection, so if the log is missing, someone else has deleted it.
    first: Arc<Mutex<Option<SqliteConnection>>>,
    log_is_large: Arc<AtomicBool>,
}

impl SqliteConnections {
    /// `first` is already open.
    pub async fn new(
        path: PathBuf,
        first: SqliteConnection,
        [writer, readers, validators]: [Arc<SqlitePool>; 3],
    ) -> Result<Self> {
        // This makes the write-ahead log.
        drop(readers.lend().await?);
        let files = DatabaseFiles::at(path)?.into();
        let first = Arc::new(Mutex::new(Some(first)));
        Ok(Self { writer, readers, validators, files, first, log_is_large: Arc::default() })
    }

    pub async fn read(&self) -> Result<SqliteConn> {
        self.readers.lend().await
    }

    pub fn most_reading(&self) -> u32 {
        self.validators.max as u32
    }

    /// Like [`write`](Self::write), fails if the files were replaced.
    pub async fn read_for_validations(&self) -> Result<SqliteConn> {
        self.files.check()?;
        self.validators.lend().await
    }

    /// Waits for the writer. Fails immediately if the files at the database's path are no longer
    /// the opened ones, since writes to those would be lost.
    pub async fn write(&self) -> Result<SqliteConn> {
        self.files.check()?;
        self.writer.lend().await
    }

    /// The state of the writer and of the readers.
    pub fn pools(&self) -> [PoolState; 3] {
        [self.writer.state(), self.readers.state(), self.validators.state()]
    }

    /// Copies the write-ahead log into the file once it has grown. This blocks no request, whereas a
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
        self.writer.options.clone().busy_timeout(STATEMENT_TIMEOUT).connect().await
    }

    /// Waits until all connections are returned and closed.
    pub async fn close(&self) {
        for pool in [&self.readers, &self.validators, &self.writer] {
            pool.close().await;
        }
        if let Some(first) = self.first.lock().await.take() {
            drop(first.close().await);
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnectOptions;

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

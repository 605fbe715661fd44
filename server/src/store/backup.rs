//! Copying an SQLite file, and checking its integrity.
//!
//! These statements exist in SQLite alone, take as long as the file is large, and must not touch
//! the schema (a backup is taken before an upgrade), so they run on connections of their own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::db::Result;
use crate::error::has_code;

/// How long to wait for a writer that is ending a transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How many of SQLite's instructions run between two looks at whether to stop.
const STOP_CHECK: i32 = 1000;

/// Tables that every version of licd has, and hardly another program.
const OUR_TABLES: &str = "select count(*) from sqlite_master
    where type = 'table' and name in ('_sqlx_migrations', 'worlds', 'event_counters')";

/// Which side of the copying failed.
pub enum CopyError {
    /// There is nothing of licd to copy.
    Empty,
    Read(sqlx::Error),
    Write(sqlx::Error),
}

/// Writes all that is committed in `from` into the empty file `to`, unless `stopped` becomes true.
/// Others go on reading and writing meanwhile; what they commit later is not in it.
pub async fn copy(from: &Path, to: &Path, stopped: &Arc<AtomicBool>) -> Result<(), CopyError> {
    // A path that is not Unicode is refused by `to_str`, as SQLite would open another file.
    let invalid = sqlx::Error::Io(std::io::ErrorKind::InvalidInput.into());
    let to = to.to_str().ok_or(CopyError::Write(invalid))?;
    let options = SqliteConnectOptions::new().filename(from).busy_timeout(BUSY_TIMEOUT);
    let mut conn = open(&options, stopped).await.map_err(CopyError::Read)?;
    // SQLite opens a file when it first reads it. A failure then is not the copy's.
    let tables: Result<i64> = sqlx::query_scalar(OUR_TABLES).fetch_one(&mut conn).await;
    if tables.map_err(CopyError::Read)? != 3 {
        return Err(CopyError::Empty);
    }
    let copied = sqlx::query("vacuum into $1").bind(to).execute(&mut conn).await;
    // When this returns, SQLite has let go of both files.
    let closed = conn.close().await;
    match copied.map(drop).and(closed) {
        Ok(()) => Ok(()),
        Err(error) if is_of_writing(&error) => Err(CopyError::Write(error)),
        Err(error) => Err(CopyError::Read(error)),
    }
}

/// The faults of the database in a file; none, if it is intact.
pub async fn faults(path: &Path, stopped: &Arc<AtomicBool>) -> Result<Vec<String>> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut conn = open(&options, stopped).await?;
    let mut faults: Vec<String> =
        sqlx::query_scalar("pragma integrity_check").fetch_all(&mut conn).await?;
    faults.retain(|fault| fault != "ok");
    let orphans: Vec<(String,)> = sqlx::query_as("select \"table\" from pragma_foreign_key_check")
        .fetch_all(&mut conn)
        .await?;
    faults.extend(orphans.into_iter().map(|(table,)| format!("a row of {table} lacks its parent")));
    conn.close().await?;
    Ok(faults)
}

/// A connection whose statements fail soon after `stopped` became true.
async fn open(
    options: &SqliteConnectOptions,
    stopped: &Arc<AtomicBool>,
) -> Result<SqliteConnection> {
    let mut conn = options.connect().await?;
    let stopped = stopped.clone();
    let goes_on = move || !stopped.load(Ordering::Relaxed);
    conn.lock_handle().await?.set_progress_handler(STOP_CHECK, goes_on);
    Ok(conn)
}

/// The disk is full, or writing, syncing, truncating or making a file failed. A backup writes
/// nothing but its target.
fn is_of_writing(error: &sqlx::Error) -> bool {
    has_code(error, |code| {
        code.parse::<i32>().is_ok_and(|code| {
            matches!((code & 0xff, code >> 8), (13, _) | (14, _) | (10, 3..=6 | 10))
        })
    })
}

//! Copies an SQLite file, and checks its integrity.
//!
//! These statements exist only in SQLite, take time in proportion to the size of the file, and must
//! not touch the schema (a backup is taken before an upgrade). So they run on connections of their
//! own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::db::Result;
use crate::error::has_code;

/// Time to wait for a writer to end its transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of SQLite instructions between two checks of `stopped`.
const STOP_CHECK: i32 = 1000;

/// Tables that every version of licd has, and that other programs are unlikely to have.
const OUR_TABLES: &str = "select count(*) from sqlite_master
    where type = 'table' and name in ('_sqlx_migrations', 'worlds', 'event_counters')";

pub enum CopyFileError {
    /// The file contains no tables of licd.
    Empty,
    Read(sqlx::Error),
    Write(sqlx::Error),
}

/// Writes everything committed in `from` to the empty file `to`, unless `stopped` becomes true.
/// Other processes can read and write in the meantime. Their later commits are not included.
pub async fn copy(from: &Path, to: &Path, stopped: &Arc<AtomicBool>) -> Result<(), CopyFileError> {
    // `to_str` refuses a path that is not Unicode, since SQLite would open another file.
    let invalid = sqlx::Error::Io(std::io::ErrorKind::InvalidInput.into());
    let to = to.to_str().ok_or(CopyFileError::Write(invalid))?;
    let options = SqliteConnectOptions::new().filename(from).busy_timeout(BUSY_TIMEOUT);
    let mut conn = open(&options, stopped).await.map_err(CopyFileError::Read)?;
    // SQLite opens a file at the first read, so a failure here is not a failure of the copy.
    let tables: Result<i64> = sqlx::query_scalar(OUR_TABLES).fetch_one(&mut conn).await;
    if tables.map_err(CopyFileError::Read)? != 3 {
        return Err(CopyFileError::Empty);
    }
    let copied = sqlx::query("vacuum into $1").bind(to).execute(&mut conn).await;
    // Wait until SQLite has released both files.
    let closed = conn.close().await;
    match copied.map(drop).and(closed) {
        Ok(()) => Ok(()),
        Err(error) if is_of_writing(&error) => Err(CopyFileError::Write(error)),
        Err(error) => Err(CopyFileError::Read(error)),
    }
}

/// The faults that SQLite finds in the database; empty if it is intact.
pub async fn faults(path: &Path, stopped: &Arc<AtomicBool>) -> Result<Vec<String>> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut conn = open(&options, stopped).await?;
    let mut faults: Vec<String> =
        sqlx::query_scalar("pragma integrity_check").fetch_all(&mut conn).await?;
    faults.retain(|fault| fault != "ok");
    let orphans: Vec<(String,)> = sqlx::query_as("select \"table\" from pragma_foreign_key_check")
        .fetch_all(&mut conn)
        .await?;
    faults.extend(orphans.into_iter().map(|(table,)| format!("a row of {table} has no parent")));
    conn.close().await?;
    Ok(faults)
}

/// A connection whose statements fail soon after `stopped` becomes true.
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

/// Whether the disk is full, or writing, syncing, truncating or creating a file failed. A backup
/// writes only to its target.
fn is_of_writing(error: &sqlx::Error) -> bool {
    has_code(error, |code| {
        code.parse::<i32>().is_ok_and(|code| {
            matches!((code & 0xff, code >> 8), (13, _) | (14, _) | (10, 3..=6 | 10))
        })
    })
}

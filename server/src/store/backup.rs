//! Copying an SQLite file, and telling whether one is whole.
//!
//! These statements exist in SQLite alone, take as long as the file is large, and must not touch
//! the schema (a backup is taken before an upgrade), so they run on connections of their own.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::db::Result;

/// How long to wait for a writer that is just ending a transaction.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes all that is committed in `from` into the empty file `to`. Others go on reading and
/// writing meanwhile; what they commit later is not in it.
pub async fn copy(from: &Path, to: &Path) -> Result<()> {
    let options = SqliteConnectOptions::new().filename(from).busy_timeout(PATIENCE);
    let mut conn = options.connect().await?;
    // A path that is not Unicode is refused by `to_str`, as SQLite would open another file.
    let to = to.to_str().ok_or(std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
    sqlx::query("vacuum into $1").bind(to).execute(&mut conn).await?;
    conn.close().await
}

/// What is wrong with the database in a file; nothing, if it is whole.
pub async fn faults(path: &Path) -> Result<Vec<String>> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut conn = options.connect().await?;
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

//! An SQLite file, opened read-only.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use common::Timestamp;
use rustix::fs::{Access, access};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::types::Uuid;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::{SIGNING_KEYS, Sealed, WEBHOOKS, current};
use crate::db::open_error::OpenError;
use crate::db::{Result, STATEMENT_TIMEOUT, files, schema, within_statement_timeout};
use crate::error::has_code;

/// Number of SQLite instructions between two checks of the time.
const CLOCK_CHECK: i32 = 1000;
/// SQLite's code for an interrupted statement.
const INTERRUPTED: &str = "9";

/// Time to wait for other writers. A check may take a little longer.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

pub struct Sqlite(SqliteConnection);

impl Sqlite {
    /// Opens an existing file.
    pub async fn open(path: &Path) -> Result<Self, OpenError> {
        files::find(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .busy_timeout(STATEMENT_TIMEOUT);
        let conn = within_statement_timeout(options.connect()).await;
        conn.map(Self).map_err(OpenError::Connect)
    }

    /// Fails if, for example, the file is not a database.
    pub async fn journal_mode(&mut self) -> Result<String> {
        let mode = sqlx::query_scalar("pragma journal_mode").fetch_one(&mut self.0);
        within_statement_timeout(mode).await
    }

    /// Fails if licd cannot write to the file at `path`, which is the opened one: it lacks
    /// permission, the file system is read-only, or another process holds the write lock. Nothing
    /// is written.
    pub async fn try_to_write(&mut self, path: &Path) -> Result<()> {
        // SQLite would fall back to reading. Opening and closing the file here would release its
        // locks.
        access(path, Access::WRITE_OK).map_err(io::Error::from)?;
        let options = SqliteConnectOptions::new().filename(path).busy_timeout(LOCK_TIMEOUT);
        let begun = async {
            let mut conn = options.connect().await?;
            conn.begin_with("begin immediate").await?.rollback().await?;
            conn.close().await
        };
        within_statement_timeout(begun).await
    }

    /// Fails unless the schema is the one that this licd knows.
    pub async fn check_schema(&mut self) -> Result<(), OpenError> {
        schema::check_on(&mut self.0).await
    }

    /// The tables of licd that are missing.
    pub async fn missing_tables(&mut self) -> Result<Vec<&'static str>> {
        let listed = sqlx::query_scalar("select name from sqlite_master where type = 'table'")
            .fetch_all(&mut self.0);
        let listed: Vec<String> = within_statement_timeout(listed).await?;
        Ok(schema::tables().filter(|table| !listed.iter().any(|there| there == table)).collect())
    }

    /// The faults that SQLite finds in the file; None if the check took longer than `limit`.
    pub async fn faults(&mut self, limit: Duration) -> Result<Option<Vec<String>>> {
        let end = Instant::now() + limit;
        let goes_on = move || Instant::now() < end;
        self.0.lock_handle().await?.set_progress_handler(CLOCK_CHECK, goes_on);
        let check = sqlx::query_scalar("pragma quick_check").fetch_all(&mut self.0);
        let checked: Result<Vec<String>> = within_statement_timeout(check).await;
        self.0.lock_handle().await?.remove_progress_handler();
        match checked {
            Ok(lines) => Ok(Some(lines.into_iter().filter(|line| line != "ok").collect())),
            Err(error) if has_code(&error, |code| code == INTERRUPTED) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn sealed(&mut self) -> Result<Sealed> {
        let webhooks = sqlx::query_scalar(WEBHOOKS).fetch_all(&mut self.0);
        let webhooks = current(&within_statement_timeout(webhooks).await?);
        let signing_keys = sqlx::query_scalar(SIGNING_KEYS).fetch_all(&mut self.0);
        Ok(Sealed { webhooks, signing_keys: within_statement_timeout(signing_keys).await? })
    }

    /// The time of the newest event, from its id, since ids never go back.
    pub async fn newest_event(&mut self) -> Result<Option<Timestamp>> {
        let newest = sqlx::query_scalar("select id from events order by id desc limit 1")
            .fetch_optional(&mut self.0);
        let id: Option<Uuid> = within_statement_timeout(newest).await?;
        Ok(id.and_then(|id| {
            let (seconds, nanos) = id.get_timestamp()?.to_unix();
            Timestamp::from_millis(
                i64::try_from(seconds).ok()? * 1000 + i64::from(nanos) / 1_000_000,
            )
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{DatabaseUrl, Db};

    /// A check of a large file stops in time, says so, and does not affect later statements.
    #[tokio::test]
    async fn a_check_that_takes_too_long_is_interrupted() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("licd.db");
        let db = Db::open(&DatabaseUrl::Sqlite(path.clone())).await.unwrap();
        let rows = "with recursive n(n) as (select 1 union all select n + 1 from n where n < 300)
             insert into worlds (id, tenant_id, tenant_name, mode, created_at)
             select n, randomblob(16), hex(randomblob(10000)), 'live', 0 from n";
        db.write().await.unwrap().query(rows).execute().await.unwrap();
        db.close().await;
        let mut sqlite = Sqlite::open(&path).await.unwrap();
        assert_eq!(sqlite.faults(Duration::ZERO).await.unwrap(), None);
        assert_eq!(sqlite.faults(Duration::from_secs(5)).await.unwrap(), Some(vec![]));
    }
}

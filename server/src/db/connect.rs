//! Opens a database: its settings, connections and schema.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use sqlx::pool::PoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Executor, PgConnection, Row, SqliteConnection};
use tokio::time::sleep;

use super::hosts::Hosts;
use super::open_error::OpenError;
use super::postgres::{POSTGRES_MAX_AGE, PgConnections};
use super::schema::{self, Upgrade};
use super::sqlite::{LOCK_WAIT, SqliteConnections, SqlitePool, is_locked};
use super::url::DatabaseUrl;
use super::{
    Db, PostgresKind, STATEMENT_TIMEOUT, files, sharding, with_timeout, within_statement_timeout,
};

/// The page cache of connections that write or read for validations: 12 MB, in KiB as a negative
/// number. Other readers keep the default of 2 MB.
const SQLITE_LARGE_CACHE: &str = "-12000";
/// The size at which the writer itself copies the write-ahead log into the file: 100 MB, in pages.
/// Normally a background task copies it much earlier.
const SQLITE_LOG_PAGES: &str = "25000";
/// The size to which the writer shortens a write-ahead log that grew beyond it, once all of it is
/// in the file: 64 MB, in bytes.
const SQLITE_LOG_LIMIT: &str = "64000000";
pub(super) const SQLITE_READERS: usize = 5;
/// Maximum number of batches of validations that read at the same time.
const MOST_READING: u32 = 8;
/// Like [`MOST_READING`], on a sharded PostgreSQL, where each batch is of one tenant.
const SHARDED_READING: u32 = 16;
/// Maximum number of batches that write there at the same time.
pub(super) const SHARDED_WRITING: u32 = 8;
/// In addition to those that read for validations.
pub(super) const POSTGRES_CONNECTIONS: u32 = 16;
/// Every statement finds its rows by key, and a batch is small. PostgreSQL does not know how many
/// items its JSON holds, would assume a hundred, and scan whole tables for them: 111 µs per
/// validation instead of 43, with 10 thousand users. Without bitmap scans, a list is read in the
/// order of its index and the whole world is never sorted. Tables are joined in the order in which
/// a statement names them, since PostgreSQL's statistics of empty tables are misleading.
pub(super) const PLANS: [(&str, &str); 8] = [
    ("enable_material", "off"),
    ("join_collapse_limit", "1"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_seqscan", "off"),
    ("jit", "off"),
    ("plan_cache_mode", "force_generic_plan"),
];
/// On a sharded PostgreSQL, a statement is sent to one server only if its plan knows the world, and
/// not a placeholder. A statement for all servers is sent to one after the other, so that its
/// transaction may also write the tables that each server has.
const SHARDED: [(&str, &str); 2] =
    [("plan_cache_mode", "auto"), ("citus.multi_shard_modify_mode", "sequential")];
/// Delay before a file that another process has locked is tried again.
const WAL_RETRY: Duration = Duration::from_millis(20);

impl Db {
    /// Connects, creates a missing SQLite file, and migrates the schema.
    pub async fn open(url: &DatabaseUrl) -> Result<Self, OpenError> {
        Self::open_for(url, most_reading()).await
    }

    /// Like [`open`](Self::open), with a given number of parallel batches of validations.
    pub async fn open_for(url: &DatabaseUrl, most_reading: u32) -> Result<Self, OpenError> {
        Ok(Self::migrate(url, most_reading, false).await?.0)
    }

    /// Like [`open`](Self::open), and returns the migrations that were applied. Creates tables
    /// next to those in another schema of a PostgreSQL database only if `may_be_another`.
    pub async fn upgrade(
        url: &DatabaseUrl,
        may_be_another: bool,
    ) -> Result<(Self, Upgrade), OpenError> {
        Self::migrate(url, most_reading(), may_be_another).await
    }

    async fn migrate(
        url: &DatabaseUrl,
        most_reading: u32,
        may_be_another: bool,
    ) -> Result<(Self, Upgrade), OpenError> {
        if let DatabaseUrl::Sqlite(path) = url {
            files::make(path)?;
        }
        let db = Self::connect(url, most_reading).await?;
        if let (Self::Postgres { connections, .. }, false) = (&db, may_be_another) {
            let mut conn = connections.detached().await?;
            schema::refuse_other_schema(&mut conn).await?;
            conn.close().await?;
        }
        let upgrade = schema::upgrade(&db).await?;
        if let (Self::Postgres { connections, .. }, true) = (&db, db.is_sharded()) {
            // Tables of later migrations.
            let mut conn = connections.detached().await?;
            sharding::place_new(&mut conn, sharding::DEFAULT_SHARDS, |_| ()).await?;
            conn.close().await?;
        }
        Ok((db, upgrade))
    }

    /// Connects to an existing database with the schema of this licd, and changes nothing.
    pub async fn open_as_it_is(url: &DatabaseUrl) -> Result<Self, OpenError> {
        if let DatabaseUrl::Sqlite(path) = url {
            files::find(path)?;
        }
        let db = Self::connect(url, most_reading()).await?;
        schema::check(&db).await?;
        Ok(db)
    }

    async fn connect(url: &DatabaseUrl, most_reading: u32) -> Result<Self, OpenError> {
        match url {
            DatabaseUrl::Sqlite(path) => connect_sqlite(path, most_reading).await,
            DatabaseUrl::Postgres(hosts) => connect_postgres(hosts, most_reading).await,
        }
    }
}

async fn connect_sqlite(path: &Path, most_reading: u32) -> Result<Db, OpenError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        // A commit is on disk before it returns, even if the power fails.
        .synchronous(SqliteSynchronous::Full)
        // While another process writes, such as `licd keys create`.
        .busy_timeout(STATEMENT_TIMEOUT)
        // Rows are buffered here for the reading task; waking it for each would cost more.
        .row_buffer_size(1024);
    let first = with_timeout(STATEMENT_TIMEOUT, first_connection(&options)).await?;
    let first = first.ok_or(OpenError::Foreign)?;
    let options = options.journal_mode(SqliteJournalMode::Wal);
    let writer = options
        .clone()
        .busy_timeout(LOCK_WAIT)
        .pragma("cache_size", SQLITE_LARGE_CACHE)
        .pragma("wal_autocheckpoint", SQLITE_LOG_PAGES)
        .pragma("journal_size_limit", SQLITE_LOG_LIMIT);
    let validators = options.clone().pragma("cache_size", SQLITE_LARGE_CACHE);
    let pools = [
        SqlitePool::new("writer", writer, 1),
        SqlitePool::new("readers", options, SQLITE_READERS),
        SqlitePool::new("validations", validators, most_reading as usize),
    ];
    Ok(Db::Sqlite(SqliteConnections::new(path.to_owned(), first, pools).await?))
}

/// The first connection, which switches the file to a write-ahead log permanently; None if the file
/// is the database of another program. If two processes switch it at the same moment, SQLite
/// refuses one immediately, whatever its busy timeout.
async fn first_connection(
    options: &SqliteConnectOptions,
) -> super::Result<Option<SqliteConnection>> {
    loop {
        match switch_to_wal(options.connect().await?).await {
            Err(error) if is_locked(&error) => sleep(WAL_RETRY).await,
            switched => return switched,
        }
    }
}

async fn switch_to_wal(mut conn: SqliteConnection) -> super::Result<Option<SqliteConnection>> {
    let tables = "select name from sqlite_master where type = 'table'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut conn).await?;
    if !tables.is_empty() && !tables.iter().any(|table| table == "worlds") {
        return conn.close().await.map(|()| None);
    }
    conn.execute("pragma journal_mode = wal").await?;
    Ok(Some(conn))
}

/// The servers, with the settings for each connection.
pub(super) fn with_settings(hosts: &Hosts) -> Hosts {
    let timeout = format!("{}ms", STATEMENT_TIMEOUT.as_millis());
    // The locks of a disconnected node are released after the same time.
    let limits = ["statement_timeout", "idle_in_transaction_session_timeout"];
    hosts.with(|options| {
        let options = options.application_name("licd");
        options.options(limits.map(|limit| (limit, &timeout))).options(PLANS)
    })
}

/// Returns the number of batches of validations that read at the same time on this machine: one for
/// each two cores.
fn most_reading() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    u32::try_from(cores / 2).unwrap_or(MOST_READING).clamp(1, MOST_READING)
}

async fn connect_postgres(hosts: &Hosts, most_reading: u32) -> Result<Db, OpenError> {
    let mut hosts = with_settings(hosts);
    let (mut server, mut conn) = hosts.connect_primary().await?;
    refuse_encoding(&mut conn).await?;
    let sharded = within_statement_timeout(sharding::is_sharded(&mut conn)).await?;
    conn.close().await?;
    let (mut most_reading, mut most) = (most_reading, POSTGRES_CONNECTIONS + most_reading);
    if sharded {
        hosts = hosts.with(|options| options.options(SHARDED));
        server = server.options(SHARDED);
        most_reading = SHARDED_READING;
        most = POSTGRES_CONNECTIONS + SHARDED_READING + SHARDED_WRITING;
    }
    let pool: PgPoolOptions = PoolOptions::new()
        .max_connections(most)
        .max_lifetime(POSTGRES_MAX_AGE)
        .acquire_timeout(STATEMENT_TIMEOUT)
        // licd logs waits that are too long itself.
        .acquire_slow_threshold(STATEMENT_TIMEOUT);
    let connections = PgConnections::open(pool, server).await?;
    hosts.clone().spawn_failover_watch(connections.clone());
    let kind = PostgresKind { pooler: hosts.pooler, sharded };
    Ok(Db::Postgres { connections, kind, most_reading })
}

/// Fails if the database cannot hold every name, or would keep bytes that are no text.
async fn refuse_encoding(conn: &mut PgConnection) -> Result<(), OpenError> {
    let encoding = within_statement_timeout(conn.fetch_one("show server_encoding")).await?;
    let encoding: String = encoding.try_get(0)?;
    if encoding == "UTF8" { Ok(()) } else { Err(OpenError::Encoding(encoding)) }
}

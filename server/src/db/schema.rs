//! The schema: migrates a database to the version of this licd, one process at a time.
//!
//! The tables are in `migrations/`; the rules for migrations while older nodes run are in
//! `docs/operate/upgrades.md`.

use std::cmp::Ordering;
use std::sync::LazyLock;
use std::time::Duration;

use sqlx::migrate::{AppliedMigration, Migrate, MigrateError, Migrator};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row, SqlSafeStr, SqliteConnection};
use tokio::time::{Instant, sleep};

use super::open_error::OpenError;
use super::postgres::PgConnections;
use super::{Db, Result};

/// The migrations. They take no lock of their own, because the transaction holds [`LOCK`].
static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(migrations);

fn migrations() -> Migrator {
    let mut migrations = sqlx::migrate!("../migrations");
    migrations.set_locking(false);
    migrations
}

/// The same for PostgreSQL, which has another name for the collation by bytes, and no row ids.
static POSTGRES_MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrations = migrations();
    for migration in migrations.migrations.to_mut() {
        let sql = migration.sql.as_str().replace("collate binary", "collate \"C\"");
        let sql = sql.replace(") without rowid", ")");
        migration.sql = AssertSqlSafe(sql).into_sql_str();
    }
    migrations
});

/// Makes nodes that start at the same time take turns. The lock belongs to the transaction, not to
/// the session, so that it also works through a pooler and ends with the node. An arbitrary
/// constant.
const LOCK: &str = "select pg_advisory_xact_lock(7017269530431091044)";
const TRY_LOCK: &str = "select pg_try_advisory_xact_lock(7017269530431091044)";
/// A migration may take longer than any request.
const NO_STATEMENT_TIMEOUT: &str = "set local statement_timeout = 0";
const NO_IDLE_TIMEOUT: &str = "set local idle_in_transaction_session_timeout = 0";
/// How long a migration waits for a table that another session, such as a backup, is reading.
/// Requests of other nodes for that table wait behind it.
const LOCK_TIMEOUT: &str = "set local lock_timeout = '1s'";
/// How long to wait before trying again, so that other nodes catch up.
const LOCK_RETRY: Duration = Duration::from_secs(4);
/// How often to log that a migration is still waiting.
const LOCK_REPORT: Duration = Duration::from_secs(60);
/// Migrating prepares named statements. A pooler assigns the connection to other clients next,
/// which use the same names.
const DROP_PLANS: &str = "deallocate all";
/// Do not log that a table exists already.
const NO_NOTICES: &str = "set local client_min_messages = warning";

/// The result of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The versions that were just applied, with their descriptions.
    pub applied: Vec<(i64, String)>,
    /// The current version of the schema.
    pub version: i64,
}

impl Upgrade {
    /// Whether the database contained no tables of licd before.
    pub fn is_first(&self) -> bool {
        self.applied.len() == MIGRATIONS.iter().count()
    }
}

/// Brings the schema up to date, in one transaction: if a migration fails, nothing has changed.
pub(super) async fn upgrade(db: &Db) -> Result<Upgrade, OpenError> {
    match db {
        // Under the write lock, so that two processes that start at the same time do not both
        // migrate.
        Db::Sqlite(connections) => {
            let mut conn = connections.detached().await?;
            let mut tx = conn.begin_with("begin immediate").await?;
            let upgrade = run(&MIGRATIONS, &mut *tx).await?;
            tx.commit().await?;
            conn.close().await?;
            Ok(upgrade)
        }
        Db::Postgres { connections, .. } => {
            let mut reported: Option<Instant> = None;
            loop {
                match upgrade_postgres(connections).await {
                    Err(error) if error.is_lock_timeout() => {}
                    upgraded => return upgraded,
                }
                if reported.is_none_or(|at| at.elapsed() >= LOCK_REPORT) {
                    reported = Some(Instant::now());
                    tracing::warn!(
                        "another session, such as a backup, is using a table that the migration changes; \
                         running nodes are not affected, and this one waits for the session to end"
                    );
                }
                sleep(LOCK_RETRY).await;
            }
        }
    }
}

/// Uses a connection of its own, so that its plans can be dropped and closing it releases all
/// locks.
async fn upgrade_postgres(connections: &PgConnections) -> Result<Upgrade, OpenError> {
    let mut conn = connections.detached().await?;
    let mut tx = conn.begin().await?;
    for statement in [DROP_PLANS, NO_STATEMENT_TIMEOUT, NO_IDLE_TIMEOUT, NO_NOTICES] {
        tx.execute(statement).await?;
    }
    take_turn(&mut tx).await?;
    tx.execute(LOCK_TIMEOUT).await?;
    let upgrade = run(&POSTGRES_MIGRATIONS, &mut *tx).await?;
    tx.execute(DROP_PLANS).await?;
    tx.commit().await?;
    Ok(upgrade)
}

/// Waits, without a time limit, until no other node is migrating.
async fn take_turn(conn: &mut PgConnection) -> Result<()> {
    if !conn.fetch_one(TRY_LOCK).await?.try_get::<bool, _>(0)? {
        tracing::info!("another licd is migrating the database; waiting for it to finish");
        conn.execute(LOCK).await?;
    }
    Ok(())
}

/// Refuses a database whose schema version is not that of this licd.
pub(super) async fn check(db: &Db) -> Result<(), OpenError> {
    match db {
        Db::Sqlite(connections) => {
            let mut conn = connections.detached().await?;
            let checked = check_on(&mut conn).await;
            conn.close().await?;
            checked
        }
        Db::Postgres { connections, .. } => {
            check_on_postgres(&mut connections.detached().await?).await
        }
    }
}

/// The same on a connection to SQLite.
pub(super) async fn check_on(conn: &mut SqliteConnection) -> Result<(), OpenError> {
    fits(conn.list_applied_migrations(&MIGRATIONS.table_name).await)
}

/// The same on a connection to PostgreSQL, perhaps through a pooler.
pub(super) async fn check_on_postgres(conn: &mut PgConnection) -> Result<(), OpenError> {
    let mut tx = conn.begin().await?;
    tx.execute(DROP_PLANS).await?;
    let applied = tx.list_applied_migrations(&MIGRATIONS.table_name).await;
    if applied.is_ok() {
        tx.execute(DROP_PLANS).await?;
    }
    fits(applied)
}

fn fits(applied: Result<Vec<AppliedMigration>, MigrateError>) -> Result<(), OpenError> {
    // Without the table of migrations, none have been applied.
    let applied = applied.unwrap_or_default();
    let database = newest(&applied).ok_or(OpenError::Empty)?;
    match database.cmp(&version()) {
        Ordering::Less => Err(OpenError::Older { database, licd: version() }),
        Ordering::Equal => has_our_migrations(&applied),
        Ordering::Greater => Err(OpenError::Newer { database, licd: version() }),
    }
}

/// Fails if an applied migration differs from ours, since its tables may differ as well.
fn has_our_migrations(applied: &[AppliedMigration]) -> Result<(), OpenError> {
    let is_other = |applied: &&AppliedMigration| {
        let mut known = MIGRATIONS.iter().filter(|known| known.version == applied.version);
        known.any(|known| known.checksum != applied.checksum)
    };
    match applied.iter().find(is_other) {
        Some(other) => Err(MigrateError::VersionMismatch(other.version).into()),
        None => Ok(()),
    }
}

/// The tables that the migrations create.
pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    let made = |sql: &'static str| {
        sql.split("create table ").skip(1).filter_map(|rest| rest.split([' ', '(', '\n']).next())
    };
    MIGRATIONS.iter().flat_map(move |migration| made(migration.sql.as_str()))
}

async fn run<C: Migrate>(migrations: &Migrator, conn: &mut C) -> Result<Upgrade, OpenError> {
    let table = &MIGRATIONS.table_name;
    conn.ensure_migrations_table(table).await?;
    let before = conn.list_applied_migrations(table).await?;
    migrations.run_direct(None, conn, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(unknown) => {
            OpenError::Newer { database: newest(&before).unwrap_or(unknown), licd: version() }
        }
        other => other.into(),
    })?;
    let new = migrations
        .iter()
        .filter(|known| !before.iter().any(|applied| applied.version == known.version));
    let applied = new.map(|known| (known.version, known.description.to_string())).collect();
    Ok(Upgrade { applied, version: version() })
}

fn newest(applied: &[AppliedMigration]) -> Option<i64> {
    applied.iter().map(|applied| applied.version).max()
}

/// The newest version that this licd knows.
fn version() -> i64 {
    MIGRATIONS.iter().map(|known| known.version).max().unwrap_or_default()
}

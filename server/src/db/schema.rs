//! The schema: migrates a database to the version of this licd, one process at a time.
//!
//! On SQLite, all steps are one transaction. On PostgreSQL each step is a transaction, because
//! serving nodes lock tables in another order. The steps before a failed one stay, and the next
//! start continues from there.
//!
//! The tables are in `migrations/`; the rules for migrations while older nodes run are in
//! `docs/operate/upgrades.md`.

use std::cmp::Ordering;
use std::sync::LazyLock;
use std::time::Duration;

use sqlx::migrate::{AppliedMigration, Migrate, MigrateError, Migration, Migrator};
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

/// Migrations for PostgreSQL, which has another name for the collation by bytes, and no row ids.
static POSTGRES_MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrations = migrations();
    for migration in migrations.migrations.to_mut() {
        let sql = migration.sql.as_str().replace("collate binary", "collate \"C\"");
        let sql = sql.replace(") without rowid", ")");
        migration.sql = AssertSqlSafe(sql).into_sql_str();
    }
    migrations
});

/// The version that creates the tables of a new database.
const FIRST: i64 = 1;

/// Makes nodes that start at the same time take turns. The lock belongs to the transaction, not to
/// the session, so that it also works through a pooler and ends with the node. An arbitrary
/// constant.
const LOCK: &str = "select pg_advisory_xact_lock(7017269530431091044)";
const TRY_LOCK: &str = "select pg_try_advisory_xact_lock(7017269530431091044)";
/// A migration may take longer than any request.
pub(super) const NO_STATEMENT_TIMEOUT: &str = "set local statement_timeout = 0";
pub(super) const NO_IDLE_TIMEOUT: &str = "set local idle_in_transaction_session_timeout = 0";
/// Time for which a step waits for a table that another session is using. Requests for that table
/// wait behind it.
const LOCK_TIMEOUT: &str = "set local lock_timeout = '200ms'";
/// Delay before a step is tried again, so that other nodes catch up, and the maximum jitter, so
/// that nodes that migrate do not collide again.
const RETRY: Duration = Duration::from_secs(2);
const RETRY_JITTER: Duration = Duration::from_secs(1);
/// Interval between log lines about a step that is still being tried.
const RETRY_REPORT: Duration = Duration::from_secs(60);
/// Migrating prepares named statements. A pooler assigns the connection to other clients next,
/// which use the same names.
const DROP_PLANS: &str = "deallocate all";
/// Do not log that a table exists already.
pub(super) const NO_NOTICES: &str = "set local client_min_messages = warning";

/// The result of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The versions that have just been applied, with their descriptions.
    pub applied: Vec<(i64, String)>,
    /// The current version of the schema.
    pub version: i64,
}

impl Upgrade {
    /// Whether the database contained no tables of licd before.
    pub fn is_first(&self) -> bool {
        self.applied.first().is_some_and(|(version, _)| *version == FIRST)
    }
}

/// The first schema of the search path, and another one that has licd's tables while the first has
/// none. Found by a look at the catalog, because the role may not be allowed to read those tables.
const TABLES_ELSEWHERE: &str = "
    select coalesce(current_schema(), ''), min(elsewhere.nspname::text)
    from pg_class worlds
    join pg_namespace elsewhere on elsewhere.oid = worlds.relnamespace
    join pg_class counters on counters.relnamespace = elsewhere.oid
    where worlds.relname = 'worlds' and counters.relname = 'event_counters'
        and elsewhere.nspname is distinct from current_schema()
        and not exists (
            select 1 from pg_class own join pg_namespace first on first.oid = own.relnamespace
            where own.relname = '_sqlx_migrations' and first.nspname = current_schema())
    having count(*) > 0";

/// Fails if licd would create tables, or find none, because the search path changed: an empty
/// schema would replace the real one.
pub(super) async fn refuse_other_schema(conn: &mut PgConnection) -> Result<(), OpenError> {
    let Some(row) = conn.fetch_optional(TABLES_ELSEWHERE).await? else { return Ok(()) };
    Err(OpenError::OtherSchema { first: row.try_get(0)?, other: row.try_get(1)? })
}

/// Brings the schema up to date.
pub(super) async fn upgrade(db: &Db) -> Result<Upgrade, OpenError> {
    let mut upgrade = Upgrade { applied: Vec::new(), version: version() };
    match db {
        // Under the write lock, so that two processes that start at the same time do not both
        // migrate.
        Db::Sqlite(connections) => {
            let mut conn = connections.detached().await?;
            let mut tx = conn.begin_with("begin immediate").await?;
            while let Some(step) = apply_next(&upgrade, &MIGRATIONS, &mut *tx).await? {
                upgrade.applied.push(step);
            }
            tx.commit().await?;
            conn.close().await?;
        }
        Db::Postgres { connections, .. } => {
            while let Some(step) = step_of_postgres(&upgrade, connections).await? {
                upgrade.applied.push(step);
            }
        }
    }
    Ok(upgrade)
}

/// Applies the next step once the table that it changes is not in use.
async fn step_of_postgres(
    upgrade: &Upgrade,
    connections: &PgConnections,
) -> Result<Option<(i64, String)>, OpenError> {
    let mut reported: Option<Instant> = None;
    loop {
        match try_step(upgrade, connections).await {
            Err(error) if error.is_contention() => {}
            done => return done,
        }
        if reported.is_none_or(|at| at.elapsed() >= RETRY_REPORT) {
            reported = Some(Instant::now());
            tracing::warn!(
                "a table that the migration changes is in use, perhaps by a backup; the step is \
                 tried again until it is free"
            );
        }
        sleep(RETRY + RETRY_JITTER * fastrand::u32(..=100) / 100).await;
    }
}

/// On a connection of its own, so that its plans can be dropped and closing it releases all locks.
async fn try_step(
    upgrade: &Upgrade,
    connections: &PgConnections,
) -> Result<Option<(i64, String)>, OpenError> {
    let mut conn = connections.detached().await?;
    let mut tx = conn.begin().await?;
    for statement in [DROP_PLANS, NO_STATEMENT_TIMEOUT, NO_IDLE_TIMEOUT, NO_NOTICES] {
        tx.execute(statement).await?;
    }
    take_turn(&mut tx).await?;
    tx.execute(LOCK_TIMEOUT).await?;
    let step = apply_next(upgrade, &POSTGRES_MIGRATIONS, &mut *tx).await?;
    tx.execute(DROP_PLANS).await?;
    tx.commit().await?;
    Ok(step)
}

/// Applies the first migration that the database lacks, if there is one, within the transaction.
async fn apply_next<C: Migrate>(
    upgrade: &Upgrade,
    migrations: &Migrator,
    conn: &mut C,
) -> Result<Option<(i64, String)>, OpenError> {
    let table = &MIGRATIONS.table_name;
    conn.ensure_migrations_table(table).await?;
    let applied = conn.list_applied_migrations(table).await?;
    has_our_migrations(&applied)?;
    let database = newest(&applied).unwrap_or_default();
    if database > version() {
        return Err(OpenError::Newer { database, licd: version() });
    }
    let is_new = |known: &&Migration| !applied.iter().any(|it| it.version == known.version);
    let Some(next) = migrations.iter().find(is_new) else { return Ok(None) };
    // On a new database the steps are fast, and no node waits.
    let (version, what) = (next.version, &next.description);
    let is_worth_a_line = database > 0 && !upgrade.is_first();
    if is_worth_a_line {
        tracing::info!(from = database, to = version, "migrating the database: {what}");
    }
    let took = conn.apply(table, next).await?;
    if is_worth_a_line {
        tracing::info!(version, milliseconds = took.as_millis() as u64, "migrated the database");
    }
    Ok(Some((version, what.to_string())))
}

/// Waits, without a time limit, until no other node is migrating.
pub(super) async fn take_turn(conn: &mut PgConnection) -> Result<()> {
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

/// Checks the schema on a connection to SQLite.
pub(super) async fn check_on(conn: &mut SqliteConnection) -> Result<(), OpenError> {
    fits(conn.list_applied_migrations(&MIGRATIONS.table_name).await)
}

/// Checks the schema on a connection to PostgreSQL, perhaps through a pooler.
pub(super) async fn check_on_postgres(conn: &mut PgConnection) -> Result<(), OpenError> {
    refuse_other_schema(conn).await?;
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
    has_our_migrations(&applied)?;
    match database.cmp(&version()) {
        Ordering::Less => Err(OpenError::Older { database, licd: version() }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(OpenError::Newer { database, licd: version() }),
    }
}

/// Fails if an applied migration differs from ours, because its tables may differ as well. The
/// first migration was rewritten before the first release.
fn has_our_migrations(applied: &[AppliedMigration]) -> Result<(), OpenError> {
    let is_other = |applied: &&AppliedMigration| {
        let mut known = MIGRATIONS.iter().filter(|known| known.version == applied.version);
        known.any(|known| known.checksum != applied.checksum)
    };
    match applied.iter().find(is_other) {
        Some(AppliedMigration { version: FIRST, .. }) => Err(OpenError::BeforeFirstRelease),
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

fn newest(applied: &[AppliedMigration]) -> Option<i64> {
    applied.iter().map(|applied| applied.version).max()
}

/// The newest version that this licd knows.
fn version() -> i64 {
    MIGRATIONS.iter().map(|known| known.version).max().unwrap_or_default()
}

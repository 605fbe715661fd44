//! A PostgreSQL whose extension Citus distributes the tables by world over several servers.
//!
//! Tables that are read before a world is known, or belong to none, are on every server.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use super::hosts::Hosts;
use super::schema::{self, NO_IDLE_TIMEOUT, NO_NOTICES, NO_STATEMENT_TIMEOUT};
use super::{OpenError, Result};

pub const DEFAULT_SHARDS: u16 = 32;
/// The tables that are on every server.
pub(super) const EVERYWHERE: [&str; 8] =
    ["worlds", "keys", "sessions", "key_uses", "uptime", "notices", "nodes", "_sqlx_migrations"];
/// The table with which all others are placed.
pub(super) const FIRST: &str = "event_counters";
/// A table that is on every server is changed before the others, over one connection to each.
const ONE_BY_ONE: &str = "set local citus.multi_shard_modify_mode = 'sequential'";
const HAS_CATALOG: &str = "select to_regclass('pg_dist_partition') is not null";
const DISTRIBUTED: &str = "select logicalrelid::text from pg_dist_partition";
const WORKERS: &str = "select count(*) from pg_dist_node
    where isactive and noderole = 'primary' and shouldhaveshards";
/// Nodes that have not stopped note so each half minute.
const RUNNING: &str =
    "select node from nodes where seen_at > now() - interval '90 s' order by node";
const FOREIGN_KEYS: &str = "
    select conrelid::regclass::text, confrelid::regclass::text, quote_ident(conname),
        pg_get_constraintdef(oid)
    from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace";
const SIZES: &str = "
    select relname::text, pg_total_relation_size(oid) from pg_class
    where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace";

/// Error of a distribution.
#[derive(Debug, thiserror::Error)]
pub enum DistributeError {
    #[error(
        "the extension Citus is missing: install it on each server, add it to \
         shared_preload_libraries, and run \"create extension citus\" in this database on each"
    )]
    NoExtension,
    #[error(
        "no server is active that may have shards: add each with \"select citus_add_node('HOST', \
         5432)\""
    )]
    NoWorker,
    #[error("licd is running on {0}: stop all nodes first, and wait 90 s after a crash")]
    Running(String),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// A table, its size in bytes, and whether it gets a copy on each server.
pub struct Placed {
    pub table: &'static str,
    pub bytes: i64,
    pub is_everywhere: bool,
}

/// The tables that are distributed by world.
pub fn tables_of_worlds() -> impl Iterator<Item = &'static str> {
    schema::tables().filter(|table| !EVERYWHERE.contains(table))
}

/// Whether the table of users is distributed.
pub(super) async fn is_sharded(conn: &mut PgConnection) -> Result<bool> {
    let distributed = distributed(conn).await?;
    Ok(distributed.is_some_and(|tables| tables.iter().any(|table| table == "users")))
}

/// The tables that have a place already. `None` without the extension.
async fn distributed(conn: &mut PgConnection) -> Result<Option<Vec<String>>> {
    if !conn.fetch_one(HAS_CATALOG).await?.try_get(0)? {
        return Ok(None);
    }
    let tables = conn.fetch_all(DISTRIBUTED).await?;
    tables.iter().map(|row| row.try_get(0)).collect::<Result<_>>().map(Some)
}

/// Distributes the tables that are not yet, in one transaction, and calls `note` before each. Worlds
/// are divided into this many `shards`. All other transactions wait.
pub async fn distribute(
    hosts: &Hosts,
    shards: u16,
    note: impl FnMut(&Placed),
) -> Result<(), DistributeError> {
    let (_, mut conn) = hosts.connect_primary().await?;
    schema::check_on_postgres(&mut conn).await?;
    if distributed(&mut conn).await?.is_none() {
        return Err(DistributeError::NoExtension);
    }
    if conn.fetch_one(WORKERS).await?.try_get::<i64, _>(0)? == 0 {
        return Err(DistributeError::NoWorker);
    }
    let running = conn.fetch_all(RUNNING).await?;
    let running: Vec<String> = running.iter().map(|row| row.try_get(0)).collect::<Result<_>>()?;
    if !running.is_empty() {
        return Err(DistributeError::Running(running.join(", ")));
    }
    place_new(&mut conn, shards, note).await?;
    conn.close().await?;
    Ok(())
}

/// Places the tables that have no place yet, together with those that have.
pub(super) async fn place_new(
    conn: &mut PgConnection,
    shards: u16,
    mut note: impl FnMut(&Placed),
) -> Result<()> {
    let mut tx = conn.begin().await?;
    for statement in [NO_STATEMENT_TIMEOUT, NO_IDLE_TIMEOUT, NO_NOTICES] {
        tx.execute(statement).await?;
    }
    schema::take_turn(&mut tx).await?;
    let placed = distributed(&mut tx).await?.unwrap_or_default();
    let new: Vec<Placed> = sizes(&mut tx, &placed).await?;
    if new.is_empty() {
        return tx.rollback().await;
    }
    tx.execute(ONE_BY_ONE).await?;
    // A foreign key may not refer from or to a table that has no place yet.
    let keys: Vec<(String, String, String, String)> =
        sqlx::query_as(FOREIGN_KEYS).fetch_all(&mut *tx).await?;
    let is_new = |table: &str| new.iter().any(|it| it.table == table);
    let keys: Vec<_> = keys.iter().filter(|(from, to, ..)| is_new(from) || is_new(to)).collect();
    for (table, _, key, _) in &keys {
        run(&mut tx, format!("alter table {table} drop constraint {key}")).await?;
    }
    for it in &new {
        note(it);
        let table = it.table;
        let place = match it.is_everywhere {
            true => format!("select create_reference_table('{table}')"),
            false if table == FIRST => format!(
                "select create_distributed_table('{table}', 'world', shard_count => {shards})"
            ),
            false => format!(
                "select create_distributed_table('{table}', 'world', colocate_with => '{FIRST}')"
            ),
        };
        run(&mut tx, place).await?;
    }
    for (table, _, key, definition) in &keys {
        run(&mut tx, format!("alter table {table} add constraint {key} {definition}")).await?;
    }
    tx.commit().await
}

/// The tables without a place: first those that are everywhere, then the one with which all others
/// are placed.
async fn sizes(conn: &mut PgConnection, placed: &[String]) -> Result<Vec<Placed>> {
    let sizes: Vec<(String, i64)> = sqlx::query_as(SIZES).fetch_all(conn).await?;
    let new = schema::tables().chain(["_sqlx_migrations"]);
    let new = new.filter(|table| placed.iter().all(|other| other != table)).map(|table| {
        let size = sizes.iter().find(|(name, _)| name == table);
        let bytes = size.map_or(0, |(_, bytes)| *bytes);
        Placed { table, bytes, is_everywhere: EVERYWHERE.contains(&table) }
    });
    let mut new: Vec<Placed> = new.collect();
    new.sort_by_key(|it| (!it.is_everywhere, it.table != FIRST));
    Ok(new)
}

async fn run(conn: &mut PgConnection, sql: String) -> Result<()> {
    conn.execute(AssertSqlSafe(sql)).await.map(drop)
}

//! Worlds: each tenant's live and test mode. They are created on the server's host, so nothing here
//! takes a scope.

use common::{Mode, Name, Tenant, TenantId, Timestamp};

use super::{Scope, World};
use crate::db::{Conn, Result, Sql};

/// The columns of a [`Scope`].
macro_rules! select_scope {
    ($condition:literal) => {
        concat!("select id as world, tenant_id, mode from worlds where ", $condition)
    };
}

/// Keeps other transactions from creating a tenant until this one ends.
pub async fn lock(conn: &mut Conn) -> Result<()> {
    // SQLite allows only one writing transaction anyway.
    const LOCK: Sql =
        Sql::Each { sqlite: "select 1", postgres: "lock table worlds in share row exclusive mode" };
    conn.query(LOCK).run().await
}

/// Keeps other transactions that call this from changing the tenant's keys, of both modes, until
/// this one ends. Rows that refer to the worlds can still be inserted.
pub async fn lock_keys(conn: &mut Conn, scope: Scope) -> Result<()> {
    const LOCK: Sql = Sql::Each {
        sqlite: "select id from worlds where tenant_id = $1",
        postgres: "select id from worlds where tenant_id = $1 order by id for no key update",
    };
    conn.query(LOCK).bind(scope.tenant).run().await
}

/// Creates both worlds of a tenant, and returns the live one. The table is locked.
pub async fn create(conn: &mut Conn, tenant: &Tenant, now: Timestamp) -> Result<Scope> {
    conn.query(
        "insert into worlds (id, tenant_id, tenant_name, mode, created_at)
         select coalesce((select max(id) from worlds), 0) + mode.number, $1, $2, mode.name, $3
         from (select 1 as number, 'live' as name union all select 2, 'test') mode",
    )
    .bind(tenant.id)
    .bind(&tenant.name)
    .bind(now)
    .execute()
    .await?;
    conn.query(
        "insert into event_counters (world, last) select id, 0 from worlds where tenant_id = $1",
    )
    .bind(tenant.id)
    .execute()
    .await?;
    find(conn, tenant.id, Mode::Live).await?.ok_or(sqlx::Error::RowNotFound)
}

/// All tenants, oldest first.
pub async fn tenants(conn: &mut Conn) -> Result<Vec<Tenant>> {
    conn.query(
        "select tenant_id as id, tenant_name as name from worlds where mode = 'live'
         order by tenant_id",
    )
    .fetch_all()
    .await
}

pub async fn find(conn: &mut Conn, tenant: TenantId, mode: Mode) -> Result<Option<Scope>> {
    conn.query(select_scope!("tenant_id = $1 and mode = $2"))
        .bind(tenant)
        .bind(mode)
        .fetch_optional()
        .await
}

/// The world of that mode of the tenant with this name.
pub async fn find_by_name(conn: &mut Conn, tenant: &Name, mode: Mode) -> Result<Option<Scope>> {
    conn.query(select_scope!("tenant_name = $1 and mode = $2"))
        .bind(tenant)
        .bind(mode)
        .fetch_optional()
        .await
}

/// All worlds.
pub async fn all(conn: &mut Conn) -> Result<Vec<Scope>> {
    conn.query(select_scope!("id > 0 order by id")).fetch_all().await
}

/// Whether there are any tenants.
pub async fn exists(conn: &mut Conn) -> Result<bool> {
    let one: Option<(World,)> =
        conn.query("select id from worlds limit 1").fetch_optional().await?;
    Ok(one.is_some())
}

/// Reads the first world, to check that reading works.
pub async fn read_first(conn: &mut Conn) -> Result<()> {
    conn.query("select id from worlds order by id limit 1").run().await
}

/// Writes the first world unchanged, to check that writing works. On a sharded PostgreSQL, each
/// server has the worlds, and one that is away takes only its tenants with it, so this writes to the
/// log of the server that licd is connected to.
pub async fn rewrite_first(conn: &mut Conn) -> Result<()> {
    const UPDATE: &str =
        "update worlds set mode = mode where id = (select id from worlds order by id limit 1)";
    const WRITE: Sql = Sql::Three {
        sqlite: UPDATE,
        postgres: UPDATE,
        sharded: "select 1 from pg_logical_emit_message(true, 'licd', '')",
    };
    conn.query(WRITE).run().await
}

//! Tenants. They are made on the server's host, so nothing here knows a scope.

use common::{Mode, Name, Tenant, TenantId, Timestamp};

use super::{Scope, World};
use crate::db::{Conn, Result, Sql};

/// Lets nobody else make a tenant until the transaction ends.
pub async fn lock(conn: &mut Conn) -> Result<()> {
    // On SQLite whoever writes is alone anyway.
    const LOCK: Sql = Sql::Each {
        sqlite: "select 1",
        postgres: "lock table tenants in share row exclusive mode",
    };
    conn.query(LOCK).execute().await?;
    Ok(())
}

pub async fn create(conn: &mut Conn, tenant: &Tenant, now: Timestamp) -> Result<Scope> {
    conn.query("insert into tenants (id, name, created_at) values ($1, $2, $3)")
        .bind(tenant.id)
        .bind(&tenant.name)
        .bind(now)
        .execute()
        .await?;
    Ok(scope(tenant.id, Mode::Live))
}

fn scope(tenant: TenantId, mode: Mode) -> Scope {
    Scope { world: World::default(), tenant, mode }
}

pub async fn tenants(conn: &mut Conn) -> Result<Vec<Tenant>> {
    conn.query("select id, name from tenants order by id").fetch_all().await
}

pub async fn find(conn: &mut Conn, tenant: TenantId, mode: Mode) -> Result<Option<Scope>> {
    let found: Option<(TenantId,)> =
        conn.query("select id from tenants where id = $1").bind(tenant).fetch_optional().await?;
    Ok(found.map(|(id,)| scope(id, mode)))
}

pub async fn named(conn: &mut Conn, name: &Name, mode: Mode) -> Result<Option<Scope>> {
    let found: Option<(TenantId,)> =
        conn.query("select id from tenants where name = $1").bind(name).fetch_optional().await?;
    Ok(found.map(|(id,)| scope(id, mode)))
}

/// Whether there is any tenant at all.
pub async fn any(conn: &mut Conn) -> Result<bool> {
    let one: Option<(TenantId,)> =
        conn.query("select id from tenants order by id limit 1").fetch_optional().await?;
    Ok(one.is_some())
}

/// Writes the first tenant as it is: changes nothing, and shows whether anything can be written.
pub async fn rewrite_first(conn: &mut Conn) -> Result<()> {
    conn.query(
        "update tenants set name = name where id = (select id from tenants order by id limit 1)",
    )
    .execute()
    .await?;
    Ok(())
}

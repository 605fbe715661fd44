//! API keys. A key belongs to one mode of a tenant, but a live key sees those of both: functions
//! that list or change keys take the modes that the caller may see as `scope`'s own, or, for
//! [`Mode::Live`], all.

use std::collections::BTreeSet;

use common::{Key, KeyId, Mode, Name, Role, TenantId, Timestamp};
use sqlx::types::Json;

use super::{Page, Scope};
use crate::db::{Conn, Result, Sql, locking};

/// The SHA-256 of a key: all that is stored of it.
pub type Hash = [u8; 32];

macro_rules! select_holders {
    () => {
        "select k.id, k.name, k.prefix, k.role, k.mode, k.created_at, k.expires_at,
             k.last_used_at, k.revoked_at, k.hash, t.id as tenant_id, t.name as tenant_name
         from asked join keys k on k.hash = asked.hash join tenants t on t.id = k.tenant_id"
    };
}

/// A key as it is found by its hash, with the tenant it opens.
#[derive(Clone, sqlx::FromRow)]
pub struct Holder {
    pub hash: Vec<u8>,
    #[sqlx(flatten)]
    pub key: Key,
    pub tenant_id: TenantId,
    pub tenant_name: Name,
}

pub async fn insert(conn: &mut Conn, tenant: TenantId, key: &Key, hash: &Hash) -> Result<()> {
    conn.query(
        "insert into keys (id, tenant_id, mode, name, prefix, hash, role, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(key.id)
    .bind(tenant)
    .bind(key.mode)
    .bind(&key.name)
    .bind(&key.prefix)
    .bind(hash.as_slice())
    .bind(key.role)
    .bind(key.created_at)
    .bind(key.expires_at)
    .execute()
    .await?;
    Ok(())
}

/// Finds keys by their hashes. The one look-up that knows no scope yet: the key tells it.
pub async fn find_by_hashes(conn: &mut Conn, hashes: &BTreeSet<Hash>) -> Result<Vec<Holder>> {
    const FIND: Sql = Sql::Each {
        sqlite: concat!(
            "with asked as (select unhex(value) as hash from json_each($1)) ",
            select_holders!()
        ),
        postgres: concat!(
            "with asked as (select decode(value, 'hex') as hash
                 from jsonb_array_elements_text($1) as element (value)) ",
            select_holders!()
        ),
    };
    let hashes: Vec<String> = hashes.iter().map(hex).collect();
    conn.query(FIND).bind(Json(hashes)).fetch_all().await
}

fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub async fn find(conn: &mut Conn, scope: Scope, id: KeyId) -> Result<Option<Key>> {
    conn.query(
        "select id, name, prefix, role, mode, created_at, expires_at, last_used_at, revoked_at
         from keys where tenant_id = $1 and (mode = $2 or $2 = 'live') and id = $3",
    )
    .within(scope)
    .bind(id)
    .fetch_optional()
    .await
}

pub async fn page(conn: &mut Conn, scope: Scope, page: Page) -> Result<Vec<Key>> {
    conn.query(
        "select id, name, prefix, role, mode, created_at, expires_at, last_used_at, revoked_at
         from keys where tenant_id = $1 and (mode = $2 or $2 = 'live') and id > $3
         order by id limit $4",
    )
    .within(scope)
    .bind(page.after)
    .bind(page.limit)
    .fetch_all()
    .await
}

/// A key that is already revoked keeps its time.
pub async fn revoke(conn: &mut Conn, scope: Scope, id: KeyId, now: Timestamp) -> Result<()> {
    conn.query(
        "update keys set revoked_at = $4
         where tenant_id = $1 and (mode = $2 or $2 = 'live') and id = $3 and revoked_at is null",
    )
    .within(scope)
    .bind(id)
    .bind(now)
    .execute()
    .await?;
    Ok(())
}

/// The tenant's live admin keys that still work, locked until the transaction ends: whoever wants
/// to take one away must see that another remains.
pub async fn lock_live_admins(
    conn: &mut Conn,
    tenant: TenantId,
    now: Timestamp,
) -> Result<Vec<KeyId>> {
    let ids: Vec<(KeyId,)> = conn
        .query(locking!(
            "select id from keys
             where tenant_id = $1 and mode = $2 and role = $3 and revoked_at is null
                 and (expires_at is null or expires_at > $4)
             order by id"
        ))
        .bind(tenant)
        .bind(Mode::Live)
        .bind(Role::Admin)
        .bind(now)
        .fetch_all()
        .await?;
    Ok(ids.into_iter().map(|(id,)| id).collect())
}

/// Moves the time of last use, never backwards.
pub async fn touch(conn: &mut Conn, id: KeyId, at: Timestamp) -> Result<()> {
    conn.query(
        "update keys set last_used_at = $2
         where id = $1 and (last_used_at is null or last_used_at < $2)",
    )
    .bind(id)
    .bind(at)
    .execute()
    .await?;
    Ok(())
}

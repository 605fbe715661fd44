//! API keys. A key belongs to one mode of a tenant, but a live key sees those of both: functions
//! that list or change keys take the modes that the caller may see as `scope`'s own, or, for
//! [`Mode::Live`], all.

use common::{Key, KeyId, Mode, Name, Role, TenantId, Timestamp};
use sqlx::types::Json;

use super::{Page, Scope, World};
use crate::db::{Conn, Result, Sql, locking};

/// The SHA-256 of a key: all that is stored of it.
pub type Hash = [u8; 32];

/// What a key opens, and until when.
#[derive(Clone, Copy, sqlx::FromRow)]
pub struct KeyAuth {
    pub key_id: KeyId,
    pub tenant_id: TenantId,
    pub mode: Mode,
    pub role: Role,
    #[sqlx(rename = "key_expires_at")]
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// A key, with the tenant it opens.
#[derive(sqlx::FromRow)]
pub struct KeyWithTenant {
    #[sqlx(flatten)]
    pub key: Key,
    pub tenant_id: TenantId,
    pub tenant_name: Name,
}

impl KeyAuth {
    pub fn scope(&self) -> Scope {
        Scope { world: World::default(), tenant: self.tenant_id, mode: self.mode }
    }
}

impl KeyWithTenant {
    pub fn auth(&self) -> KeyAuth {
        KeyAuth {
            key_id: self.key.id,
            tenant_id: self.tenant_id,
            mode: self.key.mode,
            role: self.key.role,
            expires_at: self.key.expires_at,
            revoked_at: self.key.revoked_at,
        }
    }
}

pub async fn insert(conn: &mut Conn, scope: Scope, key: &Key, hash: &Hash) -> Result<()> {
    conn.query(
        "insert into keys (id, tenant_id, mode, name, prefix, hash, role, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(key.id)
    .bind(scope.tenant)
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

/// Finds a key by its hash. This look-up knows no scope yet: the key tells it.
pub async fn find_by_hash(conn: &mut Conn, hash: &Hash) -> Result<Option<KeyWithTenant>> {
    conn.query(
        "select k.id, k.name, k.prefix, k.role, k.mode, k.created_at, k.expires_at,
             k.last_used_at, k.revoked_at, t.id as tenant_id, t.name as tenant_name
         from keys k join tenants t on t.id = k.tenant_id
         where k.hash = $1",
    )
    .bind(hash.as_slice())
    .fetch_optional()
    .await
}

/// A hash as it is passed inside of JSON.
pub fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub async fn find(conn: &mut Conn, scope: Scope, id: KeyId) -> Result<Option<(Key, Scope)>> {
    let key: Option<Key> = conn
        .query(
            "select id, name, prefix, role, mode, created_at, expires_at, last_used_at, revoked_at
         from keys where tenant_id = $1 and (mode = $2 or $2 = 'live') and id = $3",
        )
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await?;
    Ok(key.map(|key| {
        let mode = key.mode;
        (key, Scope { mode, ..scope })
    }))
}

pub async fn page(conn: &mut Conn, scope: Scope, page: Page<KeyId>) -> Result<Vec<Key>> {
    conn.query(
        "select id, name, prefix, role, mode, created_at, expires_at, last_used_at, revoked_at
         from keys where tenant_id = $1 and (mode = $2 or $2 = 'live') and id > $3
         order by id limit $4",
    )
    .bind_scope(scope)
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
    .bind_scope(scope)
    .bind(id)
    .bind(now)
    .execute()
    .await?;
    Ok(())
}

/// The tenant's live admin keys that still work, locked until the transaction ends: whoever wants
/// to take one away must see that another remains.
pub async fn lock_live_admins(conn: &mut Conn, scope: Scope, now: Timestamp) -> Result<Vec<KeyId>> {
    let ids: Vec<(KeyId,)> = conn
        .query(locking!(
            "select id from keys
             where tenant_id = $1 and mode = $2 and role = $3 and revoked_at is null
                 and (expires_at is null or expires_at > $4)
             order by id"
        ))
        .bind(scope.tenant)
        .bind(Mode::Live)
        .bind(Role::Admin)
        .bind(now)
        .fetch_all()
        .await?;
    Ok(ids.into_iter().map(|(id,)| id).collect())
}

/// Moves the times of last use, never backwards, and answers for which of the keys it did so.
///
/// On PostgreSQL a key that somebody holds locked is left out: whoever revokes a key holds several,
/// and two who each hold some and want others would wait for each other.
pub async fn touch(conn: &mut Conn, uses: &[(KeyId, Timestamp)]) -> Result<Vec<KeyId>> {
    const TOUCH: Sql = Sql::Each {
        sqlite: "update keys set last_used_at = max(coalesce(last_used_at, ''), item.value ->> 1)
                 from json_each($1) item where keys.id = unhex(item.value ->> 0)
                 returning keys.id",
        postgres: "with item as (
                       select cast(value ->> 0 as uuid) as id,
                           cast(value ->> 1 as timestamptz) as used_at
                       from jsonb_array_elements($1)
                   ), free as (
                       select id from keys where id in (select id from item)
                       for no key update skip locked
                   )
                   update keys set last_used_at = greatest(keys.last_used_at, item.used_at)
                   from item join free on free.id = item.id where keys.id = item.id
                   returning keys.id",
    };
    let uses: Vec<_> = uses.iter().map(|(key, at)| (key.uuid().simple(), at)).collect();
    let touched: Vec<(KeyId,)> = conn.query(TOUCH).bind(Json(&uses)).fetch_all().await?;
    Ok(touched.into_iter().map(|(key,)| key).collect())
}

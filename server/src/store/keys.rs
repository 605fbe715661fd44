//! API keys. A key belongs to one mode of a tenant, but a live key sees the keys of both. Functions
//! that list or change keys take the caller's scope, and include both modes for [`Mode::Live`].

use std::collections::HashMap;

use common::{Key, KeyId, Mode, Name, Role, TenantId, Timestamp};
use sqlx::types::Json;

use super::key_uses::KeyUse;
use super::page::paged;
use super::table::{insert, update};
use super::{Page, Scope, World};
use crate::db::{Conn, Result, Sql};

/// The list of columns, plus what a reader adds.
macro_rules! select {
    ($more:literal, $rest:expr) => {
        concat!(
            "select k.id, k.name, k.prefix, k.role,
                 (select mode from worlds where worlds.id = k.world) as mode, k.created_at,
                 k.expires_at, k.last_used_at, k.revoked_at, k.created_by",
            $more,
            $rest
        )
    };
}

pub(super) use select as select_key;

/// The SHA-256 of a key, which is stored instead of the key.
pub type Hash = [u8; 32];

/// Access that a key gives, and its end.
#[derive(Clone, Copy, sqlx::FromRow)]
pub struct KeyAuth {
    pub key_id: KeyId,
    #[sqlx(flatten)]
    pub scope: Scope,
    pub role: Role,
    #[sqlx(rename = "key_expires_at")]
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// A key, with the tenant that it belongs to.
#[derive(sqlx::FromRow)]
pub struct KeyWithTenant {
    #[sqlx(flatten)]
    pub key: Key,
    pub world: World,
    pub tenant_id: TenantId,
    pub tenant_name: Name,
}

impl KeyWithTenant {
    fn with_scope(self) -> (Key, Scope) {
        let scope = self.auth().scope;
        (self.key, scope)
    }

    pub fn auth(&self) -> KeyAuth {
        KeyAuth {
            key_id: self.key.id,
            scope: Scope { world: self.world, tenant: self.tenant_id, mode: self.key.mode },
            role: self.key.role,
            expires_at: self.key.expires_at,
            revoked_at: self.key.revoked_at,
        }
    }
}

/// Stores a key, whose expiry is also its original expiry. The scope is that of the key.
pub async fn insert(conn: &mut Conn, scope: Scope, key: &Key, hash: &Hash) -> Result<()> {
    let query = insert!(
        conn,
        scope,
        keys {
            id: key.id,
            name: &key.name,
            prefix: &key.prefix,
            hash: hash.as_slice(),
            role: key.role,
            created_at: key.created_at,
            expires_at: key.expires_at,
            original_expires_at: key.expires_at,
            created_by: key.created_by,
        }
    );
    query.run().await
}

/// Whether a key of the scope's tenant, live or test, is revoked.
pub async fn is_revoked(conn: &mut Conn, scope: Scope, id: KeyId) -> Result<bool> {
    let valid = "select 1 from keys where id = $2 and revoked_at is null
         and world in (select w.id from worlds w where w.tenant_id = $1)";
    let found: Option<(i32,)> =
        conn.query(valid).bind(scope.tenant).bind(id).fetch_optional().await?;
    Ok(found.is_none())
}

/// The keys that a key created, those that they created, and so on, with their own scopes.
pub async fn made_by(conn: &mut Conn, scope: Scope, id: KeyId) -> Result<Vec<(Key, Scope)>> {
    let found: Vec<KeyWithTenant> = conn
        .query(concat!(
            "with recursive made (id) as (
                 select id from keys where created_by = $1
                 union
                 select keys.id from made join keys on keys.created_by = made.id
             ) ",
            select!(
                ", k.world, w.tenant_id, w.tenant_name",
                " from made join keys k on k.id = made.id join worlds w on w.id = k.world
                  where w.tenant_id = $2 and (w.mode = $3 or $3 = 'live') order by k.id"
            )
        ))
        .bind(id)
        .bind(scope.tenant)
        .bind(scope.mode)
        .fetch_all()
        .await?;
    Ok(found.into_iter().map(KeyWithTenant::with_scope).collect())
}

/// Finds a key by its hash. The result contains the scope, which is not known before.
pub async fn find_by_hash(conn: &mut Conn, hash: &Hash) -> Result<Option<KeyWithTenant>> {
    conn.query(select!(
        ", k.world, w.tenant_id, w.tenant_name",
        " from keys k join worlds w on w.id = k.world where k.hash = $1"
    ))
    .bind(hash.as_slice())
    .fetch_optional()
    .await
}

/// A hash in the form used in JSON.
pub fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A key that is visible in the scope, with its own scope.
pub async fn find(conn: &mut Conn, scope: Scope, id: KeyId) -> Result<Option<(Key, Scope)>> {
    let found: Option<KeyWithTenant> = conn
        .query(select!(
            ", k.world, w.tenant_id, w.tenant_name",
            " from keys k join worlds w on w.id = k.world
              where k.id = $1 and w.tenant_id = $2 and (w.mode = $3 or $3 = 'live')"
        ))
        .bind(id)
        .bind(scope.tenant)
        .bind(scope.mode)
        .fetch_optional()
        .await?;
    Ok(found.map(KeyWithTenant::with_scope))
}

/// A page of the keys of this one mode.
pub async fn page(conn: &mut Conn, scope: Scope, page: Page<KeyId>) -> Result<Vec<Key>> {
    macro_rules! select_in_world {
        ($rest:expr) => {
            select!("", concat!(" from keys k where ", $rest))
        };
    }
    conn.query(paged!(page, select_in_world!("k.world = $1 and k.world > 0"), "k.id"))
        .bind_page(scope, page)
        .fetch_all()
        .await
}

/// The expiry that a key was created with, which rolling does not change. The scope is that of the
/// key.
pub async fn original_expiry(
    conn: &mut Conn,
    scope: Scope,
    id: KeyId,
) -> Result<Option<Timestamp>> {
    let (expires_at,) = conn
        .query("select original_expires_at from keys where id = $2 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .fetch_one()
        .await?;
    Ok(expires_at)
}

/// The address from which a key was last used. The scope is that of the key.
pub async fn last_used_address(conn: &mut Conn, scope: Scope, id: KeyId) -> Result<Option<String>> {
    let (address,) = conn
        .query("select last_used_address from keys where id = $2 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .fetch_one()
        .await?;
    Ok(address)
}

/// The valid keys that expire at or before `soon`, or were last used before `long_ago`. If a key
/// was never used, its creation counts.
pub async fn expiring_or_unused(
    conn: &mut Conn,
    scope: Scope,
    now: Timestamp,
    soon: Timestamp,
    long_ago: Timestamp,
    limit: i64,
) -> Result<Vec<Key>> {
    conn.query(select!(
        "",
        " from worlds w join keys k on k.world = w.id
          where w.tenant_id = $1 and (w.mode = $2 or $2 = 'live') and k.world > 0
              and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)
              and (k.expires_at <= $4 or coalesce(k.last_used_at, k.created_at) < $5)
          order by k.id desc limit $6"
    ))
    .bind(scope.tenant)
    .bind(scope.mode)
    .bind(now)
    .bind(soon)
    .bind(long_ago)
    .bind(limit)
    .fetch_all()
    .await
}

/// Stores that the key is revoked. The scope is that of the key.
pub async fn revoke(conn: &mut Conn, scope: Scope, key: &Key) -> Result<()> {
    update!(conn, scope, keys key.id => { revoked_at: key.revoked_at }).run().await
}

/// Stores the new expiry of a rolled key. The scope is that of the key.
pub async fn retire(conn: &mut Conn, scope: Scope, key: &Key) -> Result<()> {
    let (expires_at, revoked_at) = (key.expires_at, key.revoked_at);
    update!(conn, scope, keys key.id => { expires_at: expires_at, revoked_at: revoked_at })
        .run()
        .await
}

/// The tenant's valid live admin keys and their expiries.
pub async fn live_admins(
    conn: &mut Conn,
    scope: Scope,
    now: Timestamp,
) -> Result<Vec<(KeyId, Option<Timestamp>)>> {
    conn.query(
        "select id, expires_at from keys
         where world = (select id from worlds where tenant_id = $1 and mode = $2) and world > 0
             and role = $3 and revoked_at is null and (expires_at is null or expires_at > $4)",
    )
    .bind(scope.tenant)
    .bind(Mode::Live)
    .bind(Role::Admin)
    .bind(now)
    .fetch_all()
    .await
}

/// The names of keys.
pub async fn names(
    conn: &mut Conn,
    keys: impl IntoIterator<Item = KeyId>,
) -> Result<HashMap<KeyId, String>> {
    let keys: Vec<_> = keys.into_iter().map(|key| key.uuid().simple()).collect();
    let sql = "select k.id, k.name from jsonb_array_elements_text($1) asked (value)
        join keys k on k.id = cast(asked.value as uuid)";
    let names: Vec<(KeyId, String)> = conn.query(sql).bind(Json(keys)).fetch_all().await?;
    Ok(names.into_iter().collect())
}

/// The scopes of those keys that are stored, by the position of the key.
pub async fn scopes(conn: &mut Conn, keys: &[Hash]) -> Result<Vec<KeyScope>> {
    let keys: Vec<String> = keys.iter().map(hex).collect();
    let sql = "select asked.n, k.world, w.tenant_id, w.mode
        from jsonb_array_elements_text($1) with ordinality as asked (value, n)
        join keys k on k.hash = decode(asked.value, 'hex')
        join worlds w on w.id = k.world";
    conn.query(sql).bind(Json(keys)).fetch_all().await
}

#[derive(sqlx::FromRow)]
pub struct KeyScope {
    /// Counted from 1.
    pub n: i64,
    #[sqlx(flatten)]
    pub scope: Scope,
}

/// Updates times and addresses of last use; a time never moves backwards. Returns the keys that
/// were found, whose rows stay locked until the end of the transaction.
///
/// PostgreSQL skips locked keys: a revocation locks several, and two transactions that each hold
/// some and wait for the others would deadlock.
pub async fn touch(conn: &mut Conn, uses: &[(KeyId, KeyUse)]) -> Result<Vec<KeyId>> {
    const TOUCH: Sql = Sql::Three {
        sqlite: "update keys set last_used_at = max(coalesce(last_used_at, 0), item.value ->> 1),
                     last_used_address = iif(coalesce(last_used_at, 0) > item.value ->> 1,
                         last_used_address, item.value ->> 2)
                 from json_each($1) item where keys.id = unhex(item.value ->> 0)
                 returning keys.id",
        postgres: "with item as (
                       select cast(value ->> 0 as uuid) as id,
                           timestamptz 'epoch' + cast(value ->> 1 as bigint) * interval '1 ms'
                               as used_at,
                           value ->> 2 as address
                       from jsonb_array_elements($1)
                   ), free as (
                       select k.id, item.used_at, item.address
                       from item join keys k on k.id = item.id
                       for no key update of k skip locked
                   )
                   update keys set last_used_at = greatest(keys.last_used_at, free.used_at),
                       last_used_address = case when keys.last_used_at > free.used_at
                           then keys.last_used_address else free.address end
                   from free where keys.id = free.id
                   returning keys.id",
        // The copies of a row on several servers cannot be skipped alike.
        sharded: "update keys set last_used_at = greatest(keys.last_used_at, item.used_at),
                      last_used_address = case when keys.last_used_at > item.used_at
                          then keys.last_used_address else item.address end
                  from (select cast(value ->> 0 as uuid) as id,
                            to_timestamp(cast(value ->> 1 as double precision) / 1000) as used_at,
                            value ->> 2 as address
                        from jsonb_array_elements($1)) item
                  where keys.id = item.id
                  returning keys.id",
    };
    let row = |(key, uses): &(KeyId, KeyUse)| {
        (key.uuid().simple(), uses.last_at.millis(), uses.last_address)
    };
    let uses: Vec<_> = uses.iter().map(row).collect();
    let touched: Vec<(KeyId,)> = conn.query(TOUCH).bind(Json(&uses)).fetch_all().await?;
    Ok(touched.into_iter().map(|(key,)| key).collect())
}

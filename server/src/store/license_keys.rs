//! License keys. They change under the lock of their license and have none of their own.

use common::{ExternalId, LicenseId, LicenseKey, LicenseKeyId, Timestamp};

use super::keys::Hash;
use super::page::paged;
use super::table::{insert, update};
use super::{Page, Scope};
use crate::db::{Conn, Result};

macro_rules! select {
    ($rest:expr) => {
        concat!(
            "select k.id, k.license_id, nullif(k.suffix, '') as suffix, k.max_uses, k.created_at, k.expires_at,
                 k.revoked_at, l.status as license_status,
                 coalesce(k.max_uses, case when l.seat_idle_minutes is null then l.max_seats end)
                     as uses_limit,
                 (select count(*) from assignments a
                  where a.claimed_with = k.id and a.world = $1) as uses
             from license_keys k join licenses l on l.id = k.license_id and l.world = k.world
             where ",
            $rest
        )
    };
}

/// A license key that a text was found to be, and what a user is to it.
#[derive(sqlx::FromRow)]
pub struct KnownKey {
    /// The record, also if the text was replaced by another one since.
    pub id: LicenseKeyId,
    pub license_id: LicenseId,
    pub is_replaced: bool,
    pub is_user_known: bool,
    /// Whether the user has the license.
    pub is_assigned: bool,
}

pub async fn insert(conn: &mut Conn, scope: Scope, key: &LicenseKey, hash: &Hash) -> Result<()> {
    let query = insert!(
        conn,
        scope,
        license_keys {
            id: key.id,
            license_id: key.license_id,
            hash: hash.as_slice(),
            suffix: key.suffix.as_deref().unwrap_or_default(),
            max_uses: key.max_uses,
            created_at: key.created_at,
            expires_at: key.expires_at,
        }
    );
    query.run().await
}

pub async fn find_by_hash(
    conn: &mut Conn,
    scope: Scope,
    hash: &Hash,
    user: Option<&ExternalId>,
) -> Result<Option<KnownKey>> {
    conn.query(
        "select coalesce(k.reissued_as, k.id) as id, k.license_id,
             k.reissued_as is not null as is_replaced, u.id is not null as is_user_known,
             s.id is not null as is_assigned
         from license_keys k
         left join users u on u.external_id = $3 and u.world = $1
         left join assignments s on s.user_id = u.id and s.license_id = k.license_id
             and s.world = $1
         where k.hash = $2 and k.world = $1",
    )
    .bind_scope(scope)
    .bind(hash.as_slice())
    // No user has the empty one. Without a value, a sharded database would not find the one server.
    .bind(user.map_or("", ExternalId::as_str))
    .fetch_optional()
    .await
}

/// Only the lock of the license, which the caller holds, keeps it and its uses from changing.
pub async fn find(conn: &mut Conn, scope: Scope, id: LicenseKeyId) -> Result<Option<LicenseKey>> {
    conn.query(select!("k.id = $2 and k.world = $1 and k.reissued_as is null"))
        .bind_scope(scope)
        .bind(id)
        .fetch_optional()
        .await
}

pub async fn page_of_license(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
    page: Page<LicenseKeyId>,
) -> Result<Vec<LicenseKey>> {
    let sql = paged!(
        page,
        select!("k.license_id = $4 and k.world = $1 and k.world > 0 and k.reissued_as is null"),
        "k.id"
    );
    conn.query(sql).bind_page(scope, page).bind(license).fetch_all().await
}

/// The keys of a license, which the caller has locked, that a user could still claim it with.
pub async fn claimable(
    conn: &mut Conn,
    scope: Scope,
    license: LicenseId,
    now: Timestamp,
) -> Result<Vec<LicenseKey>> {
    conn.query(select!(
        "k.license_id = $2 and k.world = $1 and k.world > 0 and k.reissued_as is null
             and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)
         order by k.id"
    ))
    .bind_scope(scope)
    .bind(license)
    .bind(now)
    .fetch_all()
    .await
}

/// Counts the keys of the license, including replaced ones.
pub async fn count_of_license(conn: &mut Conn, scope: Scope, license: LicenseId) -> Result<i64> {
    let (count,): (i64,) = conn
        .query(
            "select count(*) from license_keys
             where license_id = $2 and world = $1 and world > 0",
        )
        .bind_scope(scope)
        .bind(license)
        .fetch_one()
        .await?;
    Ok(count)
}

/// Returns a page of the keys that end like this, as far as their ends are stored: three to six
/// characters, of which the last four are indexed.
pub async fn page_by_ending(
    conn: &mut Conn,
    scope: Scope,
    ending: &str,
    page: Page<LicenseKeyId>,
) -> Result<Vec<LicenseKey>> {
    let last = |count: usize| {
        let skipped = ending.chars().count().saturating_sub(count);
        ending.chars().skip(skipped).collect::<String>()
    };
    let sql = paged!(
        page,
        select!(
            "substr(k.suffix, length(k.suffix) - 3) in ($5, $6)
                 and case when length(k.suffix) > length(cast($4 as text))
                     then substr(k.suffix, length(k.suffix) - length(cast($4 as text)) + 1) = $4
                     else substr(cast($4 as text), length(cast($4 as text)) - length(k.suffix) + 1)
                         = k.suffix end
                 and k.world = $1 and k.world > 0 and k.reissued_as is null"
        ),
        "k.id"
    );
    conn.query(sql)
        .bind_page(scope, page)
        .bind(ending)
        .bind(last(4))
        .bind(last(3))
        .fetch_all()
        .await
}

/// Gives the key another text. The former one stays known as that of `former`.
pub async fn reissue(
    conn: &mut Conn,
    scope: Scope,
    key: &LicenseKey,
    hash: &Hash,
    former: LicenseKeyId,
) -> Result<()> {
    // In this order, as a hash may be there only once.
    let (former_hash, former_suffix): (Vec<u8>, String) = conn
        .query("select hash, suffix from license_keys where id = $2 and world = $1")
        .bind_scope(scope)
        .bind(key.id)
        .fetch_one()
        .await?;
    let suffix = key.suffix.as_deref().unwrap_or_default();
    update!(conn, scope, license_keys key.id => { hash: hash.as_slice(), suffix: suffix })
        .run()
        .await?;
    let query = insert!(
        conn,
        scope,
        license_keys {
            id: former,
            license_id: key.license_id,
            suffix: former_suffix,
            hash: former_hash,
            created_at: key.created_at,
            reissued_as: key.id,
        }
    );
    query.run().await
}

pub async fn revoke(conn: &mut Conn, scope: Scope, key: &LicenseKey) -> Result<()> {
    update!(conn, scope, license_keys key.id => { revoked_at: key.revoked_at }).run().await
}

/// Deletes the keys of a license that was never assigned.
pub async fn delete_of_license(conn: &mut Conn, scope: Scope, license: LicenseId) -> Result<()> {
    conn.query("delete from license_keys where license_id = $2 and world = $1")
        .bind_scope(scope)
        .bind(license)
        .run()
        .await
}

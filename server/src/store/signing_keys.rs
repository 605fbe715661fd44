//! The keys that sign leases.

use common::{PublicKey, SigningKeyId, SigningKeyState, Timestamp};

use super::Scope;
use super::table::{insert, update};
use crate::db::{Conn, Result, locking};

/// A row.
#[derive(Clone, sqlx::FromRow)]
pub struct StoredSigningKey {
    pub id: SigningKeyId,
    pub state: SigningKeyState,
    #[sqlx(try_from = "Vec<u8>")]
    pub public_key: PublicKey,
    /// Sealed; none once the key is retired.
    pub private_key: Option<Vec<u8>>,
    pub created_at: Timestamp,
    pub retired_at: Option<Timestamp>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, state, public_key, private_key, created_at, retired_at from signing_keys
             where world = $1 and world > 0 ",
            $rest
        )
    };
}

/// Whether the key was added. Otherwise the world has one in this state.
pub async fn insert(conn: &mut Conn, scope: Scope, key: &StoredSigningKey) -> Result<bool> {
    let query = insert!(conn, scope, signing_keys {
        id: key.id, state: key.state, public_key: key.public_key.octets().to_vec(),
        private_key: &key.private_key, created_at: key.created_at,
    } "on conflict do nothing");
    Ok(query.execute().await? > 0)
}

/// Those that leases may still be signed with: of retired ones, those that were retired after a
/// time. Oldest first.
pub async fn all(
    conn: &mut Conn,
    scope: Scope,
    retired_after: Timestamp,
) -> Result<Vec<StoredSigningKey>> {
    conn.query(select!("and (retired_at is null or retired_at > $2) order by id"))
        .bind_scope(scope)
        .bind(retired_after)
        .fetch_all()
        .await
}

/// The one that signs.
pub async fn active(conn: &mut Conn, scope: Scope) -> Result<Option<StoredSigningKey>> {
    conn.query(select!("and state = 'active'")).bind_scope(scope).fetch_optional().await
}

/// The active one and the one on standby, in the order of the words; none in a world without keys.
pub async fn lock_current(
    conn: &mut Conn,
    scope: Scope,
) -> Result<Option<(StoredSigningKey, StoredSigningKey)>> {
    let sql = locking!(select!("and state <> 'retired' order by state"));
    let mut found = conn.query(sql).bind_scope(scope).fetch_all().await?.into_iter();
    Ok(found.next().zip(found.next()))
}

pub async fn lock(
    conn: &mut Conn,
    scope: Scope,
    id: SigningKeyId,
) -> Result<Option<StoredSigningKey>> {
    let sql = locking!(select!("and id = $2"));
    conn.query(sql).bind_scope(scope).bind(id).fetch_optional().await
}

/// Writes the state, the private key and when the key was retired.
pub async fn update(conn: &mut Conn, scope: Scope, key: &StoredSigningKey) -> Result<()> {
    let query = update!(conn, scope, signing_keys key.id => {
        state: key.state, private_key: &key.private_key, retired_at: key.retired_at,
    });
    query.run().await
}

pub async fn delete(conn: &mut Conn, scope: Scope, id: SigningKeyId) -> Result<()> {
    let sql = "delete from signing_keys where id = $2 and world = $1";
    conn.query(sql).bind_scope(scope).bind(id).run().await
}

//! Tenants and their way in: what is done on the server's host, not over HTTP.

use common::{ApiKey, Mode, Name, Role, Tenant, TenantId, Timestamp};

use crate::db::{Conn, Db};
use crate::http::credentials;
use crate::store::{ids, keys, worlds};

/// Why something about tenants cannot be done. The words are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    #[error("there is a tenant named {0} already")]
    NameTaken(Name),
    #[error("there is no tenant {0}; `licd tenants list` shows those there are")]
    Unknown(String),
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
}

/// Makes a tenant with its first live admin key, and answers both.
pub async fn create(db: &Db, name: Name) -> Result<(Tenant, ApiKey), TenantError> {
    let key = ApiKey::generate(Mode::Live);
    let mut tx = db.begin().await?;
    worlds::lock(&mut tx).await?;
    if worlds::named(&mut tx, &name, Mode::Live).await?.is_some() {
        return Err(TenantError::NameTaken(name));
    }
    ids::go_on(&mut tx).await?;
    let tenant = insert(&mut tx, name, &key).await?;
    tx.commit().await?;
    Ok((tenant, key))
}

/// Makes the tenant `default` with this live admin key, when there is no tenant yet; answers
/// whether it did. Nothing is kept unless `announce`, which runs last, answers true: a key that
/// nobody has seen would lock everyone out.
pub async fn bootstrap(
    db: &Db,
    key: &ApiKey,
    announce: impl FnOnce() -> bool,
) -> Result<bool, TenantError> {
    let mut tx = db.begin().await?;
    // Nodes that start at once on an empty database take turns: one makes the tenant.
    worlds::lock(&mut tx).await?;
    if worlds::any(&mut tx).await? {
        return Ok(false);
    }
    insert(&mut tx, Name::from_static("default"), key).await?;
    if !announce() {
        return Ok(false);
    }
    tx.commit().await?;
    Ok(true)
}

async fn insert(conn: &mut Conn, name: Name, key: &ApiKey) -> Result<Tenant, sqlx::Error> {
    let now = Timestamp::now();
    let tenant = Tenant { id: TenantId::new(now), name };
    let scope = worlds::create(conn, &tenant, now).await?;
    let record =
        credentials::new_key_record(key, Name::from_static("first key"), Role::Admin, None, now);
    keys::insert(conn, scope, &record, &credentials::hash(key)).await?;
    Ok(tenant)
}

/// All tenants, oldest first.
pub async fn list(db: &Db) -> Result<Vec<Tenant>, TenantError> {
    Ok(worlds::tenants(&mut db.read().await?).await?)
}

/// What a key made on the host is to be.
pub struct NewKey {
    pub name: Name,
    pub role: Role,
    pub mode: Mode,
}

/// Makes a key for the tenant of that name or id: the way back in for who has lost every key.
pub async fn create_key(db: &Db, tenant: &str, new: NewKey) -> Result<ApiKey, TenantError> {
    let key = ApiKey::generate(new.mode);
    let mut tx = db.begin().await?;
    let found = match (tenant.parse::<TenantId>(), tenant.parse::<Name>()) {
        (Ok(id), _) => worlds::find(&mut tx, id, new.mode).await?,
        (_, Ok(name)) => worlds::named(&mut tx, &name, new.mode).await?,
        _ => None,
    };
    let found = found.ok_or_else(|| TenantError::Unknown(tenant.to_owned()))?;
    ids::go_on(&mut tx).await?;
    let record = credentials::new_key_record(&key, new.name, new.role, None, Timestamp::now());
    keys::insert(&mut tx, found, &record, &credentials::hash(&key)).await?;
    tx.commit().await?;
    Ok(key)
}

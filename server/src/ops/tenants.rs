//! Tenants and their first keys, which are created on the server's host and not over HTTP.

use common::{ApiKey, Mode, Name, Role, Tenant, TenantId, Timestamp};

use super::change::Change;
use super::keys::new_record;
use super::outcome::Created;
use crate::auth::gate;
use crate::db::{Db, Tx};
use crate::events::NewEvent;
use crate::store::{ids, keys, worlds};

/// Reason why an operation on tenants failed. The messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    #[error("a tenant named {0} already exists")]
    NameTaken(Name),
    #[error("there is no tenant {0}; `licd tenants list` shows the tenants")]
    Unknown(String),
    #[error("the key could not be shown, so nothing was created")]
    NotShown,
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
}

/// Creates a tenant with its first live admin key, and returns both. Rolls back unless `show`,
/// which runs last, returns true, because a key that no person has seen cannot be revoked.
pub async fn create(
    db: &Db,
    name: Name,
    show: impl FnOnce(&Tenant, &ApiKey) -> bool,
) -> Result<(Tenant, ApiKey), TenantError> {
    let key = ApiKey::generate(Mode::Live);
    let mut tx = db.begin().await?;
    worlds::lock(&mut tx).await?;
    if worlds::find_by_name(&mut tx, &name, Mode::Live).await?.is_some() {
        return Err(TenantError::NameTaken(name));
    }
    ids::advance_past_stored(&mut tx).await?;
    let new = insert(tx, "licd tenants create", name, &key).await?;
    if !show(&new.tenant, &key) {
        return Err(TenantError::NotShown);
    }
    Ok((new.commit().await?, key))
}

/// Creates the tenant `default` with this live admin key if there are no tenants yet. Returns
/// whether it did. Rolls back unless `announce`, which runs last, returns true, because a key that
/// no person has seen would lock out the operator.
pub async fn bootstrap(
    db: &Db,
    key: &ApiKey,
    announce: impl FnOnce() -> bool,
) -> Result<bool, TenantError> {
    let mut tx = db.begin().await?;
    // If several nodes start on an empty database, the lock lets only one create the tenant.
    worlds::lock(&mut tx).await?;
    if worlds::exists(&mut tx).await? {
        return Ok(false);
    }
    let new = insert(tx, "licd serve", Name::from_static("default"), key).await?;
    if !announce() {
        return Ok(false);
    }
    new.commit().await?;
    Ok(true)
}

/// A tenant that is not committed yet.
struct NewTenant {
    change: Change,
    tenant: Tenant,
    events: Vec<NewEvent>,
}

impl NewTenant {
    async fn commit(self) -> Result<Tenant, sqlx::Error> {
        let Created(tenant) = self.change.commit(Created(self.tenant), self.events).await?;
        Ok(tenant)
    }
}

async fn insert(
    mut tx: Tx,
    command: &'static str,
    name: Name,
    key: &ApiKey,
) -> Result<NewTenant, sqlx::Error> {
    let now = Timestamp::now();
    let tenant = Tenant { id: TenantId::new(now), name };
    let scope = worlds::create(&mut tx, &tenant, now).await?;
    let record = new_record(key, Name::from_static("first key"), Role::Admin, None, now);
    keys::insert(&mut tx, scope, &record, &gate::hash(key)).await?;
    let events = vec![NewEvent::tenant_created(&tenant), NewEvent::key_created(&record)];
    Ok(NewTenant { change: Change::on_host(tx, command, scope, now), tenant, events })
}

/// Returns all tenants, oldest first.
pub async fn list(db: &Db) -> Result<Vec<Tenant>, TenantError> {
    Ok(worlds::tenants(&mut db.read().await?).await?)
}

/// Properties of a key that is created on the host.
pub struct NewKey {
    pub name: Name,
    pub role: Role,
    pub mode: Mode,
}

/// Creates a key for the tenant with that name or id, for example if all keys are lost. Rolls back
/// unless `show`, which runs last, returns true.
pub async fn create_key(
    db: &Db,
    tenant: &str,
    new: NewKey,
    show: impl FnOnce(&ApiKey) -> bool,
) -> Result<ApiKey, TenantError> {
    let key = ApiKey::generate(new.mode);
    let mut tx = db.begin().await?;
    let scope = match (tenant.parse::<TenantId>(), tenant.parse::<Name>()) {
        (Ok(id), _) => worlds::find(&mut tx, id, new.mode).await?,
        (_, Ok(name)) => worlds::find_by_name(&mut tx, &name, new.mode).await?,
        _ => None,
    };
    let scope = scope.ok_or_else(|| TenantError::Unknown(tenant.to_owned()))?;
    ids::advance_past_stored(&mut tx).await?;
    let now = Timestamp::now();
    let mut change = Change::on_host(tx, "licd keys create", scope, now);
    let record = new_record(&key, new.name, new.role, None, now);
    keys::insert(&mut change, scope, &record, &gate::hash(&key)).await?;
    let event = NewEvent::key_created(&record);
    if !show(&key) {
        return Err(TenantError::NotShown);
    }
    change.commit(Created(record), event).await?;
    Ok(key)
}

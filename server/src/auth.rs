//! Who asks, and what they may do.
//!
//! A permission is a parameter: a handler that changes things takes [`Admin`], so that it cannot be
//! forgotten, and takes it first, so that 401, 429 and 403 are decided before a body is read. Every
//! request has its key looked up; nothing is remembered, so a revoked key is refused at once.

mod usage;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use common::{ApiKey, Key, KeyId, Name, Role, Tenant, Timestamp};
use sha2::{Digest, Sha256};

use crate::App;
use crate::error::Error;
use crate::exchange::Exchange;
use crate::store::{Scope, keys};

pub use usage::Usage;

/// Whoever holds a key that works.
pub struct Caller {
    pub key: Key,
    pub tenant: Tenant,
}

impl Caller {
    pub fn scope(&self) -> Scope {
        Scope { tenant: self.tenant.id, mode: self.key.mode }
    }
}

/// A caller who may change things.
pub struct Admin(pub Caller);

/// A caller who may see things.
pub struct Reader(pub Caller);

/// A caller who may ask whether a user is licensed.
pub struct Asker(pub Caller);

/// What is stored of a key, and what it is found by.
pub fn hash(key: &ApiKey) -> keys::Hash {
    Sha256::digest(key.expose()).into()
}

/// What is stored of a new key.
pub fn record(
    key: &ApiKey,
    name: Name,
    role: Role,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> Key {
    Key {
        id: KeyId::new(now),
        name,
        prefix: key.prefix().to_owned(),
        role,
        mode: key.mode(),
        created_at: now,
        expires_at,
        last_used_at: None,
        revoked_at: None,
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let key = bearer(parts).ok_or(Error::Unauthorized)?;
        let now = Timestamp::now();
        let holder = app
            .keys
            .ask(hash(&key))
            .await?
            .filter(|holder| works(&holder.key, now))
            .ok_or(Error::Unauthorized)?;
        let allowance = app.limiter.check(holder.key.id);
        if let Some(exchange) = parts.extensions.get::<Exchange>() {
            exchange.identify(holder.key.id, allowance);
        }
        allowance.grant()?;
        app.usage.note(holder.key.id, now);
        let tenant = Tenant { id: holder.tenant_id, name: holder.tenant_name };
        Ok(Self { key: holder.key, tenant })
    }
}

/// The key of `Authorization: Bearer …`, if it is one at all.
fn bearer(parts: &Parts) -> Option<ApiKey> {
    let (scheme, key) = parts.headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") { key.trim().parse().ok() } else { None }
}

fn works(key: &Key, now: Timestamp) -> bool {
    key.revoked_at.is_none() && key.expires_at.is_none_or(|end| now < end)
}

macro_rules! permissions {
    ($($name:ident: $($role:ident)|+;)*) => {$(
        impl FromRequestParts<App> for $name {
            type Rejection = Error;

            async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
                let caller = Caller::from_request_parts(parts, app).await?;
                match caller.key.role {
                    $(Role::$role)|+ => Ok(Self(caller)),
                    _ => Err(Error::Forbidden),
                }
            }
        }
    )*};
}

permissions! {
    Admin: Admin;
    Reader: Read | Admin;
    Asker: Validate | Admin;
}

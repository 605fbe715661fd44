//! Who asks, and what they may do.
//!
//! A permission is a parameter: a handler that changes things takes [`Admin`], so that it cannot be
//! forgotten, and takes it first, so that 401, 429 and 403 are decided before a body is read. Every
//! request has its key looked up; nothing is remembered, so a revoked key is refused at once.
//! Validations have theirs looked up many at a time, by `validation`, with the same [`KeyGate`].

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use common::{ApiKey, Key, KeyId, Name, Role, Tenant, Timestamp};
use sha2::{Digest, Sha256};

use crate::App;
use crate::config::Config;
use crate::error::Error;
use crate::http::context::RequestContext;
use crate::store::keys::{self, Hash, KeyAuth, KeyWithTenant};
use crate::store::{Scope, World};
use crate::validation::limit::Limiter;

pub use crate::background::Usage;

/// Lets requests in: counts how often each key asks, and notes when it did.
pub struct KeyGate {
    limiter: Limiter,
    /// Counts the users that validations make.
    pub new_users: Limiter,
    pub usage: Usage,
}

impl KeyGate {
    pub fn new(config: &Config) -> Self {
        Self {
            limiter: Limiter::of_requests(config.rate_limit),
            new_users: Limiter::of_new_users(config.new_users),
            usage: Usage::default(),
        }
    }

    /// Forgets what is known of keys that were not used lately.
    pub fn forget_idle(&self) {
        self.limiter.forget_idle();
        self.new_users.forget_idle();
    }

    /// Lets a request in if its key works and may ask this often. What is known of the key is told
    /// with the answer, also if the request is refused.
    pub fn admit(
        &self,
        pass: Option<KeyAuth>,
        exchange: &RequestContext,
        now: Timestamp,
    ) -> Result<KeyAuth, Error> {
        let pass = pass.filter(|pass| is_valid_at(pass, now)).ok_or(Error::Unauthorized)?;
        let allowance = self.limiter.check(pass.key_id);
        exchange.identify(pass.key_id, allowance);
        allowance.into_result()?;
        self.usage.note(pass.key_id, now);
        Ok(pass)
    }
}

/// Whoever holds a key that works.
pub struct Caller {
    pub key: Key,
    pub world: World,
    pub tenant: Tenant,
}

impl Caller {
    pub fn scope(&self) -> Scope {
        Scope { world: self.world, tenant: self.tenant.id, mode: self.key.mode }
    }
}

/// A caller who may change things.
pub struct Admin(pub Caller);

/// A caller who may see things.
pub struct Reader(pub Caller);

/// A caller who may ask whether a user is licensed.
pub struct Validator(pub Caller);

/// What is stored of a key, and what it is found by.
pub fn hash(key: &ApiKey) -> Hash {
    Sha256::digest(key.expose()).into()
}

/// What is stored of a new key.
pub fn new_key_record(
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
        let hash = bearer(parts)?;
        let holder = keys::find_by_hash(&mut app.db.read().await?, &hash).await?;
        let pass = holder.as_ref().map(KeyWithTenant::auth);
        app.gate.admit(pass, &RequestContext::of(&parts.extensions), Timestamp::now())?;
        let KeyWithTenant { key, world, tenant_id, tenant_name } =
            holder.ok_or(Error::Unauthorized)?;
        Ok(Self { key, world, tenant: Tenant { id: tenant_id, name: tenant_name } })
    }
}

/// The key of `Authorization: Bearer …`, as it is found by. Whether anyone holds it is another
/// question.
pub fn bearer(parts: &Parts) -> Result<Hash, Error> {
    let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
    // Which of two would count is not for this end to guess.
    let (Some(header), None) = (headers.next(), headers.next()) else {
        return Err(Error::Unauthorized);
    };
    let header = header.to_str().ok();
    let (scheme, key) = header.and_then(|text| text.split_once(' ')).ok_or(Error::Unauthorized)?;
    let key: Option<ApiKey> = key.trim().parse().ok();
    key.filter(|_| scheme.eq_ignore_ascii_case("bearer"))
        .map(|key| hash(&key))
        .ok_or(Error::Unauthorized)
}

fn is_valid_at(pass: &KeyAuth, now: Timestamp) -> bool {
    pass.revoked_at.is_none() && pass.expires_at.is_none_or(|end| now < end)
}

macro_rules! permissions {
    ($($name:ident: $($role:ident)|+;)*) => {$(
        impl FromRequestParts<App> for $name {
            type Rejection = Error;

            async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
                let caller = Caller::from_request_parts(parts, app).await?;
                Self::permit(caller.key.role).map(|()| Self(caller))
            }
        }

        impl $name {
            /// Whether a key with this role may ask what takes this permission.
            pub fn permit(role: Role) -> Result<(), Error> {
                if matches!(role, $(Role::$role)|+) { Ok(()) } else { Err(Error::Forbidden) }
            }
        }
    )*};
}

permissions! {
    Admin: Admin;
    Reader: Read | Admin;
    Validator: Validate | Admin;
}

//! The caller of a request and its permissions.
//!
//! A permission is a parameter: a handler that changes records takes an [`Admin`], or a
//! [`Writer`](super::writer::Writer), which is one, so the check cannot be forgotten. It comes
//! before the body, so that 401, 429 and 403 are decided before one is read.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use common::{ApiKey, ExternalId, Key, ProductId, Tenant};

use crate::auth::gate::{self, Permission};
use crate::error::Error;
use crate::events::{Actor, Origin};
use crate::http::App;
use crate::http::context::RequestContext;
use crate::ops::view::View;
use crate::store::Scope;
use crate::store::keys::{Hash, KeyWithTenant};
use crate::validation::ValidationRequest;

/// A caller with a valid key of any role.
#[derive(Clone)]
pub struct Caller {
    pub key: Key,
    pub tenant: Tenant,
    pub scope: Scope,
    /// The hash of the key.
    pub hash: Hash,
    pub context: RequestContext,
}

impl Caller {
    /// The validation of a user that this request asks for.
    pub fn validation(&self, user: ExternalId, product: Option<ProductId>) -> ValidationRequest {
        let RequestContext { id, caller } = self.context.clone();
        ValidationRequest { key: self.hash, caller, request_id: id, user, product }
    }

    /// The origin of the changes that this request makes.
    pub fn origin(self) -> Origin {
        let actor = Actor::Key { id: self.key.id, name: Some(self.key.name) };
        Origin { actor, scope: self.scope, request_id: Some(self.context.id) }
    }
}

/// A caller that may change records.
pub struct Admin(pub Caller);

/// View of a caller that may read records.
pub struct Reader(pub View);

/// A caller that may read records, and whose key matters beyond that.
pub struct ReadCaller(pub Caller);

/// A caller that may validate users.
pub struct Validator(pub Caller);

impl FromRequestParts<App> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let hash = bearer(parts)?;
        let context = RequestContext::of(&parts.extensions);
        let found = app.gate.authenticate(&app.db, &hash, &context.caller).await?;
        let scope = found.auth().scope;
        let KeyWithTenant { key, tenant_id, tenant_name, .. } = found;
        let tenant = Tenant { id: tenant_id, name: tenant_name };
        Ok(Self { key, tenant, scope, hash, context })
    }
}

/// The hash of the key in `Authorization: Bearer …`, which may be unknown.
pub fn bearer(parts: &Parts) -> Result<Hash, Error> {
    let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
    // If there are two headers, it is unclear which one counts.
    let (Some(header), None) = (headers.next(), headers.next()) else {
        return Err(Error::Unauthorized);
    };
    let header = header.to_str().ok();
    let (scheme, key) = header.and_then(|text| text.split_once(' ')).ok_or(Error::Unauthorized)?;
    let key: Option<ApiKey> = key.trim().parse().ok();
    key.filter(|_| scheme.eq_ignore_ascii_case("bearer"))
        .map(|key| gate::hash(&key))
        .ok_or(Error::Unauthorized)
}

macro_rules! permissions {
    ($($name:ident: $permission:ident, $of:expr;)*) => {$(
        impl FromRequestParts<App> for $name {
            type Rejection = Error;

            async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
                let caller = Caller::from_request_parts(parts, app).await?;
                Permission::$permission.check(caller.key.role)?;
                Ok(Self($of(app, caller)))
            }
        }
    )*};
}

permissions! {
    Admin: Administer, |_, caller| caller;
    Reader: Read, |app: &App, caller: Caller| app.ops.view(caller.scope);
    ReadCaller: Read, |_, caller| caller;
    Validator: Validate, |_, caller| caller;
}

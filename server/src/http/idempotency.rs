//! The header `Idempotency-Key`: a request that carries it has its effect once, however often it is
//! sent.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::request::Parts;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::http::App;
use crate::ops::idempotency::IdempotencyKey;

const HEADER: &str = "idempotency-key";
pub const MAX_LENGTH: usize = 255;

/// The header of a request that changes something, if it carries one.
pub struct Idempotency {
    name: Option<String>,
    /// Method and path.
    target: String,
}

impl FromRequestParts<App> for Idempotency {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let Ok(OriginalUri(uri)) = OriginalUri::from_request_parts(parts, app).await;
        let target = format!("{} {}", parts.method, uri.path());
        let mut values = parts.headers.get_all(HEADER).iter();
        let Some(value) = values.next() else { return Ok(Self { name: None, target }) };
        if values.next().is_some() {
            let rule = "Idempotency-Key must be given only once";
            return Err(Error::invalid("Idempotency-Key", rule));
        }
        let name = value.to_str().ok().filter(|name| is_well_formed(name)).ok_or_else(|| {
            let rule = "Idempotency-Key must be 1 to 255 printable ASCII characters without spaces";
            Error::invalid("Idempotency-Key", rule)
        })?;
        Ok(Self { name: Some(name.to_owned()), target })
    }
}

impl Idempotency {
    /// Of a form: `once` is what its page filled in, if it did.
    pub fn of_form(parts: &Parts, once: Option<String>) -> Result<Self, Error> {
        let target = format!("{} {}", parts.method, parts.uri.path());
        if once.as_ref().is_some_and(|name| !is_well_formed(name)) {
            return Err(Error::invalid("once", "once must be as the page filled it in"));
        }
        Ok(Self { name: once, target })
    }
}

fn is_well_formed(name: &str) -> bool {
    (1..=MAX_LENGTH).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

impl Idempotency {
    /// Makes the fingerprint depend on whether the request drops leases.
    pub fn dropping_leases(mut self, drops_leases: bool) -> Self {
        if drops_leases {
            self.target.push_str("?leases=drop");
        }
        self
    }

    /// The key of a request, whose fingerprint covers method, path and the members of `request` that
    /// have a value: a member that a later release knows changes none.
    pub fn of(self, request: &impl Serialize) -> Result<Option<IdempotencyKey>, Error> {
        let Self { name: Some(name), target } = self else { return Ok(None) };
        let internal = |_| Error::Internal;
        let members = match serde_json::to_value(request).map_err(internal)? {
            Value::Object(members) => members.into_iter().filter(|(_, it)| !it.is_null()).collect(),
            _ => BTreeMap::new(),
        };
        let text = serde_json::to_string(&members).map_err(internal)?;
        let hash = Sha256::new().chain_update(&target).chain_update([0]).chain_update(text);
        Ok(Some(IdempotencyKey { name, fingerprint: hash.finalize().into() }))
    }
}

#[cfg(test)]
mod tests {
    use common::{CreateLicense, CreateProduct, SetStatus, Status, UpdateUser};

    use super::*;

    /// The fingerprint may not change with a release: a client repeats its request across an upgrade.
    #[test]
    fn a_request_has_the_same_fingerprint_in_each_release() {
        fn fingerprint(target: &str, request: &impl Serialize) -> String {
            let once = Idempotency { name: Some("k".into()), target: target.into() };
            let key = once.of(request).unwrap().unwrap();
            key.fingerprint[..8].iter().map(|byte| format!("{byte:02x}")).collect()
        }
        let license: CreateLicense =
            serde_json::from_str(r#"{"planId":"pln_01h455vb4pex5vsknk084sn02q","name":"Acme"}"#)
                .unwrap();
        let product: CreateProduct = serde_json::from_str(r#"{"name":"Studio"}"#).unwrap();
        let user: UpdateUser = serde_json::from_str(r#"{"name":"Ada"}"#).unwrap();
        let status = SetStatus { status: Status::Active };
        for (found, known) in [
            (fingerprint("POST /api/v1/admin/licenses", &license), "24d26428571d7f4e"),
            (fingerprint("POST /api/v1/admin/products", &product), "68a7392fbb058e50"),
            (fingerprint("PATCH /api/v1/admin/users/u", &user), "f50d99e6c781a4cd"),
            (fingerprint("PATCH /api/v1/admin/licenses/l/status", &status), "1cbf79c3e934ad40"),
            (fingerprint("DELETE /api/v1/admin/users/u", &()), "849777a3f4ee50b2"),
        ] {
            assert_eq!(found, known);
        }
    }
}

//! The header `Idempotency-Key`: a request that carries it has its effect once, however often it is
//! sent.

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::request::Parts;
use serde::Serialize;
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
    /// The key of a request, whose fingerprint covers method, path and `request`.
    pub fn of(self, request: &impl Serialize) -> Result<Option<IdempotencyKey>, Error> {
        let Some(name) = self.name else { return Ok(None) };
        let request = serde_json::to_vec(request).map_err(|_| Error::Internal)?;
        let digest = Sha256::new().chain_update(&self.target).chain_update([0]);
        let fingerprint = digest.chain_update(request).finalize().into();
        Ok(Some(IdempotencyKey { name, fingerprint }))
    }
}

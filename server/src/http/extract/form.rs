//! Forms of pages, as browsers send them.

use axum::extract::{FromRequest, Request};
use common::{OnLease, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::body::{self, BODY, BodyLimit, MediaType};
use super::pairs;
use crate::error::Error;
use crate::http::idempotency::Idempotency;

/// The fields of a form.
pub struct Form<T> {
    pub fields: T,
    pub idempotency: Idempotency,
    pub seen: Option<Timestamp>,
    pub drops_leases: bool,
}

/// The hidden fields of a form.
#[derive(Deserialize)]
struct Hidden {
    /// Each rendering of the form has another text here, so that a form that is sent twice has its
    /// effect once.
    #[serde(default)]
    once: Option<String>,
    /// Time of the last change of the record when the form was shown.
    #[serde(default)]
    seen: Option<String>,
    /// Whether a question about the lease on a seat was confirmed.
    #[serde(default)]
    leases: Option<OnLease>,
}

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        Self::read(request, &BODY).await
    }
}

impl<T: DeserializeOwned> Form<T> {
    pub async fn read(request: Request, limit: &'static BodyLimit) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let received = body::receive(&parts, body, limit, MediaType::Form).await?;
        let fields = pairs::read(received.bytes())?;
        let Hidden { once, seen, leases } = pairs::read(received.bytes())?;
        let seen = seen.and_then(|time| time.parse().ok());
        let (idempotency, drops_leases) = (Idempotency::of_form(&parts, once)?, leases.is_some());
        Ok(Self { fields, idempotency, seen, drops_leases })
    }
}

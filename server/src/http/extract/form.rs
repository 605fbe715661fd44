//! Forms of pages, as browsers send them.

use axum::extract::{FromRequest, Request};
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
}

/// What each rendering of a form fills with another text, so that a form that is sent twice has its
/// effect once.
#[derive(Deserialize)]
struct Once {
    #[serde(default)]
    once: Option<String>,
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
        let Once { once } = pairs::read(received.bytes())?;
        Ok(Self { fields, idempotency: Idempotency::of_form(&parts, once)? })
    }
}

//! Forms of pages, as browsers send them.

use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use super::body::{self, MediaType};
use super::{BODY, describe};
use crate::error::Error;
use crate::http::idempotency::Idempotency;

/// The field that each rendering of a form fills with another text, so that a form that is sent twice
/// has its effect once.
const ONCE: &str = "once";

/// The fields of a form.
pub struct Form<T> {
    pub fields: T,
    pub idempotency: Idempotency,
}

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let received = body::receive(&parts, body, &BODY, MediaType::Form).await?;
        let pairs = || form_urlencoded::parse(received.bytes());
        let once = pairs().find(|(name, _)| name == ONCE).map(|(_, value)| value.into_owned());
        let fields = serde_urlencoded::Deserializer::new(pairs());
        let fields = serde_path_to_error::deserialize(fields).map_err(describe::query)?;
        Ok(Self { fields, idempotency: Idempotency::of_form(&parts, once)? })
    }
}

//! JSON as the body of an answer.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::error::Error;

/// A value as JSON.
pub fn text(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written as JSON");
        Error::Internal
    })
}

/// An answer whose body is JSON.
pub fn with_json(status: StatusCode, body: Body) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, content_type)], body).into_response()
}

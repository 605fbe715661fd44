//! JSON as the body of a response.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::error::Error;

/// From this length on, a text's spare capacity is released.
const LARGE: usize = 64 * 1024;

/// A value as JSON.
pub fn text(value: &impl Serialize) -> Result<String, Error> {
    let mut text = serde_json::to_string(value).map_err(|error| {
        tracing::error!(%error, "a response could not be encoded as JSON");
        Error::Internal
    })?;
    if text.len() > LARGE {
        // Up to half of the memory may be spare, and sending everything may take long.
        text.shrink_to_fit();
    }
    Ok(text)
}

/// A response whose body is JSON.
pub fn with_json(status: StatusCode, body: Body) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, content_type)], body).into_response()
}

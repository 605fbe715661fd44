//! Pages as responses, with their headers.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};

use crate::error::Error;

/// A page loads from this host only, runs no inline script, sends its forms to this host, and cannot
/// be framed.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page with this status.
pub fn page(status: StatusCode, template: &impl Template) -> Result<Response, Error> {
    let html = template.render().map_err(|error| {
        tracing::error!(%error, "a page could not be rendered");
        Error::Internal
    })?;
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "same-origin"),
    ];
    Ok((status, headers, html).into_response())
}

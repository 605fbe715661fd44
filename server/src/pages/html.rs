//! Pages as answers: their headers, and the way on to another page.

use askama::Template;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::error::Error;

/// A page loads from this host alone, runs nothing that stands in it, sends its forms to this host,
/// and is shown in no frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The page, with this status.
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

/// Sends the browser on to another page, with a GET.
pub fn see_other(path: &str) -> Result<Response, Error> {
    let location = HeaderValue::from_str(path).map_err(|_| Error::Internal)?;
    Ok((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response())
}

//! What every request and its answer share: an id, a line in the log, the envelope of a refusal and
//! the headers about the rate limit.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use common::{Failure, Fixed, KeyId};
use uuid::Uuid;

use crate::error::Error;
use crate::http::head;
use crate::limit::Allowance;

static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// How long an id may be that a caller brings along.
const MAX_REQUEST_ID: usize = 128;

/// What becomes known of a request while it is handled, for its log line and its answer's headers.
/// It travels in the request's extensions.
#[derive(Clone, Default)]
pub struct Exchange(Arc<Known>);

#[derive(Default)]
struct Known {
    key: OnceLock<KeyId>,
    allowance: OnceLock<Allowance>,
}

impl Exchange {
    /// That of a request, from its extensions.
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_default()
    }

    /// The request is that key's. Said once.
    pub fn identify(&self, key: KeyId, allowance: Allowance) {
        self.0.key.get_or_init(|| key);
        self.0.allowance.get_or_init(|| allowance);
    }
}

/// Wraps the handling of every request.
pub async fn run(mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let exchange = Exchange::default();
    let request_id = request_id(request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(exchange.clone());

    let mut response = match head::check(request.version(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    if let Some(error) = response.extensions_mut().remove::<Error>() {
        refuse(&mut response, &error, &request_id);
    }
    if let Some(allowance) = exchange.0.allowance.get() {
        allowance.tell(response.headers_mut());
    }
    tracing::info!(
        request_id,
        key = exchange.0.key.get().map(tracing::field::display),
        method = %method,
        route = route.as_ref().map_or("-", MatchedPath::as_str),
        status = response.status().as_u16(),
        ms = started.elapsed().as_secs_f64() * 1000.0,
        "request"
    );
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(X_REQUEST_ID.clone(), value);
    }
    response
}

/// The caller's own id when it is short and printable, so that both sides' logs meet; or a new one.
fn request_id(headers: &HeaderMap) -> String {
    let own = headers.get(&X_REQUEST_ID).and_then(|value| value.to_str().ok());
    match own {
        Some(id) if (1..=MAX_REQUEST_ID).contains(&id.len()) && is_printable(id) => id.to_owned(),
        _ => Uuid::now_v7().simple().to_string(),
    }
}

fn is_printable(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Writes the envelope of a refusal.
fn refuse(response: &mut Response, error: &Error, request_id: &str) {
    let failure = Failure {
        success: Fixed,
        error: error.sentence(),
        code: error.code().to_owned(),
        field: error.field().map(str::to_owned),
        request_id: request_id.to_owned(),
        retry_after: error.retry_after(),
    };
    let json = serde_json::to_vec(&failure).unwrap_or_default();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *response.body_mut() = Body::from(json);
}

/// What a handler that panicked answers. The panic itself is in the log.
pub fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    tracing::error!("a handler panicked");
    Error::Internal.into_response()
}

//! The context of every request: its id, its line in the log, the time until which its answer is
//! due, the envelope of a refusal, and the headers of every answer.

mod access_log;
mod body_tracker;
mod large_answer;
#[cfg(feature = "otel")]
mod span;

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::time::Instant;
use uuid::Uuid;

use crate::auth::gate::CallerInfo;
use crate::auth::limit::{Allowance, Policy};
use crate::error::Error;
use crate::http::{Client, head};
use crate::metrics::{Metrics, ResponseKind};
use access_log::{Entry, RequestOutcome};

pub use access_log::{omitted, report_omitted, report_validations};

static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The greatest length of a caller's own id.
const MAX_REQUEST_ID: usize = 128;

/// Data of a request, stored in its extensions.
#[derive(Clone)]
pub struct RequestContext {
    /// The id in the answer's `X-Request-Id` header, in the log line, and in events.
    pub id: Arc<str>,
    /// The caller, as far as it is known while the request is handled.
    pub caller: CallerInfo,
}

impl RequestContext {
    /// The context of a request with these headers, from this address.
    fn new(headers: &HeaderMap, address: Option<IpAddr>) -> Self {
        Self { id: request_id(headers), caller: CallerInfo::at(address) }
    }

    /// The context of a request, from its extensions.
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_else(|| Self::new(&HeaderMap::new(), None))
    }
}

/// Wraps the handling of every request.
pub async fn run(
    State(metrics): State<Arc<Metrics>>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let _in_flight = metrics.requests.begin();
    let client = request.extensions().get().map(|client: &Client| client.address);
    let context = RequestContext::new(request.headers(), client);
    let entry = Entry::new(&request);
    #[cfg(feature = "otel")]
    let span = span::RequestSpan::begin(request.headers(), entry.method(), entry.route());
    let is_page = request.uri().path().starts_with("/dashboard");
    request.extensions_mut().insert(context.clone());

    let checked = head::check(request.version(), request.headers());
    let (request, body_tracker) = body_tracker::observe(request);
    let handling = async move {
        match checked {
            Ok(()) => next.run(request).await,
            Err(error) => error.into_response(),
        }
    };
    let response = body_tracker.answer_in_time(started, handling).await;
    let mut response = large_answer::count(response, context.caller.tenant());
    let error = response.extensions_mut().remove::<Error>();
    if let Some(error) = &error {
        refuse(&mut response, error, &context.id, is_page);
    }
    let allowance = context.caller.allowance();
    let (status, took) = (response.status().as_u16(), started.elapsed());
    let code = error.as_ref().map_or("", |error| error.code().as_str());
    let answer = ResponseKind { method: entry.method(), status, code };
    metrics.requests.answered(entry.route(), answer, took);
    #[cfg(feature = "otel")]
    span.end(&context.id, context.caller.key(), status);
    entry.write(&RequestOutcome {
        request_id: &context.id,
        key: context.caller.key(),
        status,
        is_rate_limited: matches!(allowance, Some(Allowance::Refused { .. })),
        millis: took.as_secs_f64() * 1000.0,
    });
    body_tracker.finish(error.as_ref(), response.headers_mut()).await;
    complete(response.headers_mut(), allowance, &context.id);
    log_break(response, context.id)
}

/// Adds the headers that every answer has.
fn complete(headers: &mut HeaderMap, allowance: Option<Allowance>, request_id: &str) {
    if let Some(allowance) = allowance {
        write_allowance(headers, allowance);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Nearly all answers hold keys or persons, and none of these is true for long.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert(X_REQUEST_ID.clone(), value);
    }
}

/// Writes the headers of the key's rate: as draft-ietf-httpapi-ratelimit-headers-10 has them, and
/// by the names of its early versions, which more clients know.
fn write_allowance(headers: &mut HeaderMap, allowance: Allowance) {
    let (Policy { quota, window }, remaining, reset) = match allowance {
        Allowance::Unlimited => return,
        Allowance::Granted { policy, remaining, reset } => (policy, remaining, reset),
        Allowance::Refused { policy, wait } => (policy, 0, wait),
    };
    let mut structured = |name, text: String| {
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    structured("ratelimit-policy", format!(r#""key";q={quota};w={window}"#));
    structured("ratelimit", format!(r#""key";r={remaining};t={reset}"#));
    headers.insert(HeaderName::from_static("ratelimit-limit"), HeaderValue::from(quota));
    headers.insert(HeaderName::from_static("ratelimit-remaining"), HeaderValue::from(remaining));
    headers.insert(HeaderName::from_static("ratelimit-reset"), HeaderValue::from(reset));
}

/// An answer that is streamed may break off after its status was sent and logged.
fn log_break(response: Response, request_id: Arc<str>) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        Body::new(body.map_err(move |error| {
            tracing::error!(request_id = &*request_id, %error, "an answer broke off after it had begun");
            error
        }))
    })
}

/// The caller's own id if it is short and printable, so that the logs of both sides match; or a new
/// one.
fn request_id(headers: &HeaderMap) -> Arc<str> {
    let own = headers.get(&X_REQUEST_ID).and_then(|value| value.to_str().ok());
    match own {
        Some(id) if (1..=MAX_REQUEST_ID).contains(&id.len()) && is_printable(id) => id.into(),
        _ => Arc::from(&*Uuid::now_v7().simple().encode_lower(&mut Uuid::encode_buffer())),
    }
}

fn is_printable(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Writes the body of a refusal: the envelope, or a sentence for a browser whose page was given up,
/// as it took too long.
fn refuse(response: &mut Response, error: &Error, request_id: &str, is_page: bool) {
    let (content_type, body) = if is_page {
        let text = format!("{error} The request is {request_id}.\n");
        ("text/plain; charset=utf-8", text.into_bytes())
    } else {
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
        let failure = error.failure(request_id, retry_after);
        ("application/json", serde_json::to_vec(&failure).unwrap_or_default())
    };
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    *response.body_mut() = Body::from(body);
}

/// The answer of a handler that panicked. The panic itself is in the log.
pub fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    tracing::error!("a handler panicked");
    Error::Internal.into_response()
}

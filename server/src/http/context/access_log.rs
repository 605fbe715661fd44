//! The log line of a request. It is bounded in length: a short request id is all that it holds
//! of the caller's own text. Lines about requests without a key, or past its rate, are bounded in
//! number too, as any client can cause them. Validations that licd answers in time are only counted,
//! because a line for each would be most of the log and cost a sixth of the speed.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use common::KeyId;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use crate::http::Client;

/// Maximum burst, and then maximum number a second, of lines about callers without a valid key.
const BURST: NonZeroU32 = NonZeroU32::new(100).unwrap();
const LINES_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();

static STRANGERS: LazyLock<DefaultDirectRateLimiter> =
    LazyLock::new(|| RateLimiter::direct(Quota::per_second(LINES_PER_SECOND).allow_burst(BURST)));
/// Milliseconds from which a validation is slow and has a line.
const SLOW_MILLIS: f64 = 1000.0;

/// Number of validations that have no line, since [`report_validations`] logged them.
static VALIDATIONS: AtomicU64 = AtomicU64::new(0);
/// Number of lines that were left out, and the number of them that [`report_omitted`] has reported.
static OMITTED: AtomicU64 = AtomicU64::new(0);
static REPORTED: AtomicU64 = AtomicU64::new(0);

/// The methods that are logged. Others are the caller's own text, of any length.
static METHODS: [Method; 9] = [
    Method::GET,
    Method::POST,
    Method::PATCH,
    Method::DELETE,
    Method::HEAD,
    Method::OPTIONS,
    Method::PUT,
    Method::TRACE,
    Method::CONNECT,
];

/// The request's part of the log line.
pub struct Entry {
    method: &'static str,
    route: Option<MatchedPath>,
    client: Option<IpAddr>,
}

/// The answer's part of the log line.
pub struct RequestOutcome<'a> {
    pub request_id: &'a str,
    pub key: Option<KeyId>,
    pub status: u16,
    pub is_rate_limited: bool,
    pub millis: f64,
}

impl Entry {
    pub fn new(request: &Request) -> Self {
        let known = METHODS.iter().find(|method| *method == request.method());
        Self {
            method: known.map_or("-", Method::as_str),
            route: request.extensions().get().cloned(),
            client: request.extensions().get().map(|client: &Client| client.address),
        }
    }

    pub fn method(&self) -> &'static str {
        self.method
    }

    /// The route's template; a dash for an address without a route.
    pub fn route(&self) -> &str {
        self.route.as_ref().map_or("-", MatchedPath::as_str)
    }

    pub fn write(&self, outcome: &RequestOutcome<'_>) {
        let is_stranger = outcome.key.is_none() || outcome.is_rate_limited;
        if is_stranger && STRANGERS.check().is_err() {
            OMITTED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        macro_rules! write_line {
            ($level:ident) => {
                tracing::$level!(
                    request_id = outcome.request_id,
                    key = outcome.key.map(tracing::field::display),
                    client = self.client.map(tracing::field::display),
                    method = self.method,
                    route = self.route(),
                    status = outcome.status,
                    ms = outcome.millis,
                    "request"
                )
            };
        }
        if self.is_quiet(outcome) {
            VALIDATIONS.fetch_add(1, Ordering::Relaxed);
            write_line!(debug);
        } else {
            write_line!(info);
        }
    }

    fn is_quiet(&self, outcome: &RequestOutcome<'_>) -> bool {
        outcome.status == 200 && outcome.millis < SLOW_MILLIS && self.route() == "/api/v1/validate"
    }
}

/// Logs the number of validations that have no line of their own, if there were any.
pub fn report_validations() {
    let requests = VALIDATIONS.swap(0, Ordering::Relaxed);
    if requests > 0 {
        tracing::info!(requests, "answered validations in time");
    }
}

/// Logs how many lines were left out, if any were. Called every few seconds.
pub fn report_omitted() {
    let omitted = omitted();
    let lines = omitted - REPORTED.swap(omitted, Ordering::Relaxed).min(omitted);
    if lines > 0 {
        tracing::info!(lines, "left out lines about requests without a key or past its rate");
    }
}

/// Returns the number of lines that were left out since the process began.
pub fn omitted() -> u64 {
    OMITTED.load(Ordering::Relaxed)
}

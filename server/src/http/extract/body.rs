//! A request's body in memory: whole, in time, of a size that has a limit, and only as long as all
//! bodies together stay within theirs, in memory and in number.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::request::Parts;
use futures_util::{FutureExt, StreamExt};
use tokio::time::timeout;

use crate::budget::{Budget, REQUESTS, Reservation, VALIDATIONS};
use crate::error::Error;
use crate::http::context::RequestContext;
use crate::http::waiting::{Standing, WaitingBodies, hold};

/// Bytes of each body that are not counted in the budget: more than any honest validation has.
/// So a full budget does not refuse small bodies; [`WaitingBodies`] bounds what is not counted.
const UNCOUNTED: usize = 4096;

/// Time in which a body must arrive.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// Maximum size of a body, the time in which it must arrive, and the budget for its memory.
pub struct BodyLimit {
    size: usize,
    wait: Duration,
    pub sentence: &'static str,
    budget: &'static Budget,
}

/// Of a validation.
pub static VALIDATION_BODY: BodyLimit = BodyLimit {
    size: 16 * 1024,
    wait: MAX_WAIT,
    sentence: "The body must be at most 16 KiB",
    budget: &VALIDATIONS,
};

/// Limits of the body of a sign-in, which needs no key. It is too small to be counted.
pub static SIGN_IN_BODY: BodyLimit = BodyLimit {
    size: UNCOUNTED,
    wait: Duration::from_secs(5),
    sentence: "The body must be at most 4 KiB",
    budget: &REQUESTS,
};

/// Of every other request.
pub static BODY: BodyLimit = BodyLimit {
    size: 1024 * 1024,
    wait: MAX_WAIT,
    sentence: "The body must be at most 1 MiB",
    budget: &REQUESTS,
};

/// A body that arrived whole.
pub struct Received {
    bytes: Vec<u8>,
    _memory: Reservation,
}

impl Received {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The media type that a body must have.
#[derive(Clone, Copy)]
pub enum MediaType {
    Json,
    /// A form, as browsers send it.
    Form,
}

impl MediaType {
    fn refusal(self) -> Error {
        Error::UnsupportedMediaType(match self {
            Self::Json => "The body must be JSON, sent as Content-Type: application/json",
            Self::Form => "The body must be sent as application/x-www-form-urlencoded",
        })
    }

    fn is(self, essence: &str) -> bool {
        match self {
            Self::Json => {
                let suffixed = essence.starts_with("application/") && essence.ends_with("+json");
                essence == "application/json" || suffixed
            }
            Self::Form => essence == "application/x-www-form-urlencoded",
        }
    }
}

/// Reads the body if its headers declare what this service takes.
pub async fn receive(
    parts: &Parts,
    body: Body,
    limit: &'static BodyLimit,
    media_type: MediaType,
) -> Result<Received, Error> {
    check_encoding(&parts.headers)?;
    check_media_type(&parts.headers, media_type)?;
    if body.size_hint().lower() > limit.size as u64 {
        return Err(Error::TooLarge(limit.sentence));
    }
    // Until the key is checked, the body counts as anonymous.
    let context = parts.extensions.get::<RequestContext>();
    let tenant = context.and_then(|context| context.caller.tenant());
    let mut reading = pin!(read(body, limit, limit.budget.reserve(tenant)));
    // Nearly always it has arrived with the head.
    if let Some(received) = reading.as_mut().now_or_never() {
        return received;
    }
    let waiting = parts.extensions.get::<Arc<WaitingBodies>>();
    let standing = if tenant.is_some() { Standing::Known } else { Standing::Stranger };
    let received = hold(waiting.map(|waiting| &**waiting), standing, reading);
    match timeout(limit.wait, received).await {
        Ok(received) => received.unwrap_or(Err(Error::Overloaded)),
        Err(_) => Err(Error::RequestTimeout),
    }
}

async fn read(
    body: Body,
    limit: &'static BodyLimit,
    mut memory: Reservation,
) -> Result<Received, Error> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| broken())?;
        let size = bytes.len() + chunk.len();
        if size > limit.size {
            return Err(Error::TooLarge(limit.sentence));
        }
        // Counted as it arrives, since a caller may announce much and send little.
        if size > bytes.capacity() {
            let capacity = size.next_power_of_two();
            memory.grow(capacity.saturating_sub(UNCOUNTED))?;
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Received { bytes, _memory: memory })
}

fn broken() -> Error {
    Error::Invalid { field: None, message: "The body did not arrive whole".into() }
}

fn check_encoding(headers: &HeaderMap) -> Result<(), Error> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    match encodings.all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity")) {
        true => Ok(()),
        false => Err(Error::UnsupportedEncoding),
    }
}

fn check_media_type(headers: &HeaderMap, expected: MediaType) -> Result<(), Error> {
    let refusal = || expected.refusal();
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else { return Err(refusal()) };
    let mut parts = value.to_str().map_err(|_| refusal())?.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
    if !expected.is(&essence) {
        return Err(refusal());
    }
    match parts.all(is_utf8) {
        true => Ok(()),
        false => Err(Error::UnsupportedMediaType(
            "The body must be UTF-8: Content-Type may name no other charset",
        )),
    }
}

/// Whether a parameter of the content type is anything but another charset.
fn is_utf8(parameter: &str) -> bool {
    match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            let charset = value.trim().trim_matches('"');
            ["utf-8", "utf8"].iter().any(|utf8| charset.eq_ignore_ascii_case(utf8))
        }
        _ => true,
    }
}

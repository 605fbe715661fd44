//! Decodes responses into records, or into the error of a refused or foreign response.

use std::ops::Deref;

use common::{ErrorCode, Failure};
use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Trace;
use super::refusal::ApiRequest;
use crate::error::{Error, Exit, Result};
use crate::escape::clean;

/// A record in two forms: typed, and as the JSON that the service sent, so that `-o json` also
/// shows the fields of a newer service.
#[derive(Clone, Debug)]
pub struct ApiRecord<T> {
    typed: T,
    sent: Value,
}

impl<T> ApiRecord<T> {
    /// A member, as it was sent or added.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.sent.get(name)
    }

    /// The record with a member of licctl's own behind one of the service's. The service's own word
    /// comes first if it has such a member.
    pub fn with_member(mut self, behind: &str, name: &str, value: impl Into<Value>) -> Self {
        if let Some(members) = self.sent.as_object_mut().filter(|it| !it.contains_key(name)) {
            let at = members.keys().position(|member| member == behind);
            let at = at.map_or(members.len(), |at| at + 1);
            members.shift_insert(at, name.to_owned(), value.into());
        }
        self
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for ApiRecord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let sent = Value::deserialize(deserializer)?;
        let typed = T::deserialize(&sent).map_err(serde::de::Error::custom)?;
        Ok(Self { typed, sent })
    }
}

impl<T> Serialize for ApiRecord<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.sent.serialize(serializer)
    }
}

impl<T> Deref for ApiRecord<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.typed
    }
}

/// A complete answer.
pub(super) struct ApiResponse<T> {
    pub status: StatusCode,
    pub body: T,
}

/// Maximum size of a response in memory, in bytes.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Reads the whole answer. `is_expected` tells that licd is at this address, so that a foreign
/// answer may come from a proxy before it.
pub(super) async fn read<T: DeserializeOwned>(
    request: &ApiRequest<'_>,
    mut response: Response,
    trace: &Trace,
    is_expected: bool,
) -> Result<ApiResponse<T>> {
    let status = response.status();
    let header = |name: &str| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.map(str::to_owned)
    };
    let (request_id, retry_after) = (header("x-request-id"), header("retry-after"));
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| request.failed(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BODY {
            return Err(Error::new(Exit::Unreachable, "not_licd", "The response does not end.")
                .because("It is larger than 64 MiB; licd sends lists in pages.")
                .fix("check the server's URL"));
        }
    }
    trace.received(status, &body);
    if status.is_success() {
        return match serde_json::from_slice(&body) {
            Ok(body) => Ok(ApiResponse { status, body }),
            Err(error) if is_envelope(&body) => Err(request.misunderstood(&error)),
            Err(_) => Err(request.not_the_service(status, &body)),
        };
    }
    if let Some(error) = request.needs_tls(status, &body) {
        return Err(error);
    }
    let seconds = retry_after.and_then(|seconds| seconds.parse().ok());
    match failure(status, &body, request_id.as_deref()) {
        Some(mut failure) => {
            failure.retry_after = failure.retry_after.or(seconds);
            Err(request.refused(status, failure))
        }
        None if is_expected && matches!(status.as_u16(), 429 | 502..=504) => {
            let mut error = request.kept_by_a_proxy(status);
            error.retry_after = seconds;
            Err(error.answered(status.as_u16(), request_id))
        }
        None => Err(request.not_the_service(status, &body).answered(status.as_u16(), request_id)),
    }
}

/// The status line and headers of an answer, as HTTP/1.1 writes them.
pub(super) fn head(response: &Response) -> String {
    let headers = response.headers().iter().map(|(name, value)| {
        format!("{name}: {}\n", clean(&String::from_utf8_lossy(value.as_bytes())))
    });
    let headers: String = headers.collect();
    format!("{:?} {}\n{headers}", response.version(), response.status())
}

/// Decodes a refusal. Every version of the service sends `success` and `error`; the rest is
/// optional.
fn failure(status: StatusCode, body: &[u8], request_id: Option<&str>) -> Option<Failure> {
    let mut json: Value = serde_json::from_slice(body).ok()?;
    let fields = json.as_object_mut()?;
    let code = match status.as_u16() {
        429 => ErrorCode::RateLimited.as_str(),
        502..=504 => ErrorCode::Unavailable.as_str(),
        _ => "refused",
    };
    fields.entry("code").or_insert(code.into());
    fields.entry("requestId").or_insert(request_id.unwrap_or_default().into());
    serde_json::from_value(json).ok()
}

/// Whether the body has the service's envelope.
fn is_envelope(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body)
        .is_ok_and(|json| json.get("success") == Some(&Value::Bool(true)))
}

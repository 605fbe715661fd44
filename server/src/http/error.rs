//! Errors as answers: the status, a sentence, a code, the field at fault, and the headers of each.
//! The database's own messages go to the log.

use std::ops::RangeInclusive;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use common::{ConstBool, ErrorCode, Failure};

use crate::error::Error;

/// Range of `Retry-After` in seconds when the service is overloaded or its database does not
/// respond. Each response has a random number from it, so that callers do not return at the same
/// time.
const RETRY_AFTER: RangeInclusive<u64> = 1..=4;

impl Error {
    pub fn status(&self) -> StatusCode {
        match self.code() {
            ErrorCode::InvalidRequest | ErrorCode::LicenseKeyMistyped => StatusCode::BAD_REQUEST,
            ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
            ErrorCode::Forbidden => StatusCode::FORBIDDEN,
            ErrorCode::NotFound | ErrorCode::LicenseKeyNotFound => StatusCode::NOT_FOUND,
            ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ErrorCode::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            ErrorCode::Conflict
            | ErrorCode::LeaseRunning
            | ErrorCode::Changed
            | ErrorCode::IdempotencyKeyInUse
            | ErrorCode::SecretKeyMissing
            | ErrorCode::WebhooksOff
            | ErrorCode::SequenceAhead
            | ErrorCode::LicenseKeyRevoked
            | ErrorCode::LicenseKeyExpired
            | ErrorCode::LicenseKeyUsedUp
            | ErrorCode::LicenseKeyOfAnotherProduct => StatusCode::CONFLICT,
            ErrorCode::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ErrorCode::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            ErrorCode::RequestHeaderFieldsTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            ErrorCode::Overloaded | ErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The envelope of the refusal.
    pub fn failure(&self, request_id: &str, retry_after: Option<u64>) -> Failure {
        Failure {
            success: ConstBool,
            error: self.to_string(),
            code: self.code().to_string(),
            field: self.field().map(str::to_owned),
            request_id: request_id.to_owned(),
            retry_after,
        }
    }

    /// The header that belongs to this refusal, where one does.
    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        Some(match self {
            Self::Unauthorized => {
                (header::WWW_AUTHENTICATE, HeaderValue::from_static(r#"Bearer realm="licd""#))
            }
            Self::UnsupportedEncoding => {
                (header::ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            }
            Self::RateLimited(seconds)
            | Self::TooManyNewUsers(seconds)
            | Self::TooManySeatEvents(seconds)
            | Self::TooManyWrongKeys(seconds) => (header::RETRY_AFTER, HeaderValue::from(*seconds)),
            Self::IdempotencyKeyInUse => (header::RETRY_AFTER, HeaderValue::from(1)),
            // A secret that cannot be opened does not become readable by waiting.
            Self::Overloaded | Self::Unavailable => {
                (header::RETRY_AFTER, HeaderValue::from(fastrand::u64(RETRY_AFTER)))
            }
            _ => return None,
        })
    }
}

/// Status and headers. The body needs the request's id, so `context` writes it from the error in
/// the extensions.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.headers_mut().extend(self.header());
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn callers_are_not_all_sent_back_at_once() {
        let seconds = |_| {
            let response = Error::Unavailable.into_response();
            response.headers()[header::RETRY_AFTER].to_str().unwrap().parse().unwrap()
        };
        let seen: BTreeSet<u64> = (0..1000).map(seconds).collect();
        assert_eq!(seen, RETRY_AFTER.collect());
    }
}

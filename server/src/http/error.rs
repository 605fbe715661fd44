//! Errors as answers: the status, a sentence, a code, the field at fault, and the headers of each.
//! The database's own messages go to the log.

use std::ops::RangeInclusive;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use common::{ConstBool, ErrorCode, Failure, Timestamp};

use crate::error::{Error, LicenseKeyFault};

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

    /// The kind of the error, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unauthorized => ErrorCode::Unauthorized,
            Self::RateLimited(_)
            | Self::TooManyNewUsers(_)
            | Self::TooManySeatEvents(_)
            | Self::TooManyWrongKeys(_) => ErrorCode::RateLimited,
            Self::LicenseKey(fault) => match fault {
                LicenseKeyFault::Mistyped => ErrorCode::LicenseKeyMistyped,
                LicenseKeyFault::NotFound => ErrorCode::LicenseKeyNotFound,
                LicenseKeyFault::Revoked => ErrorCode::LicenseKeyRevoked,
                LicenseKeyFault::Expired => ErrorCode::LicenseKeyExpired,
                LicenseKeyFault::UsedUp => ErrorCode::LicenseKeyUsedUp,
                LicenseKeyFault::OfAnotherProduct => ErrorCode::LicenseKeyOfAnotherProduct,
            },
            Self::Forbidden => ErrorCode::Forbidden,
            Self::Invalid { .. } | Self::Several(_) => ErrorCode::InvalidRequest,
            Self::NotFound(_) | Self::RouteNotFound | Self::SlashAtEnd => ErrorCode::NotFound,
            Self::MethodNotAllowed => ErrorCode::MethodNotAllowed,
            Self::UnsupportedMediaType(_) | Self::UnsupportedEncoding => {
                ErrorCode::UnsupportedMediaType
            }
            Self::TooLarge(_) => ErrorCode::PayloadTooLarge,
            Self::RequestTimeout => ErrorCode::RequestTimeout,
            Self::Conflict(_)
            | Self::ClaimableKey(_)
            | Self::KeyOfLicense(_)
            | Self::ShownOnce(_) => ErrorCode::Conflict,
            Self::LeaseRunning(_) => ErrorCode::LeaseRunning,
            Self::Changed(_) | Self::EditConflict(_) => ErrorCode::Changed,
            Self::IdempotencyKeyInUse => ErrorCode::IdempotencyKeyInUse,
            Self::IdempotencyKeyReused => ErrorCode::IdempotencyKeyReused,
            Self::Overloaded => ErrorCode::Overloaded,
            Self::Unavailable | Self::SecretUnreadable(_) => ErrorCode::Unavailable,
            Self::SecretKeyMissing => ErrorCode::SecretKeyMissing,
            Self::WebhooksOff => ErrorCode::WebhooksOff,
            Self::SequenceAhead(_) => ErrorCode::SequenceAhead,
            Self::Internal => ErrorCode::Internal,
        }
    }

    /// The envelope of the refusal.
    pub fn failure(&self, request_id: &str, retry_after: Option<u64>) -> Failure {
        Failure {
            success: ConstBool,
            error: self.sentence(),
            code: self.code().to_string(),
            field: self.field().map(str::to_owned),
            request_id: request_id.to_owned(),
            retry_after,
        }
    }

    /// The error as a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Unauthorized => "Unauthorized".into(),
            Self::RateLimited(_) => RATE_LIMITED.into(),
            Self::TooManyNewUsers(_) => format!("{RATE_LIMITED} {TOO_MANY_NEW_USERS}"),
            Self::TooManySeatEvents(_) => format!("{RATE_LIMITED} {TOO_MANY_SEAT_EVENTS}"),
            Self::TooManyWrongKeys(_) => {
                format!("{RATE_LIMITED} Too many wrong license keys were tried")
            }
            Self::LicenseKey(fault) => fault.sentence().into(),
            Self::KeyOfLicense(license) => {
                format!("License {license} has this key already. A key belongs to one license")
            }
            Self::Forbidden => "Access denied".into(),
            Self::Invalid { message, .. } => message.clone(),
            Self::Several(errors) => {
                errors.iter().map(Self::sentence).collect::<Vec<_>>().join(" ")
            }
            Self::NotFound(what) => format!("There is no such {what}"),
            Self::RouteNotFound => "This address does not exist".into(),
            Self::SlashAtEnd => "This address does not exist. Remove the slash at its end".into(),
            Self::MethodNotAllowed => "This address does not support this method".into(),
            Self::UnsupportedMediaType(sentence) | Self::TooLarge(sentence) => (*sentence).into(),
            Self::UnsupportedEncoding => {
                "The body must not be compressed, because no Content-Encoding is supported".into()
            }
            Self::RequestTimeout => "The body took too long to arrive".into(),
            Self::Conflict(why) => (*why).into(),
            Self::ClaimableKey(key) => claimable_key(key),
            Self::LeaseRunning(until) => lease_running(*until),
            Self::Changed(what) => format!(
                "The {what} has changed since it was read. Read it again, then repeat the change"
            ),
            Self::EditConflict(how) => format!("The record was changed in the meantime{how}."),
            Self::IdempotencyKeyInUse => {
                "A request with this Idempotency-Key is still in progress".into()
            }
            Self::IdempotencyKeyReused => "A different request has used this Idempotency-Key".into(),
            Self::ShownOnce(_) => "This request already succeeded. Its response contained a secret and is not shown again".into(),
            Self::SecretKeyMissing => {
                "The service has no secret key to sign with. Its operator names a file in \
                 LICD_SECRET_KEY_FILE"
                    .into()
            }
            Self::SecretUnreadable(why) => {
                format!("The secret cannot be opened: {why}. The operator of the service can help")
            }
            Self::WebhooksOff => "This server sends no webhooks: LICD_WEBHOOKS is off".into(),
            Self::SequenceAhead(last) => sequence_ahead(*last),
            Self::Overloaded => "The service is overloaded. Please try again shortly.".into(),
            Self::Unavailable => "The service is unavailable. Please try again shortly.".into(),
            Self::Internal => {
                "The service failed. Its log has the cause under the request id.".into()
            }
        }
    }

    /// The field at fault, if one is.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid { field, .. } => field.as_deref(),
            Self::TooManyNewUsers(_) => Some("userId"),
            Self::LicenseKey(_) | Self::KeyOfLicense(_) | Self::TooManyWrongKeys(_) => Some("key"),
            _ => None,
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

const RATE_LIMITED: &str = "Rate limit exceeded. Please try again later.";
const TOO_MANY_NEW_USERS: &str =
    "Validations of this key create too many users; known users are not affected";
const TOO_MANY_SEAT_EVENTS: &str =
    "Too many new leases and releases of this key were recorded; validations are not affected";

fn claimable_key(key: &str) -> String {
    format!(
        "A user could still claim the license with its key {key}. Revoke the key first, or \
          delete the license with ?keys=revoke"
    )
}

fn lease_running(until: Timestamp) -> String {
    format!(
        "A lease holds the seat until {until}. To free the seat earlier, send leases=drop; the user \
         may then stay licensed offline until that time"
    )
}

fn sequence_ahead(last: i64) -> String {
    format!(
        "The last event has the sequence {last}: the database was restored from a backup, or this \
         is another server. Begin again after {last}"
    )
}

impl LicenseKeyFault {
    fn sentence(self) -> &'static str {
        match self {
            Self::Mistyped => "The license key contains a typing error",
            Self::NotFound => "There is no such license key",
            Self::Revoked => "The license key was revoked or replaced",
            Self::Expired => "The license key has expired",
            Self::UsedUp => "The license key has reached its limit of users",
            Self::OfAnotherProduct => "The license key is for another product",
        }
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

//! Everything that can go wrong with a request, and what the caller is told about it.
//!
//! An error becomes HTTP here and nowhere else. The caller gets a sentence, a code and the field at
//! fault; the database's own words go to the log.

use std::ops::RangeInclusive;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::http::answer::with_json;

/// Seconds after which a caller that met an overload or a database away does well to come back. One
/// of them is chosen for each caller, so that they do not all come back at once.
const RETRY_AFTER: RangeInclusive<u64> = 1..=4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No key, or none that works. Which of the two is nobody's business.
    Unauthorized,
    /// The key has used up its rate; whole seconds to wait.
    RateLimited(u64),
    /// The key may not do this.
    Forbidden,
    /// The request cannot be understood, or says what cannot be. Names the field when one is at
    /// fault.
    Invalid {
        field: Option<String>,
        message: String,
    },
    /// There is no such thing, or none that this key may see.
    NotFound(&'static str),
    RouteNotFound,
    MethodNotAllowed,
    /// The body is not declared as JSON in UTF-8; a sentence for the caller.
    UnsupportedMediaType(&'static str),
    /// The body is compressed.
    UnsupportedEncoding,
    /// The body is larger than the limit; a sentence that names the limit.
    TooLarge(&'static str),
    /// The body did not arrive in time.
    RequestTimeout,
    /// The request is right, but not as things stand.
    Conflict(&'static str),
    /// The Idempotency-Key came with another request before.
    IdempotencyKeyReused,
    /// Not an error, but it ends a handler all the same: the request was answered before, so.
    Replayed {
        status: i32,
        body: String,
    },
    /// Too many requests wait already.
    Overloaded,
    /// The database does not answer.
    Unavailable,
    /// A fault of ours.
    Internal,
}

impl Error {
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::Invalid { field: Some(field.to_owned()), message: message.into() }
    }

    /// A field of the body names something that does not exist.
    pub fn unknown(field: &str, what: &str) -> Self {
        Self::invalid(field, format!("{field} must be the id of an existing {what}"))
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Invalid { .. } => StatusCode::BAD_REQUEST,
            Self::NotFound(_) | Self::RouteNotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::UnsupportedMediaType(_) | Self::UnsupportedEncoding => {
                StatusCode::UNSUPPORTED_MEDIA_TYPE
            }
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Replayed { status, .. } => u16::try_from(*status)
                .ok()
                .and_then(|it| StatusCode::from_u16(it).ok())
                .unwrap_or_default(),
            Self::Overloaded | Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub fn code(&self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::RateLimited(_) => "rate_limited",
            Self::Forbidden => "forbidden",
            Self::Invalid { .. } => "invalid_request",
            Self::NotFound(_) | Self::RouteNotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::UnsupportedMediaType(_) | Self::UnsupportedEncoding => "unsupported_media_type",
            Self::TooLarge(_) => "payload_too_large",
            Self::RequestTimeout => "request_timeout",
            Self::Conflict(_) => "conflict",
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::Replayed { .. } => "replayed",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }

    pub fn sentence(&self) -> String {
        match self {
            Self::Unauthorized => "Unauthorized".into(),
            Self::RateLimited(_) => "Rate limit exceeded. Please try again later.".into(),
            Self::Forbidden => "Access denied".into(),
            Self::Invalid { message, .. } => message.clone(),
            Self::NotFound(what) => format!("There is no such {what}"),
            Self::RouteNotFound => "There is nothing at this address".into(),
            Self::MethodNotAllowed => "This address does not take this method".into(),
            Self::UnsupportedMediaType(sentence) | Self::TooLarge(sentence) => (*sentence).into(),
            Self::UnsupportedEncoding => {
                "The body must not be compressed: no Content-Encoding is supported".into()
            }
            Self::RequestTimeout => "The body took too long to arrive".into(),
            Self::Conflict(why) => (*why).into(),
            Self::IdempotencyKeyReused => {
                "This Idempotency-Key came with another request before".into()
            }
            Self::Replayed { .. } => String::new(),
            Self::Overloaded => "The service is overloaded. Please try again shortly.".into(),
            Self::Unavailable => "The service is unavailable. Please try again shortly.".into(),
            Self::Internal => "The service failed. The request id finds it in the log.".into(),
        }
    }

    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid { field, .. } => field.as_deref(),
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
            Self::RateLimited(seconds) => (header::RETRY_AFTER, HeaderValue::from(*seconds)),
            Self::Overloaded | Self::Unavailable => {
                (header::RETRY_AFTER, HeaderValue::from(fastrand::u64(RETRY_AFTER)))
            }
            _ => return None,
        })
    }
}

/// Status and headers. The body needs the request's id, so `exchange` writes it from the error that
/// travels in the extensions.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = self.status();
        if let Self::Replayed { body, .. } = self {
            let replayed = [("idempotency-replayed", "true")];
            return (replayed, with_json(status, body.into())).into_response();
        }
        let mut response = status.into_response();
        response.headers_mut().extend(self.header());
        response.extensions_mut().insert(self);
        response
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        if is_unavailable(&error) || is_collision(&error) {
            tracing::warn!(%error, "the database is unavailable");
            Self::Unavailable
        } else {
            tracing::error!(%error, "the database refused a statement");
            Self::Internal
        }
    }
}

/// Two transactions stood in each other's way and this one gave in; it may simply be run again.
pub fn is_collision(error: &sqlx::Error) -> bool {
    has_code(error, |code| matches!(code, "40001" | "40P01"))
}

fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(database)
            if database.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() =>
        {
            // The primary code is in the lowest byte: busy, locked, out of memory, read-only,
            // interrupted, input/output, full, cannot open.
            has_code(error, |code| {
                code.parse::<i32>()
                    .is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 7 | 8 | 9 | 10 | 13 | 14))
            })
        }
        // Connection lost, out of resources, operator's intervention, a standby's read-only state,
        // a lock or a statement that took too long.
        _ => has_code(error, |code| {
            matches!(&code[..2.min(code.len())], "08" | "53" | "57")
                || matches!(code, "25006" | "55P03")
        }),
    }
}

fn has_code(error: &sqlx::Error, test: impl Fn(&str) -> bool) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| test(&code))
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

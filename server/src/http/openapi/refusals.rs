//! The refusals of operations: each is described once, with examples from its errors, and
//! operations refer to it.

use std::iter::once;

use aide::OperationOutput;
use aide::generate::GenContext;
use aide::openapi::{Components, Example, MediaType, Operation, ReferenceOr, Response, StatusCode};
use common::Failure;

use super::examples::REQUEST_ID;
use super::{headers, schemas};
use crate::error::Error;
use crate::http::extract::{BODY, VALIDATION_BODY};

/// Each refusal with its description, and the errors that its examples show.
macro_rules! refusals {
    ($($name:ident: $description:literal, $($error:expr),+;)*) => {
        /// A response other than a success. Its name is that of its component.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Refusal {
            $($name),*
        }

        impl Refusal {
            const ALL: &[Self] = &[$(Self::$name),*];

            fn description(self) -> &'static str {
                match self {
                    $(Self::$name => $description),*
                }
            }

            fn errors(self) -> Vec<Error> {
                match self {
                    $(Self::$name => vec![$($error),+]),*
                }
            }
        }
    };
}

refusals! {
    InvalidBody: "The body is invalid; `field` names the invalid member",
        Error::invalid("userId", "userId is required");
    InvalidQuery: "The query is invalid; `field` names the invalid parameter",
        Error::invalid("limit", "limit must be a whole number from 1 to 1000");
    InvalidRequest: "The request is invalid; `field` names the invalid member, parameter or header",
        Error::invalid("name", "name is required");
    Unauthorized: "The key is missing, unknown, expired or revoked", Error::Unauthorized;
    Forbidden: "The key's role or mode does not permit this", Error::Forbidden;
    NotFound: "The id is unknown to this key's tenant and mode", Error::NotFound("record");
    LicenseKeyNotFound: "No license of this key's tenant and mode has this license key",
        Error::LicenseKeyNotFound;
    LicenseKeyConflict: "The license key was revoked, has expired, has reached its limit of users, \
        or is for another product; or the user has 100 licenses",
        Error::LicenseKeyRevoked, Error::LicenseKeyExpired, Error::LicenseKeyUsedUp,
        Error::LicenseKeyOfAnotherProduct;
    MethodNotAllowed: "This version of the service has other methods at this address, named in \
        `Allow`", Error::MethodNotAllowed;
    RequestTimeout: "The body took too long to arrive", Error::RequestTimeout;
    Conflict: "The request conflicts with the current state, the record has changed since it had \
        the tag in `If-Match`, or a request with this `Idempotency-Key` is still in progress",
        Error::IdempotencyKeyInUse, Error::Changed("license");
    BodyTooLarge: "The body is larger than 1 MiB", Error::TooLarge(BODY.sentence);
    ValidationTooLarge: "The body is larger than 16 KiB", Error::TooLarge(VALIDATION_BODY.sentence);
    UnsupportedMediaType: "The body is not JSON in UTF-8, or it is compressed",
        Error::UnsupportedEncoding;
    IdempotencyKeyReused: "A different request has used this `Idempotency-Key`",
        Error::IdempotencyKeyReused;
    NotSent: "This server sends no webhooks, has no secret key, or another test delivery is under \
        way", Error::WebhooksOff, Error::SecretKeyMissing,
        Error::Conflict(
            "Another test delivery to this webhook is under way. Wait for its response"
        );
    SequenceAhead: "No event has the sequence `after` yet: the database was restored, or is \
        another one", Error::SequenceAhead(41);
    RateLimited: "The key has exceeded its rate or, if `field` is `userId`, its rate of new users; \
        wait `retryAfter` seconds", Error::RateLimited(1);
    Internal: "The service failed", Error::Internal;
    Unavailable: "The service is overloaded, or its database does not respond; wait `retryAfter` \
        seconds", Error::Overloaded, Error::Unavailable;
}

impl Refusal {
    fn headers(self) -> Vec<&'static str> {
        let of_key: &[&str] = match self {
            Self::Unauthorized => &[headers::AUTHENTICATE],
            Self::MethodNotAllowed => &[headers::ALLOW],
            _ => &headers::RATE,
        };
        let further: &[&str] = match self {
            Self::RateLimited | Self::Unavailable => &[headers::RETRY_AFTER],
            Self::UnsupportedMediaType => &[headers::ACCEPT_ENCODING],
            _ => &[],
        };
        once(headers::REQUEST_ID).chain(of_key.iter().chain(further).copied()).collect()
    }

    fn response(self, ctx: &mut GenContext) -> Response {
        let schema = schemas::object(schemas::of_answer::<Failure>(ctx));
        let mut media = MediaType { schema: Some(schema), ..MediaType::default() };
        for error in self.errors() {
            let wait = match error {
                Error::RateLimited(seconds) => Some(seconds),
                Error::IdempotencyKeyInUse => Some(1),
                Error::Overloaded | Error::Unavailable => Some(2),
                _ => None,
            };
            let failure = error.failure(REQUEST_ID, wait);
            let value = serde_json::to_value(failure).ok();
            let example = Example { value, ..Example::default() };
            media.examples.insert(error.code().to_string(), ReferenceOr::Item(example));
        }
        Response {
            description: self.description().to_owned(),
            headers: headers::references(self.headers()),
            content: once(("application/json".to_owned(), media)).collect(),
            ..Response::default()
        }
    }
}

/// Adds the refusals of an operation. The first of two with the same status counts.
pub fn refuse(operation: &mut Operation, refusals: &[Refusal]) {
    let responses = &mut operation.responses.get_or_insert_default().responses;
    for refusal in refusals {
        let status = refusal.errors().first().map_or(500, |error| error.status().as_u16());
        let reference = format!("#/components/responses/{refusal:?}");
        let reference = ReferenceOr::ref_(&reference);
        responses.entry(StatusCode::Code(status)).or_insert(reference);
    }
}

/// Adds the referenced components.
pub fn describe(ctx: &mut GenContext, components: &mut Components) {
    for refusal in Refusal::ALL.iter().copied() {
        let response = ReferenceOr::Item(refusal.response(ctx));
        components.responses.insert(format!("{refusal:?}"), response);
    }
}

impl OperationOutput for Error {
    type Inner = Failure;

    fn inferred_responses(
        _: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<u16>, Response)> {
        refuse(operation, &[Refusal::MethodNotAllowed, Refusal::Internal, Refusal::Unavailable]);
        Vec::new()
    }
}

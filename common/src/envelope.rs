//! The envelope of every response: `success: true` with `data`, or `success: false` with `error`.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::string_enum::string_enum;

/// A JSON boolean that is always `B`. Reading the other value is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstBool<const B: bool>;

impl<const B: bool> Serialize for ConstBool<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(B)
    }
}

impl<'de, const B: bool> Deserialize<'de> for ConstBool<B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match bool::deserialize(deserializer)? {
            found if found == B => Ok(Self),
            found => Err(Error::invalid_value(
                Unexpected::Bool(found),
                &if B { "true" } else { "false" },
            )),
        }
    }
}

#[cfg(feature = "server")]
impl<const B: bool> schemars::JsonSchema for ConstBool<B> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        if B { "True".into() } else { "False".into() }
    }

    /// Describes a plain boolean, because generators turn a `const` into an enum, and few languages
    /// have enums of booleans.
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": format!("Always `{B}`."),
            "type": "boolean",
            "examples": [B],
        })
    }
}

/// A successful response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename = "{T}Response"))]
pub struct Success<T> {
    pub success: ConstBool<true>,
    pub data: T,
}

impl<T> Success<T> {
    pub fn new(data: T) -> Self {
        Self { success: ConstBool, data }
    }
}

/// A successful response with a list, or with a record that contains a list: the whole list or a
/// page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename = "{T}Page"))]
#[serde(rename_all = "camelCase")]
pub struct Paged<T> {
    pub success: ConstBool<true>,
    pub data: T,
    /// Value of `after` for the next page. Null on the last page.
    pub next_cursor: Option<String>,
}

/// A successful response with a list: the whole list or a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    pub success: ConstBool<true>,
    pub data: Vec<T>,
    /// Value of `after` for the next page. Null on the last page.
    pub next_cursor: Option<String>,
}

#[cfg(feature = "server")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for List<T> {
    /// Returns `ProductList` for products, and `LicenseList` for licenses with their seats.
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}List", T::schema_name().trim_end_matches("WithSeats")).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = Paged::<Vec<T>>::json_schema(generator);
        schema.insert("description".into(), "A list: all of it, or a page.".into());
        schema
    }
}

/// A failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub success: ConstBool<false>,
    /// The error as a sentence for people.
    pub error: String,
    #[cfg_attr(feature = "server", schemars(with = "crate::Open<ErrorCode>"))]
    pub code: String,
    /// Member, parameter or header that caused the error, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "server", schemars(with = "String"))]
    pub field: Option<String>,
    /// Id of the request, as in the header `X-Request-Id` and in the server's log.
    pub request_id: String,
    /// Seconds to wait before the next attempt, with 429, 503 and the 409 `idempotency_key_in_use`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "server", schemars(with = "i64", range(min = 1)))]
    pub retry_after: Option<u64>,
}

string_enum! {
    /// Code of an error, for programs. Later versions may have more.
    ErrorCode, "the code of an error" {
        /// The request breaks a rule, or names a record that does not exist.
        InvalidRequest = "invalid_request",
        /// The key is missing, malformed, unknown, expired or revoked.
        Unauthorized = "unauthorized",
        /// The key's role or mode does not permit this.
        Forbidden = "forbidden",
        /// The address, or the id in it, is unknown.
        NotFound = "not_found",
        /// The address has other methods, named in `Allow`.
        MethodNotAllowed = "method_not_allowed",
        /// The body did not arrive in time.
        RequestTimeout = "request_timeout",
        /// The request conflicts with the current state.
        Conflict = "conflict",
        /// No license has this key.
        LicenseKeyNotFound = "license_key_not_found",
        /// The license key contains a typing error, because its check character does not match.
        LicenseKeyMistyped = "license_key_mistyped",
        /// The license key was revoked, or replaced by another one.
        LicenseKeyRevoked = "license_key_revoked",
        /// The license key has expired.
        LicenseKeyExpired = "license_key_expired",
        /// The license key has reached its limit of users.
        LicenseKeyUsedUp = "license_key_used_up",
        /// The license key belongs to a license of another product.
        LicenseKeyOfAnotherProduct = "license_key_of_another_product",
        /// A lease holds the seat. With `leases=drop` in the query, the seat is freed anyway.
        LeaseRunning = "lease_running",
        /// The record no longer has the tag in `If-Match`. Nothing was changed.
        Changed = "changed",
        /// The server has no secret key, so it cannot sign.
        SecretKeyMissing = "secret_key_missing",
        /// The server sends no webhooks.
        WebhooksOff = "webhooks_off",
        /// The last event has a lower sequence, because the database was restored or is another one.
        SequenceAhead = "sequence_ahead",
        /// The body is too large.
        PayloadTooLarge = "payload_too_large",
        /// The body is not JSON in UTF-8, or it is compressed.
        UnsupportedMediaType = "unsupported_media_type",
        /// A request with this `Idempotency-Key` is still in progress.
        IdempotencyKeyInUse = "idempotency_key_in_use",
        /// A different request has used this `Idempotency-Key`.
        IdempotencyKeyReused = "idempotency_key_reused",
        /// The key has exceeded its rate, or with the field `userId` its rate of new users.
        RateLimited = "rate_limited",
        /// The head of the request is too large.
        RequestHeaderFieldsTooLarge = "request_header_fields_too_large",
        /// A bug in the service.
        Internal = "internal",
        /// Too many requests are waiting. Nothing was changed, but a validation with a response
        /// above 8 KiB may have taken a seat.
        Overloaded = "overloaded",
        /// The database did not respond in time. The change may have been made anyway.
        Unavailable = "unavailable",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    proptest! {
        #[test]
        fn a_failure_reads_back(
            error: String,
            code in ".*",
            field: Option<String>,
            request_id: String,
            retry_after: Option<u64>,
        ) {
            let failure =
                Failure { success: ConstBool, error, code, field, request_id, retry_after };
            let json = serde_json::to_value(&failure).unwrap();
            let read: Failure = serde_json::from_value(json.clone()).unwrap();
            prop_assert_eq!(serde_json::to_value(read).unwrap(), json);
        }

        /// A failure is never read as a success, and a success never as a failure.
        #[test]
        fn an_envelope_is_one_of_both(
            text in r#"\PC*|\{"success":(true|false|1|"true"|null)(,"[a-z]{0,6}":[0-9a-z"\[\]{}]{0,6})*\}"#,
        ) {
            let success = serde_json::from_str::<Success<Value>>(&text).is_ok();
            let list = serde_json::from_str::<List<Value>>(&text).is_ok();
            let failure = serde_json::from_str::<Failure>(&text).is_ok();
            prop_assert!(!(failure && (success || list)));
        }
    }
}

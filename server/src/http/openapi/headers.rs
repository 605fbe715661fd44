//! The headers of responses: each is described once, and responses refer to it.

use aide::openapi::{Components, Header, HeaderStyle, ParameterSchemaOrContent, ReferenceOr};
use schemars::{Schema, json_schema};

use super::schemas;

pub const REQUEST_ID: &str = "X-Request-Id";
pub const RETRY_AFTER: &str = "Retry-After";
pub const AUTHENTICATE: &str = "WWW-Authenticate";
pub const ALLOW: &str = "Allow";
pub const ACCEPT_ENCODING: &str = "Accept-Encoding";
pub const REPLAYED: &str = "Idempotency-Replayed";
pub const ETAG: &str = "ETag";
/// The headers of a key's rate.
pub const RATE: [&str; 5] =
    ["RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];

/// References to headers by their names.
pub fn references<C>(names: Vec<&str>) -> C
where
    C: FromIterator<(String, ReferenceOr<Header>)>,
{
    let reference =
        |name: &str| (name.to_owned(), ReferenceOr::ref_(&format!("#/components/headers/{name}")));
    names.into_iter().map(reference).collect()
}

/// Adds the referenced components.
pub fn describe(components: &mut Components) {
    let text = || json_schema!({ "type": "string" });
    let number = |least: u8| json_schema!({ "type": "integer", "minimum": least });
    let mut add = |name: &str, required, description: &str, schema| {
        let header = header(description, required, schema);
        components.headers.insert(name.to_owned(), ReferenceOr::Item(header));
    };
    add(
        REQUEST_ID,
        true,
        "The id of the request in the log and in events: the request's own `X-Request-Id` if that \
         has 1 to 128 printable ASCII characters without spaces, or else a new one.",
        text(),
    );
    add(RETRY_AFTER, true, "Whole seconds to wait, as `retryAfter`.", number(1));
    add(AUTHENTICATE, true, "The scheme in which a key is sent.", text());
    add(ALLOW, true, "The methods of this address.", text());
    add(ACCEPT_ENCODING, false, "`identity`, if the body was compressed.", text());
    add(
        REPLAYED,
        false,
        "`true` if this is the stored response to an earlier request with the same \
         `Idempotency-Key`; absent otherwise.",
        json_schema!({ "type": "string", "examples": ["true"] }),
    );
    add(
        ETAG,
        false,
        "The tag of the record's state, for `If-Match`. Taking seats does not change it. Absent \
         if the record is an assignment.",
        json_schema!({ "type": "string", "examples": [r#""1801483200000""#] }),
    );
    let [policy, rate, limit, remaining, reset] = RATE;
    add(
        policy,
        false,
        "The rate of each key, as in draft-ietf-httpapi-ratelimit-headers-10: a burst of `q` requests \
         is allowed, and in each `w` seconds as many become available again, evenly. The headers of \
         the rate are absent if the key is invalid, or if the operator has turned the limit off.",
        json_schema!({ "type": "string", "examples": [r#""key";q=10000;w=1"#] }),
    );
    add(
        rate,
        false,
        "What remains of it: `r` is `RateLimit-Remaining`, `t` is `RateLimit-Reset`.",
        json_schema!({ "type": "string", "examples": [r#""key";r=9999;t=1"#] }),
    );
    add(limit, false, "Number of requests in a burst.", number(1));
    add(remaining, false, "Number of requests that are allowed now.", number(0));
    add(
        reset,
        false,
        "Seconds until the full burst is allowed again; on a 429 for this rate, until the next \
         request is.",
        number(0),
    );
}

fn header(description: &str, required: bool, schema: Schema) -> Header {
    Header {
        description: Some(description.to_owned()),
        style: HeaderStyle::Simple,
        required,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(schemas::object(schema)),
        example: None,
        examples: Default::default(),
        extensions: Default::default(),
    }
}

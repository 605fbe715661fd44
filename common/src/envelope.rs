//! The envelope around every answer: `success: true` with `data`, or `success: false` with `error`.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A JSON boolean that is always `B`: reading the other one is an error.
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

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "boolean", "const": B })
    }
}

/// A successful answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Success<T> {
    pub success: ConstBool<true>,
    pub data: T,
}

impl<T> Success<T> {
    pub fn new(data: T) -> Self {
        Self { success: ConstBool, data }
    }
}

/// A successful answer with a list: all of it, or a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Paged<T> {
    pub success: ConstBool<true>,
    pub data: T,
    /// The value of `after` for the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A list, oldest first.
pub type List<T> = Paged<Vec<T>>;

/// A failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub success: ConstBool<false>,
    /// The error as a sentence for people.
    pub error: String,
    /// The kind of error, for programs.
    pub code: String,
    /// The member, parameter or header at fault, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The id in this answer's `X-Request-Id` header and in the server's log.
    pub request_id: String,
    /// Whole seconds to wait before the next attempt, on 429 and 503.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

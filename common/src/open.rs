//! Enums that may grow: a client of this version can read values of a later licd. Records with closed
//! enums, as licd uses them, take the open one as a type parameter, such as `License<Open<Status>>`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value of an enum that may grow. A client can read unknown values too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open<T> {
    Known(T),
    Unknown(String),
}

impl<T: Copy> Open<T> {
    /// Returns the value, or `None` if a later version of licd has added it.
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(value) => Some(*value),
            Self::Unknown(_) => None,
        }
    }
}

impl<T: PartialEq> PartialEq<T> for Open<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, Self::Known(value) if value == other)
    }
}

impl<T: FromStr> From<String> for Open<T> {
    fn from(word: String) -> Self {
        word.parse().map_or(Self::Unknown(word), Self::Known)
    }
}

impl<T: fmt::Display> fmt::Display for Open<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(word) => word.fmt(f),
            Self::Unknown(word) => f.pad(word),
        }
    }
}

impl<T: fmt::Display> Serialize for Open<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T: FromStr> Deserialize<'de> for Open<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(feature = "server")]
impl<T, D: sqlx::Database> sqlx::Type<D> for Open<T>
where
    String: sqlx::Type<D>,
{
    fn type_info() -> D::TypeInfo {
        String::type_info()
    }

    fn compatible(info: &D::TypeInfo) -> bool {
        String::compatible(info)
    }
}

#[cfg(feature = "server")]
impl<'r, T: FromStr, D: sqlx::Database> sqlx::Decode<'r, D> for Open<T>
where
    String: sqlx::Decode<'r, D>,
{
    fn decode(value: D::ValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        String::decode(value).map(Self::from)
    }
}

/// Lists known values and permits others, so that a generated client accepts all of them.
#[cfg(feature = "server")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Open<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = T::json_schema(generator);
        if let Some(words) = schema.remove("enum") {
            schema.insert("x-extensible-enum".into(), words);
        }
        schema
    }
}

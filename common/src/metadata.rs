//! Metadata: a JSON object of the caller, and changes of some of its members.

use std::ops::Deref;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::inline_schema::inline_schema;
use crate::text::Invalid;

/// A JSON object of the caller, of at most 16 KiB as compact JSON and 32 levels, so that it can
/// still be read inside a list. It contains no NUL character, because PostgreSQL's `jsonb` cannot
/// store one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Metadata(Map<String, Value>);

inline_schema!(Metadata, {
    "description": "The caller's own object: at most 16 KiB as compact JSON and 32 levels, \
                    without NUL characters.",
    "type": "object",
    "additionalProperties": {},
});

impl Metadata {
    const MAX: usize = 16 * 1024;
    const DEPTH: usize = 32;
    const WHAT: &str = "an object of at most 16 KiB and 32 levels of JSON without NUL characters";

    pub fn new(map: Map<String, Value>) -> Result<Self, Invalid> {
        let size = serde_json::to_string(&map).map_or(usize::MAX, |json| json.len());
        if size <= Self::MAX && fits(&map, Self::DEPTH) {
            Ok(Self(map))
        } else {
            Err(Invalid(Self::WHAT))
        }
    }
}

/// A change of metadata as in RFC 7396: its members replace those of the same name, objects are
/// merged member by member, and null removes a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "server", schemars(inline))]
pub struct MetadataPatch(Metadata);

impl MetadataPatch {
    pub fn new(map: Map<String, Value>) -> Result<Self, Invalid> {
        Metadata::new(map).map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the metadata after the change. `before` is `None` for a new record.
    pub fn apply(&self, before: Option<&Metadata>) -> Result<Metadata, Invalid> {
        let mut map = before.map(|before| before.0.clone()).unwrap_or_default();
        merge(&mut map, &self.0);
        Metadata::new(map)
    }
}

fn merge(map: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match value {
            Value::Null => drop(map.remove(key)),
            Value::Object(patch) => {
                let before = map.get(key).and_then(Value::as_object);
                let mut members = before.cloned().unwrap_or_default();
                merge(&mut members, patch);
                map.insert(key.clone(), members.into());
            }
            value => drop(map.insert(key.clone(), value.clone())),
        }
    }
}

fn fits(map: &Map<String, Value>, levels: usize) -> bool {
    levels > 0
        && map.iter().all(|(key, value)| !key.contains('\0') && value_fits(value, levels - 1))
}

fn value_fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::String(text) => !text.contains('\0'),
        Value::Array(values) => {
            levels > 0 && values.iter().all(|value| value_fits(value, levels - 1))
        }
        Value::Object(map) => fits(map, levels),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

impl Deref for Metadata {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(map) => {
                Self::new(map).map_err(|_| D::Error::invalid_value(Unexpected::Map, &Self::WHAT))
            }
            _ => Err(D::Error::invalid_type(Unexpected::Other("no object"), &Self::WHAT)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_is_merged_member_by_member() {
        let read = |json| serde_json::from_value::<Metadata>(json).unwrap();
        let before = read(json!({ "team": "blue", "seat": 4, "at": { "city": "Lyon", "zip": 1 } }));
        for (patch, after) in [
            (json!({}), json!({ "team": "blue", "seat": 4, "at": { "city": "Lyon", "zip": 1 } })),
            (
                json!({ "team": "red", "seat": null, "none": null, "at": { "zip": null, "no": 7 } }),
                json!({ "team": "red", "at": { "city": "Lyon", "no": 7 } }),
            ),
            (
                json!({ "team": { "lead": "ada", "x": null }, "at": "sea", "seat": [null] }),
                json!({ "team": { "lead": "ada" }, "at": "sea", "seat": [null] }),
            ),
        ] {
            let patch: MetadataPatch = serde_json::from_value(patch).unwrap();
            assert_eq!(json!(patch.apply(Some(&before)).unwrap()), after);
        }
        let new: MetadataPatch = serde_json::from_value(json!({ "a": 1, "b": null })).unwrap();
        assert_eq!(json!(new.apply(None).unwrap()), json!({ "a": 1 }));
        let half = "x".repeat(9_000);
        let large: MetadataPatch = serde_json::from_value(json!({ "b": half })).unwrap();
        assert!(large.apply(Some(&read(json!({ "a": half })))).is_err());
    }

    #[test]
    fn metadata_is_an_object_within_16_kib_and_32_levels_without_nul() {
        let read = |json| serde_json::from_value::<Metadata>(json);
        let frame = json!({ "k": "" }).to_string().len();
        assert!(read(json!({ "k": "x".repeat(Metadata::MAX - frame) })).is_ok());
        assert!(read(json!({ "k": "x".repeat(Metadata::MAX - frame + 1) })).is_err());
        assert!(read(json!({ "a": [{ "b": "\0" }] })).is_err());
        assert!(read(json!({ "a": { "\0": 1 } })).is_err());
        assert!(read(json!([])).is_err());
        let nested = |levels| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
        assert!(read(nested(32)).is_ok());
        assert!(read(nested(33)).is_err());
    }
}

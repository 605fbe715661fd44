//! `--field` of `licctl api`: members of a JSON body, nested ones too, or parameters of a query.

use std::fs;
use std::str::FromStr;

use crate::commands::prelude::*;
use serde_json::{Map, Value};

/// One `KEY=VALUE`.
#[derive(Clone, Debug)]
pub struct FieldArg {
    /// The key as it was given.
    key: String,
    name: String,
    /// The parts in brackets; an empty one adds an entry to a list.
    inner: Vec<String>,
    value: Value,
}

impl FieldArg {
    /// A field whose value is text, whatever it looks like.
    pub fn text(text: &str) -> std::result::Result<Self, &'static str> {
        const SYNTAX: &str = "must be KEY=VALUE, KEY[MEMBER]=VALUE or KEY[]=VALUE";
        let (key, value) = text.split_once('=').ok_or(SYNTAX)?;
        let (name, mut rest) = key.split_at(key.find('[').unwrap_or(key.len()));
        let mut inner = Vec::new();
        while let Some(part) = rest.strip_prefix('[') {
            let (part, after) = part.split_once(']').ok_or(SYNTAX)?;
            inner.push(part.to_owned());
            rest = after;
        }
        if name.is_empty() || !rest.is_empty() {
            return Err(SYNTAX);
        }
        Ok(Self { key: key.to_owned(), name: name.to_owned(), inner, value: value.into() })
    }
}

impl FromStr for FieldArg {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let mut field = Self::text(text)?;
        let value = field.value.as_str().unwrap_or_default();
        if let Some(path) = value.strip_prefix('@') {
            let content = fs::read_to_string(path);
            field.value = content.map_err(|error| format!("{path}: {error}"))?.into();
            return Ok(field);
        }
        let json = serde_json::from_str::<Value>(value).ok();
        let is_scalar = |json: &Value| !json.is_object() && !json.is_array() && !json.is_string();
        if let Some(scalar) = json.filter(is_scalar) {
            field.value = scalar;
        }
        Ok(field)
    }
}

/// The object with all fields.
pub fn body(fields: &[FieldArg]) -> Result<Value> {
    let mut body = Value::Object(Map::new());
    for field in fields {
        let mut place = &mut body[&field.name];
        for part in &field.inner {
            let fits = if part.is_empty() { place.is_array() } else { place.is_object() };
            if !fits && !place.is_null() {
                return Err(conflict(field));
            }
            place = if part.is_empty() {
                if place.is_null() {
                    *place = Value::Array(Vec::new());
                }
                let entries = place.as_array_mut().ok_or_else(|| conflict(field))?;
                entries.push(Value::Null);
                entries.last_mut().ok_or_else(|| conflict(field))?
            } else {
                &mut place[part]
            };
        }
        if place.is_object() || place.is_array() {
            return Err(conflict(field));
        }
        *place = field.value.clone();
    }
    Ok(body)
}

fn conflict(field: &FieldArg) -> Error {
    Error::usage(format!("--field {} conflicts with an earlier field.", field.key))
        .because("A field is a value, an object or an array.")
}

/// The pairs of a query, which has no nested fields.
pub fn query(fields: &[FieldArg]) -> Result<Vec<(String, String)>> {
    let pair = |field: &FieldArg| {
        if !field.inner.is_empty() {
            return Err(Error::usage(format!("--field {} requires a body.", field.key))
                .because("A query cannot have nested fields."));
        }
        let text = field.value.as_str().map_or_else(|| field.value.to_string(), str::to_owned);
        Ok((field.name.clone(), text))
    };
    fields.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(texts: &[&str]) -> Vec<FieldArg> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn brackets_nest() {
        let texts = ["a=1", "m[x]=y", "m[z][q]=true", "l[]=1", "l[]=b", "t=[1]", "e=", "n=null"];
        let wanted = json!({
            "a": 1, "m": { "x": "y", "z": { "q": true } }, "l": [1, "b"], "t": "[1]", "e": "",
            "n": null,
        });
        assert_eq!(body(&fields(&texts)).unwrap(), wanted);
        assert_eq!(query(&fields(&["a=1", "b=x y"])).unwrap()[1], ("b".into(), "x y".into()));
    }

    #[test]
    fn what_fits_nowhere_is_refused() {
        for text in ["a", "[x]=1", "a[x=1", "a[x]y=1"] {
            assert!(text.parse::<FieldArg>().is_err(), "{text}");
        }
        for texts in [["a=1", "a[x]=2"], ["a[]=1", "a[x]=2"], ["a[x]=1", "a=2"]] {
            assert!(body(&fields(&texts)).is_err(), "{texts:?}");
        }
        assert!(query(&fields(&["a[x]=1"])).is_err());
    }
}

//! One spelling of each value, whichever database it came from, so that rows can be compared.
//!
//! PostgreSQL keeps JSON as a tree: it sorts an object's members and spells numbers its own way.
//! What means the same is written the same here. Moments count in milliseconds, as everywhere.

use chrono::{DateTime, Utc};
use serde_json::{Number, Value};
use sqlx::types::Json;
use uuid::Uuid;

/// A value of a column, with one spelling.
pub trait Canonical {
    /// Appends the spelling. No two rows of different values append the same.
    fn spell(&self, out: &mut Vec<u8>);
}

/// With the length in front, so that the end of one value is not taken for the start of the next.
fn spell_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&bytes.len().to_be_bytes());
    out.extend_from_slice(bytes);
}

impl<T: Canonical> Canonical for Option<T> {
    fn spell(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.spell(out);
        }
    }
}

impl Canonical for Uuid {
    fn spell(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

impl Canonical for i32 {
    fn spell(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
}

impl Canonical for DateTime<Utc> {
    fn spell(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.timestamp_millis().to_be_bytes());
    }
}

impl Canonical for String {
    fn spell(&self, out: &mut Vec<u8>) {
        spell_bytes(self.as_bytes(), out);
    }
}

impl Canonical for Vec<u8> {
    fn spell(&self, out: &mut Vec<u8>) {
        spell_bytes(self, out);
    }
}

impl Canonical for Json<Value> {
    fn spell(&self, out: &mut Vec<u8>) {
        spell_json(&self.0, out);
    }
}

fn spell_json(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(b'0'),
        Value::Bool(yes) => out.push(if *yes { b't' } else { b'f' }),
        Value::Number(number) => {
            out.push(b'n');
            spell_bytes(spell_number(number).as_bytes(), out);
        }
        Value::String(text) => {
            out.push(b's');
            spell_bytes(text.as_bytes(), out);
        }
        Value::Array(values) => {
            out.push(b'[');
            values.iter().for_each(|value| spell_json(value, out));
            out.push(b']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            out.push(b'{');
            for (name, value) in members {
                spell_bytes(name.as_bytes(), out);
                spell_json(value, out);
            }
            out.push(b'}');
        }
    }
}

/// 10, 10.0 and 1e1 are one number, and so are 0 and -0. A whole number that no float holds exactly
/// keeps all its digits.
fn spell_number(number: &Number) -> String {
    match number.as_f64() {
        Some(0.0) => "0".into(),
        Some(float) if number.is_f64() || float.to_string() == number.to_string() => {
            float.to_string()
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(json: &str) -> Vec<u8> {
        let mut out = Vec::new();
        Json(serde_json::from_str::<Value>(json).unwrap()).spell(&mut out);
        out
    }

    #[test]
    fn what_means_the_same_is_spelled_the_same() {
        for (one, other) in [
            (r#"{"a": 1, "b": {"d": 2, "c": 3}}"#, r#"{"b":{"c":3,"d":2},"a":1}"#),
            ("10", "1e1"),
            ("10.0", "10"),
            ("-0.0", "0"),
            ("1e19", "10000000000000000000"),
            ("1e300", &format!("1{}", "0".repeat(300))),
        ] {
            assert_eq!(spelled(one), spelled(other), "{one} and {other}");
        }
    }

    #[test]
    fn what_differs_is_spelled_differently() {
        for (one, other) in [
            (r#"["ab", "c"]"#, r#"["a", "bc"]"#),
            (r#"["a", "b"]"#, r#"["b", "a"]"#),
            (r#"[["a"], "b"]"#, r#"[["a", "b"]]"#),
            (r#"{"a": null}"#, "{}"),
            ("1", r#""1""#),
            ("18446744073709551615", "18446744073709551614"),
            ("0.1", "0.10000000000000002"),
        ] {
            assert_ne!(spelled(one), spelled(other), "{one} and {other}");
        }
    }

    #[test]
    fn nothing_is_not_the_empty_text() {
        let (mut nothing, mut empty) = (Vec::new(), Vec::new());
        None::<String>.spell(&mut nothing);
        Some(String::new()).spell(&mut empty);
        assert_ne!(nothing, empty);
    }
}

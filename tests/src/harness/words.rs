//! Stable words in place of ids, times, request ids and keys, which differ in every run.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::Value;

/// The words given out so far. An id keeps its word for the whole test: the first license that is
/// shown is always `lic_1`.
#[derive(Default)]
pub struct Words(Mutex<Given>);

#[derive(Default)]
struct Given {
    words: HashMap<String, String>,
    kinds: HashMap<String, usize>,
}

const PREFIXES: [&str; 9] = ["ten", "key", "prd", "pln", "lic", "usr", "asg", "act", "evt"];

impl Words {
    /// Returns this value with stable words.
    pub fn stable(&self, value: &Value) -> Value {
        match value {
            Value::Array(values) => values.iter().map(|value| self.stable(value)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| {
                    let value = match name.as_str() {
                        "requestId" => "<request id>".into(),
                        "key" | "prefix" if value.is_string() => "<key>".into(),
                        _ => self.stable(value),
                    };
                    (name.clone(), value)
                })
                .collect(),
            Value::String(text) => self.word(text).into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn word(&self, text: &str) -> String {
        if is_time(text) && !text.ends_with("T00:00:00.000Z") {
            // Midnight is what tests ask for themselves.
            return "<time>".into();
        }
        let Some((prefix, rest)) = text.split_once('_') else { return text.into() };
        if !PREFIXES.contains(&prefix) || rest.len() != 26 {
            return text.into();
        }
        let mut given = self.0.lock().unwrap();
        if let Some(word) = given.words.get(text) {
            return word.clone();
        }
        let number = given.kinds.entry(prefix.into()).or_default();
        *number += 1;
        let word = format!("{prefix}_{number}");
        given.words.insert(text.into(), word.clone());
        word
    }
}

fn is_time(text: &str) -> bool {
    text.len() == "2027-01-31T12:00:00.000Z".len()
        && text.bytes().zip(b"0000-00-00T00:00:00.000Z").all(|(byte, &like)| match like {
            b'0' => byte.is_ascii_digit(),
            _ => byte == like,
        })
}

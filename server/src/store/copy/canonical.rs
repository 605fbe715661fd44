//! Encodes each value in the same way, whichever database it came from, so that rows can be
//! compared.
//!
//! Times have millisecond precision, as everywhere; metadata is compared by bytes.

use common::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;
use sqlx::types::Json;
use uuid::Uuid;

use crate::db::AsWritten;

pub trait Canonical {
    /// Appends the encoding. Rows with different values never append the same bytes.
    fn encode_canonical(&self, out: &mut Vec<u8>);
}

/// Writes the length first, so that a value's end cannot be mistaken for the next one's start.
fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&bytes.len().to_be_bytes());
    out.extend_from_slice(bytes);
}

impl<T: Canonical> Canonical for Option<T> {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.encode_canonical(out);
        }
    }
}

impl Canonical for Uuid {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

impl Canonical for bool {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl Canonical for i32 {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
}

impl Canonical for i64 {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
}

impl Canonical for Timestamp {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.millis().to_be_bytes());
    }
}

impl Canonical for String {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        encode_bytes(self.as_bytes(), out);
    }
}

impl Canonical for Vec<u8> {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        encode_bytes(self, out);
    }
}

/// The names of features, which both databases return unchanged.
impl Canonical for Json<Value> {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        encode_bytes(self.0.to_string().as_bytes(), out);
    }
}

impl Canonical for AsWritten<Box<RawValue>> {
    fn encode_canonical(&self, out: &mut Vec<u8>) {
        encode_bytes(self.0.get().as_bytes(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_value_is_not_the_start_of_the_next() {
        let encoded = |values: [&str; 2]| {
            let mut out = Vec::new();
            values.iter().for_each(|value| value.to_string().encode_canonical(&mut out));
            out
        };
        assert_ne!(encoded(["ab", "c"]), encoded(["a", "bc"]));
    }

    #[test]
    fn nothing_is_not_the_empty_text() {
        let (mut nothing, mut empty) = (Vec::new(), Vec::new());
        None::<String>.encode_canonical(&mut nothing);
        Some(String::new()).encode_canonical(&mut empty);
        assert_ne!(nothing, empty);
    }
}

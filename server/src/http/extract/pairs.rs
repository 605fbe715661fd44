//! The pairs of a query or a form, read strictly.

use percent_encoding::percent_decode;
use serde::de::DeserializeOwned;

use super::describe;
use crate::error::Error;

/// Reads pairs, each of which must be UTF-8: form_urlencoded would read U+FFFD in its place.
pub fn read<T: DeserializeOwned>(encoded: &[u8]) -> Result<T, Error> {
    for pair in encoded.split(|byte| *byte == b'&') {
        if percent_decode(pair).decode_utf8().is_err() {
            return Err(describe::not_utf8(&String::from_utf8_lossy(pair)));
        }
    }
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(encoded));
    serde_path_to_error::deserialize(pairs).map_err(describe::query)
}

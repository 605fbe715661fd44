//! The answers of that service about license keys.

use serde_json::{Value, json};

use super::Reply;
use super::records::LICENSE;

/// The text that users type.
const TEXT: &str = "7KQ4M-0A1B1-C2D3E-4F5G6-7J8KX";

pub fn record() -> Value {
    json!({
        "id": "lky_01h455vb4pex5vsknk084sn02q",
        "licenseId": LICENSE,
        "suffix": "67J8KX",
        "maxUses": 1,
        "uses": 0,
        "usesLimit": 1,
        "licenseStatus": "active",
        "createdAt": "2026-01-31T12:00:00.000Z",
        "expiresAt": null,
        "revokedAt": null,
    })
}

/// The answer to a POST, if it is about license keys.
pub fn written(words: &[&str]) -> Option<Reply> {
    let with = |member: &str, value: &str| {
        let mut record = record();
        record[member] = value.into();
        record
    };
    Some(match words {
        ["admin", "licenses", _, "keys"] | ["admin", "license-keys", _, "reissue"] => {
            Reply::data(201, &with("key", TEXT))
        }
        ["admin", "license-keys", "find"] => Reply::data(200, &record()),
        ["admin", "license-keys", _, "revoke"] => {
            Reply::data(200, &with("revokedAt", "2026-02-01T12:00:00.000Z"))
        }
        ["claim"] => Reply::refusal(409, "license_key_used_up", "The license key was used up"),
        _ => return None,
    })
}

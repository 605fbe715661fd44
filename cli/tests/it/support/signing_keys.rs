//! The answers of that service about signing keys.

use serde_json::{Value, json};

use super::fake_server::{Reply, Request};

/// Both have the same public key.
fn record(id: &str, state: &str) -> Value {
    json!({
        "id": format!("sig_01h455vb4pex5vsknk084sn02{id}"),
        "state": state,
        "createdAt": "2026-01-31T12:00:00.000Z",
        "retiredAt": null,
        "jwk": {
            "kty": "EC",
            "crv": "P-256",
            "x": "geP5oWPW6PKSaaFLWT3pnld_zFikDcxusAMe3kRYkT8",
            "y": "QYFo36GgbtUbZJlB_np-truepXNh67GZRDPgyuXbsQc",
            "kid": "jHqbdfyKCs2hoBIA_cPISVgs1k0Izur13dZzuzmE3aQ",
            "use": "sig",
            "alg": "ES256",
        },
    })
}

/// The answer, if the request is about signing keys.
pub fn answer(request: &Request, words: &[&str]) -> Option<Reply> {
    let pair = |active, standby| json!({ "active": record(active, "active"), "standby": record(standby, "standby") });
    Some(match (request.method.as_str(), words) {
        ("GET", ["signing-keys"]) => Reply::list(&[record("q", "active"), record("r", "standby")]),
        ("POST", ["admin", "signing-keys"]) => Reply::data(201, &pair("q", "r")),
        ("POST", ["admin", "signing-keys", "rotate"]) => Reply::data(200, &pair("r", "s")),
        ("DELETE", ["admin", "signing-keys", _]) => Reply::data(200, &record("q", "retired")),
        _ => return None,
    })
}

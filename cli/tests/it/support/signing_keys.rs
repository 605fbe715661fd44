//! The answers of that service about signing keys.

use serde_json::{Value, json};

use super::fake_server::{Reply, Request};

/// Both have the public key of RFC 7515, appendix A.3.
fn record(id: &str, state: &str) -> Value {
    json!({
        "id": format!("sig_01h455vb4pex5vsknk084sn02{id}"),
        "state": state,
        "createdAt": "2026-01-31T12:00:00.000Z",
        "retiredAt": null,
        "jwk": {
            "kty": "EC",
            "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            "kid": "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U",
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

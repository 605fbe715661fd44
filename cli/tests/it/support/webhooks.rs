//! The answers of that service about webhooks.

use serde_json::{Value, json};

use super::fake_server::{Reply, Request};

pub fn record() -> Value {
    json!({
        "id": "whk_01h455vb4pex5vsknk084sn02q",
        "url": "https://example.com/licd",
        "description": "Shop",
        "types": ["license.*"],
        "state": "healthy",
        "disabledReason": null,
        "secretMissing": false,
        "sequence": 42,
        "pending": 0,
        "held": 1,
        "givenUp": 0,
        "firstGivenUp": null,
        "failingSince": null,
        "nextAttemptAt": null,
        "lastSuccessAt": "2026-01-31T12:00:00.000Z",
        "lastStatus": 200,
        "oldSecretUntil": null,
        "createdAt": "2026-01-31T12:00:00.000Z",
        "updatedAt": "2026-01-31T12:00:00.000Z",
    })
}

fn failure() -> Value {
    json!({
        "id": "whf_01h455vb4pex5vsknk084sn02q",
        "event": "evt_01h455vb4pex5vsknk084sn02q",
        "sequence": 41,
        "attempt": 5,
        "gaveUp": true,
        "error": "status",
        "status": 500,
        "response": "Internal Server Error",
        "durationMs": 12,
        "at": "2026-01-31T12:00:00.000Z",
    })
}

fn delivery() -> Value {
    json!({
        "delivered": true,
        "event": "evt_01h455vb4pex5vsknk084sn02q",
        "error": null,
        "status": 200,
        "response": null,
        "durationMs": 12,
    })
}

/// The answer, if the request is about webhooks.
pub fn answer(request: &Request, words: &[&str]) -> Option<Reply> {
    let ["admin", "webhooks", words @ ..] = words else { return None };
    let created = || {
        let mut record = record();
        record["secret"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into();
        Reply::data(201, &record)
    };
    Some(match (request.method.as_str(), words) {
        ("GET", []) => Reply::list(&[record()]),
        ("POST", [] | [_, "roll"]) => created(),
        ("GET", [_, "failures"]) => Reply::list(&[failure()]),
        ("POST", [_, "test" | "resend"]) => Reply::data(200, &delivery()),
        ("POST", [_, "retry"]) => Reply::data(200, &json!({ "subjects": 1 })),
        _ => Reply::data(200, &record()),
    })
}

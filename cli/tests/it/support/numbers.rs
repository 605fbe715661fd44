//! The answers of that service about totals, statistics and numbers.

use serde_json::{Value, json};

use super::fake_server::{Reply, Request};
use super::records::PLAN;

pub fn answer(request: &Request, words: &[&str]) -> Option<Reply> {
    let data = match (request.method.as_str(), words) {
        ("GET", ["admin", "licenses", "totals"]) => json!({
            "licenses": 30, "seats": 1891, "unlimited": 2, "held": 279, "complete": true,
        }),
        ("GET", ["admin", "statistics"]) => statistics(),
        ("GET", ["admin", "statistics", "plans"]) => json!({
            "day": "2026-01-31", "total": numbers(json!({})),
            "plans": [numbers(json!({ "planId": PLAN }))],
        }),
        ("GET", ["admin", "statistics", "months"]) => {
            let validations = json!({
                "total": 100, "valid": 90, "noLicense": 0, "expired": 10, "revoked": 0,
                "suspended": 0, "exceededSeats": 0, "userNotFound": 0,
            });
            json!({ "months": [numbers(json!({ "month": "2026-01", "validations": validations }))] })
        }
        _ => return None,
    };
    Some(Reply::data(200, &data))
}

fn numbers(mut of: Value) -> Value {
    for (member, number) in [
        ("licenses", 38),
        ("seats", 580),
        ("unlimited", 0),
        ("heldLimited", 191),
        ("heldUnlimited", 0),
        ("active", 248),
        ("full", 5),
        ("over", 2),
        ("waiting", 0),
        ("waitingSeats", 0),
        ("started", 2),
        ("ended", 1),
    ] {
        of[member] = number.into();
    }
    of
}

/// The counts of three hours around midnight.
pub fn statistics() -> Value {
    let hour = |hour: &str, valid: i64, expired: i64| {
        json!({
            "hour": hour, "total": valid + expired, "valid": valid, "noLicense": 0,
            "expired": expired, "revoked": 0, "suspended": 0, "exceededSeats": 0,
            "userNotFound": 0,
        })
    };
    json!({
        "from": "2026-03-01T22:00:00.000Z",
        "to": "2026-03-02T01:00:00.000Z",
        "hours": [
            hour("2026-03-01T22:00:00.000Z", 16, 0),
            hour("2026-03-01T23:00:00.000Z", 8, 1),
            hour("2026-03-02T00:00:00.000Z", 0, 3),
        ],
    })
}

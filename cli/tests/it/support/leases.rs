//! A lease, and the answers of that service about it.

use serde_json::{Value, json};

use super::fake_server::{Reply, Request};
use super::records;

/// A lease that is signed with a key that was thrown away, whose public key the service has: for
/// alice on her desk, from 2027-02-01T12:00:00Z to 2027-03-03T12:00:00Z.
pub const LEASE: &str = "\
    eyJhbGciOiJFUzI1NiIsInR5cCI6ImxpY2QtbGVhc2Urand0Iiwia2lkIjoiakhxYmRmeUtDczJob0JJQV9jUElT\
    VmdzMWswSXp1cjEzZFp6dXptRTNhUSJ9.eyJpc3MiOiJ0ZW5fMDFoNDU1dmI0cGV4NXZza25rMDg0c24wMnEiLCJ\
    tb2RlIjoibGl2ZSIsInN1YiI6ImFsaWNlIiwiYXVkIjoicHJkXzAxaDQ1NXZiNHBleDV2c2tuazA4NHNuMDJxIiw\
    ianRpIjoibGVhXzAxaDQ1NXZiNHBleDV2c2tuazA4NHNuMDJxIiwiaWF0IjoxODAxNDgzMjAwLCJleHAiOjE4MDQ\
    wNzUyMDAsImxpY2Vuc2VJZCI6ImxpY18wMWg0NTV2YjRwZXg1dnNrbmswODRzbjAycSIsInBsYW5JZCI6InBsbl8\
    wMWg0NTV2YjRwZXg1dnNrbmswODRzbjAycSIsImZlYXR1cmVzIjpbImV4cG9ydCJdLCJsaWNlbnNlRXhwaXJlc0F\
    0IjoiMjAyOC0wMS0zMVQxMjowMDowMC4wMDBaIiwiZGV2aWNlIjoiZGVzayJ9.pzuAUgqXgidO3cxGZ2N6UXOQ-\
    vBWOvKeGsmLrdL70LapLcCPQaEcTqC9UEPnAxOhZHobstL8jklxAzPO3MoqXA";

fn lease() -> Value {
    json!({
        "id": "lea_01h455vb4pex5vsknk084sn02q",
        "token": LEASE,
        "issuedAt": "2027-02-01T12:00:00.000Z",
        "expiresAt": "2027-03-03T12:00:00.000Z",
        "renewAfter": "2027-02-16T12:00:00.000Z",
    })
}

fn running() -> Value {
    json!({
        "id": "asg_01h455vb4pex5vsknk084sn02q",
        "userId": "usr_01h455vb4pex5vsknk084sn02q",
        "externalId": "alice",
        "licenseId": records::LICENSE,
        "device": "desk",
        "leasedUntil": "2999-01-31T12:00:00.000Z",
    })
}

/// The answer, if the request is about leases. Bob is licensed and gets none; others are not.
pub fn answer(request: &Request, words: &[&str]) -> Option<Reply> {
    match (request.method.as_str(), words) {
        ("GET", ["admin", "leases"]) => return Some(Reply::list(&[running()])),
        ("POST", ["lease"]) => {}
        _ => return None,
    }
    let mut answer =
        json!({ "valid": true, "license": records::license("active"), "features": [] });
    match request.body["userId"].as_str() {
        Some("alice") => answer["lease"] = lease(),
        Some("bob") => {
            answer["lease"] = Value::Null;
            answer["leaseReason"] = "not_offered".into();
        }
        _ => answer = json!({ "valid": false, "reason": "suspended" }),
    }
    Some(Reply::data(200, &answer))
}

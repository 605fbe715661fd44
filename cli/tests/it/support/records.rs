//! One record of each kind, and a service that has one of everything.

use chrono::DateTime;
use common::Timestamp;
use serde_json::{Value, json};

use super::OTHER_KEY;
use super::fake_server::{FakeServer, Reply, Request};
use super::{leases, license_keys, numbers, signing_keys, webhooks};

pub const PRODUCT: &str = "prd_01h455vb4pex5vsknk084sn02q";
pub const PLAN: &str = "pln_01h455vb4pex5vsknk084sn02q";
pub const LICENSE: &str = "lic_01h455vb4pex5vsknk084sn02q";

/// A service with one of everything.
pub fn service() -> FakeServer {
    FakeServer::answering(answer)
}

/// Whether a request asks for a user's licenses of a plan, and not for a list to show.
fn is_question(path: &str) -> bool {
    path.contains("?planId=") && path.contains("&userId=") && path.ends_with("limit=1000")
}

/// The answers of that service.
pub fn answer(request: &Request) -> Reply {
    let path = request.path.split('?').next().unwrap();
    let Some(path) = path.strip_prefix("/api/v1/") else { return health() };
    let words: Vec<&str> = path.split('/').collect();
    let answer = webhooks::answer(request, &words);
    let answer = answer.or_else(|| leases::answer(request, &words));
    let answer = answer.or_else(|| numbers::answer(request, &words));
    if let Some(answer) = answer.or_else(|| signing_keys::answer(request, &words)) {
        return answer;
    }
    match (request.method.as_str(), words.as_slice()) {
        ("GET", ["admin", "products"]) => Reply::list(&[product("Acme Studio")]),
        ("GET", ["admin", "plans"]) => Reply::list(&[plan("Pro annual")]),
        ("GET", ["admin", "products", _]) => Reply::data(200, &product("Acme Studio")),
        ("GET", ["admin", "plans", _]) => Reply::data(200, &plan("Pro annual")),
        // Users have no license of a plan yet.
        ("GET", ["admin", "licenses"]) if is_question(&request.path) => Reply::list(&[]),
        ("GET", ["admin", "licenses"]) => Reply::list(&[license_with_seats(4)]),
        ("GET", ["admin", "users"])
            if request.path.contains("externalId=nobody")
                || request.path.contains("similarTo=") =>
        {
            Reply::list(&[])
        }
        ("GET", ["admin", "users"]) => Reply::list(&[user("alice")]),
        ("GET", ["admin", "users", _]) => Reply::data(200, &user("alice")),
        ("GET", ["admin", "licenses", _, "usage"]) => Reply::data(200, &usage(4)),
        ("GET", ["admin", "licenses", _, "assignments"]) => {
            Reply::list(&[assigned("alice", true), assigned("dave", false)])
        }
        ("GET", ["admin", "licenses", id]) if *id == LICENSE => {
            Reply::data(200, &license_with_seats(4))
        }
        ("GET", ["admin", "licenses", _, "keys"] | ["admin", "license-keys"]) => {
            Reply::list(&[license_keys::record()])
        }
        ("GET", ["admin", "events"]) => events(request),
        ("GET", ["admin", "refusals"]) => Reply::list(&[refusal("alice", "expired")]),
        ("GET", ["admin", "keys"]) => Reply::list(&[key()]),
        ("GET", ["key"]) => Reply::data(200, &current_key()),
        ("GET", ["openapi.json"]) => {
            let document = json!({ "info": { "version": env!("CARGO_PKG_VERSION") } });
            Reply::new(200, document.to_string())
        }
        ("GET", _) => nothing(),
        (_, words) => written(request, words),
    }
}

fn nothing() -> Reply {
    Reply::refusal(404, "not_found", "There is no such thing.")
}

/// Returns the responses to requests with a body.
fn written(request: &Request, words: &[&str]) -> Reply {
    match (request.method.as_str(), words) {
        ("POST", ["admin", "products"]) => Reply::data(201, &product("Acme Studio")),
        ("POST", ["admin", "plans"]) => Reply::data(201, &plan("Pro annual")),
        ("POST", ["admin", "licenses"]) => Reply::data(201, &license("active")),
        ("POST", ["admin", "users"]) => Reply::data(201, &user("alice")),
        ("POST", ["admin", "users", _, "forget"]) => {
            let left = json!({ "type": "backup", "description": "Backups.", "licenseId": null, "until": null });
            let id = user("alice")["id"].clone();
            Reply::data(
                200,
                &json!({ "userId": id, "externalId": "alice", "changedEvents": 3, "remaining": [left] }),
            )
        }
        ("POST", ["admin", "licenses", _, "assign"]) if request.body["userId"] == "bad" => {
            Reply::refusal(400, "invalid", "userId: no")
        }
        ("POST", ["admin", "licenses", _, "assign"]) => Reply::data(201, &assignment()),
        ("POST", ["admin", "licenses", _, "release"]) => {
            Reply::data(200, &json!({ "released": [{ "licenseId": LICENSE }] }))
        }
        ("POST", ["admin", "licenses", _, "transfer"]) => Reply::data(200, &assigned("dave", true)),
        ("DELETE", ["admin", "licenses", _, "assign"]) => Reply::data(200, &assignment()),
        ("POST", ["admin", "licenses", _, "renew"]) => Reply::data(200, &license("active")),
        ("PATCH", ["admin", "licenses", _, "status"]) => {
            Reply::data(200, &license(request.body["status"].as_str().unwrap()))
        }
        ("PATCH" | "DELETE", ["admin", "licenses", _]) => Reply::data(200, &license("active")),
        ("PATCH" | "DELETE", ["admin", "plans", _]) => Reply::data(200, &plan("Pro annual")),
        ("PATCH" | "DELETE", ["admin", "users", _]) => Reply::data(200, &user("alice")),
        ("POST", ["validate" | "claim"]) if request.body["userId"] == "alice" => {
            let mut activation = usage(1)["activations"][0].clone();
            activation.as_object_mut().unwrap().retain(|name, _| !is_of_user(name));
            let license = license("active");
            let data = json!({
                "valid": true, "license": license, "activation": activation,
                "features": ["export", "sso"],
            });
            Reply::data(200, &data)
        }
        ("POST", ["validate"]) => {
            Reply::data(200, &json!({ "valid": false, "reason": "no_license" }))
        }
        (_, ["admin", "explain"]) => {
            let licenses = [explained("active", None, "exceeded_seats")];
            Reply::data(200, &explanation(Some("exceeded_seats"), &licenses))
        }
        ("POST", ["admin", "keys"]) => Reply::data(201, &with(key(), "key", OTHER_KEY)),
        ("POST", ["admin", "keys", _, "roll"]) => Reply::data(201, &with(key(), "key", OTHER_KEY)),
        ("POST", ["admin", "keys", _, "revoke"]) => {
            Reply::data(200, &with(key(), "revokedAt", "2026-02-01T12:00:00.000Z"))
        }
        ("PATCH" | "DELETE", ["admin", "products", _]) => Reply::data(200, &product("Acme Studio")),
        ("POST", words) => license_keys::written(words).unwrap_or_else(nothing),
        _ => nothing(),
    }
}

/// The answers of a healthy service with the clock of this machine.
fn health() -> Reply {
    let now = DateTime::from_timestamp_millis(Timestamp::now().millis() as i64).unwrap();
    let date = now.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    Reply::data(200, &json!({ "status": "ok" })).with("date", date)
}

fn with(mut record: Value, field: &str, value: &str) -> Value {
    record[field] = value.into();
    record
}

pub fn product(name: &str) -> Value {
    json!({
        "id": PRODUCT,
        "name": name,
        "description": null,
        "createdAt": "2026-01-31T12:00:00.000Z",
        "updatedAt": "2026-01-31T12:00:00.000Z",
    })
}

pub fn plan(name: &str) -> Value {
    json!({
        "id": PLAN,
        "productId": PRODUCT,
        "name": name,
        "description": null,
        "maxSeats": 5,
        "expiresInDays": 365,
        "features": ["export", "sso"],
        "createdAt": "2026-01-31T12:00:00.000Z",
        "updatedAt": "2026-01-31T12:00:00.000Z",
    })
}

pub fn license(status: &str) -> Value {
    json!({
        "id": LICENSE,
        "productId": PRODUCT,
        "planId": PLAN,
        "status": status,
        "maxSeats": 5,
        "expiresAt": "2999-01-31T12:00:00.000Z",
        "features": ["export", "sso"],
        "createdAt": "2026-01-31T12:00:00.000Z",
        "updatedAt": "2026-01-31T12:00:00.000Z",
    })
}

pub fn user(external_id: &str) -> Value {
    json!({
        "id": "usr_01h455vb4pex5vsknk084sn02q",
        "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
        "externalId": external_id,
        "email": format!("{external_id}@example.com"),
        "name": null,
        "metadata": null,
        "createdAt": "2026-01-31T12:00:00.000Z",
        "updatedAt": "2026-01-31T12:00:00.000Z",
    })
}

pub fn assignment() -> Value {
    json!({
        "id": "asg_01h455vb4pex5vsknk084sn02q",
        "userId": "usr_01h455vb4pex5vsknk084sn02q",
        "licenseId": LICENSE,
        "assignedAt": "2026-01-31T12:00:00.000Z",
        "metadata": null,
    })
}

/// The assignment as the license's list shows it.
pub fn assigned(user: &str, has_seat: bool) -> Value {
    let mut assignment = assignment();
    assignment["externalId"] = user.into();
    if user != "alice" {
        assignment["userId"] = "usr_01h455vb4pex5vsknk084sn0zz".into();
    }
    assignment["email"] = format!("{user}@example.com").into();
    assignment["name"] = Value::Null;
    let mut seat = usage(1)["activations"][0].clone();
    seat.as_object_mut().unwrap().retain(|name, _| !is_of_user(name));
    assignment["activation"] = if has_seat { seat } else { Value::Null };
    assignment
}

/// The license as lists and single reads show it.
pub fn license_with_seats(used: u32) -> Value {
    let mut license = license("active");
    (license["name"], license["metadata"]) = ("Order 4711".into(), Value::Null);
    license["seats"] = json!({ "used": used, "allowed": license["maxSeats"] });
    license
}

pub fn usage(active_seats: u32) -> Value {
    let activation = json!({
        "id": "act_01h455vb4pex5vsknk084sn02q",
        "userId": "usr_01h455vb4pex5vsknk084sn02q",
        "licenseId": LICENSE,
        "activatedAt": "2026-01-31T12:00:00.000Z",
        "lastCheckedAt": "2026-02-01T12:00:00.000Z",
        "externalId": "alice",
        "email": "alice@example.com",
    });
    json!({
        "license": license("active"),
        "activations": [activation],
        "totalActivations": 1,
        "activeSeats": active_seats,
    })
}

/// Whether a seat has this member only where it is listed with its user.
fn is_of_user(member: &str) -> bool {
    matches!(member, "externalId" | "email")
}

pub fn current_key() -> Value {
    json!({
        "id": "key_01h455vb4pex5vsknk084sn02q",
        "name": "ops",
        "prefix": "sk_live_CANA",
        "role": "admin",
        "mode": "live",
        "createdAt": "2026-01-31T12:00:00.000Z",
        "expiresAt": null,
        "tenant": { "id": "ten_01h455vb4pex5vsknk084sn02q", "name": "acme" },
    })
}

pub fn key() -> Value {
    json!({
        "id": "key_01h455vb4pex5vsknk084sn02q",
        "name": "ci",
        "prefix": "sk_test_OTHE",
        "role": "validate",
        "mode": "test",
        "createdAt": "2026-01-31T12:00:00.000Z",
        "expiresAt": null,
        "lastUsedAt": "2026-02-01T12:00:00.000Z",
        "revokedAt": null,
    })
}

/// The three events of the service, from either end.
fn events(request: &Request) -> Reply {
    let after = request.path.split(['?', '&']).find_map(|pair| pair.strip_prefix("after="));
    let after: i64 = after.unwrap_or("0").parse().unwrap();
    if after == 99 {
        return Reply::refusal(409, "sequence_ahead", "The last event has the sequence 3.");
    }
    let mut all = [
        event(1, "license.created", &json!({ "maxSeats": 3 }), &Value::Null),
        event(2, "license.updated", &json!({ "maxSeats": 5 }), &json!({ "maxSeats": 3 })),
        event(
            3,
            "license.status_changed",
            &json!({ "status": "revoked" }),
            &json!({ "status": "active" }),
        ),
    ];
    if request.path.contains("order=newest") {
        all.reverse();
    }
    Reply::list(&all[all.len().min(after as usize)..])
}

/// An event of the license.
pub fn event(sequence: i64, kind: &str, object: &Value, previous: &Value) -> Value {
    json!({
        "id": format!("evt_01h455vb4pex5vsknk084sn0{sequence:02}"),
        "sequence": sequence,
        "type": kind,
        "time": "2026-02-01T12:00:00.000Z",
        "actor": { "type": "key", "id": "key_01h455vb4pex5vsknk084sn02q", "name": "ops" },
        "subject": { "type": "license", "id": LICENSE },
        "related": {
            "productId": PRODUCT, "planId": PLAN, "licenseId": LICENSE, "userId": null,
            "externalId": null,
        },
        "data": { "object": object, "previous": previous },
        "requestId": "req-1",
    })
}

/// Three refusals of a user in one hour.
pub fn refusal(user: &str, reason: &str) -> Value {
    json!({
        "id": "ref_01h455vb4pex5vsknk084sn02q",
        "userId": user,
        "reason": reason,
        "licenseId": LICENSE,
        "hour": "2026-02-01T12:00:00.000Z",
        "count": 3,
        "firstAt": "2026-02-01T12:00:00.000Z",
        "lastAt": "2026-02-01T12:00:00.000Z",
    })
}

/// An explanation of carol's validation with this reason, or none.
pub fn explanation(reason: Option<&str>, licenses: &[Value]) -> Value {
    json!({
        "valid": reason.is_none(),
        "reason": reason,
        "summary": "So it is.",
        "checkedAt": "2026-03-01T12:00:00.000Z",
        "user": user("carol"),
        "licenses": licenses,
        "refusals": [refusal("carol", "expired")],
    })
}

/// Returns the remedies, in the wording of licd.
fn remedies(status: &str, expires_at: Option<&str>, verdict: &str) -> Value {
    let remedy = |kind: &str| json!({ "type": kind, "holders": [] });
    match verdict {
        "exceeded_seats" => json!([
            { "type": "free_seats", "count": 1, "holders": usage(5)["activations"] },
            { "type": "raise_limit", "maxSeats": 6, "holders": [] },
        ]),
        "expired" => {
            let activate = (status != "active").then(|| remedy("activate"));
            let term = json!({ "days": 365, "expiresAt": "2027-02-01T12:00:00.000Z" });
            let renew = json!({ "type": "renew", "term": term, "holders": [] });
            activate.into_iter().chain(expires_at.map(|_| renew)).collect()
        }
        "suspended" | "revoked" => json!([remedy("activate")]),
        _ => json!([]),
    }
}

/// A license of carol with the validation's verdict.
pub fn explained(status: &str, expires_at: Option<&str>, verdict: &str) -> Value {
    let mut license = license(status);
    license["expiresAt"] = expires_at.into();
    json!({
        "license": license, "productName": "Acme Studio", "planName": "Pro annual",
        "assignedAt": "2026-01-31T12:00:00.000Z", "seatsUsed": 5, "activation": null,
        "verdict": verdict, "sentence": "That is how it stands.",
        "remedies": remedies(status, expires_at, verdict),
    })
}

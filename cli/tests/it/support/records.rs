//! One record of each kind, and a service that has one of everything.

use serde_json::{Value, json};

use super::double::{Double, Reply, Request};

pub const PRODUCT: &str = "prd_01h455vb4pex5vsknk084sn02q";
pub const PLAN: &str = "pln_01h455vb4pex5vsknk084sn02q";
pub const LICENSE: &str = "lic_01h455vb4pex5vsknk084sn02q";

/// A service with one of everything.
pub fn service() -> Double {
    Double::answering(answer)
}

fn answer(request: &Request) -> Reply {
    let path = request.path.split('?').next().unwrap();
    let path = path.strip_prefix("/api/v1/").unwrap();
    let words: Vec<&str> = path.split('/').collect();
    match (request.method.as_str(), words.as_slice()) {
        ("GET", ["admin", "products"]) => Reply::list(&[product("Acme Studio")]),
        ("GET", ["admin", "plans"]) => Reply::list(&[plan("Pro annual")]),
        ("GET", ["admin", "licenses"]) => Reply::list(&[license("active")]),
        ("GET", ["admin", "users"]) if request.path.contains("externalId=nobody") => {
            Reply::list(&[])
        }
        ("GET", ["admin", "users"]) => Reply::list(&[user("alice")]),
        ("GET", ["admin", "users", _]) => Reply::data(200, &user("alice")),
        ("GET", ["admin", "licenses", _, "usage"]) => Reply::data(200, &usage(4)),
        ("GET", ["admin", "licenses", id]) if *id == LICENSE => {
            Reply::data(200, &license("active"))
        }
        ("POST", ["admin", "products"]) => Reply::data(201, &product("Acme Studio")),
        ("POST", ["admin", "plans"]) => Reply::data(201, &plan("Pro annual")),
        ("POST", ["admin", "licenses"]) => Reply::data(201, &license("active")),
        ("POST", ["admin", "users"]) => Reply::data(201, &user("alice")),
        ("POST", ["admin", "licenses", _, "assign"]) if request.body["userId"] == "bad" => {
            Reply::refusal(400, "invalid", "userId: no")
        }
        ("POST", ["admin", "licenses", _, "assign"]) => Reply::data(201, &assignment()),
        ("DELETE", ["admin", "licenses", _, "assign", _]) => Reply::data(200, &assignment()),
        ("PATCH", ["admin", "licenses", _, "status"]) => {
            Reply::data(200, &license(request.body["status"].as_str().unwrap()))
        }
        ("PATCH", ["admin", "licenses", _]) => Reply::data(200, &license("active")),
        ("PATCH", ["admin", "plans", _]) => Reply::data(200, &plan("Pro annual")),
        ("PATCH", ["admin", "users", _]) => Reply::data(200, &user("alice")),
        ("POST", ["validate"]) if request.body["userId"] == "alice" => {
            let activation = usage(1)["activations"][0].clone();
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
        _ => Reply::refusal(404, "not_found", "There is no such thing."),
    }
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

pub fn usage(active_seats: u32) -> Value {
    let activation = json!({
        "id": "act_01h455vb4pex5vsknk084sn02q",
        "userId": "usr_01h455vb4pex5vsknk084sn02q",
        "licenseId": LICENSE,
        "activatedAt": "2026-01-31T12:00:00.000Z",
        "lastCheckedAt": "2026-02-01T12:00:00.000Z",
    });
    json!({
        "license": license("active"),
        "activations": [activation],
        "totalActivations": active_seats,
        "activeSeats": active_seats,
    })
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

//! Refusals: each has the same shape, and one place in the order of checks.

mod authentication;
mod bodies;
mod headers;
mod hostile_bodies;
mod keep_alive;
pub mod log;
mod new_users;
mod order;
mod permission;
mod rate_limit;
pub mod raw;
mod routes;
mod unknown_names;
mod values;
mod waiting_bodies;

use std::collections::BTreeSet;

use crate::harness::Caller;

/// Every operation that needs a key: method, path, and a valid body. `{…}` stands for an unknown id.
const OPERATIONS: [(&str, &str, &str); 69] = [
    ("POST", "/api/v1/validate", r#"{"userId":"ada"}"#),
    ("POST", "/api/v1/claim", r#"{"userId":"ada","key":"7KQ4M-0A1B1-C2D3E-4F5G6-7J8KX"}"#),
    ("POST", "/api/v1/lease", r#"{"userId":"ada","productId":"prd_01h455vb4pex5vsknk084sn02q"}"#),
    ("POST", "/api/v1/release", r#"{"userId":"ada"}"#),
    ("GET", "/api/v1/key", ""),
    ("POST", "/api/v1/admin/explain", r#"{"userId":"ada"}"#),
    ("POST", "/api/v1/admin/products", r#"{"name":"Studio"}"#),
    ("GET", "/api/v1/admin/products", ""),
    ("GET", "/api/v1/admin/products/{prd}", ""),
    ("PATCH", "/api/v1/admin/products/{prd}", r#"{"name":"Studio"}"#),
    ("DELETE", "/api/v1/admin/products/{prd}", ""),
    ("POST", "/api/v1/admin/plans", r#"{"name":"Team","productId":"{prd}"}"#),
    ("GET", "/api/v1/admin/plans", ""),
    ("GET", "/api/v1/admin/plans/{pln}", ""),
    ("PATCH", "/api/v1/admin/plans/{pln}", r#"{"name":"Team"}"#),
    ("DELETE", "/api/v1/admin/plans/{pln}", ""),
    ("POST", "/api/v1/admin/licenses", r#"{"planId":"{pln}"}"#),
    ("GET", "/api/v1/admin/licenses", ""),
    ("GET", "/api/v1/admin/licenses/{lic}", ""),
    ("PATCH", "/api/v1/admin/licenses/{lic}", r#"{"maxSeats":1}"#),
    ("DELETE", "/api/v1/admin/licenses/{lic}", ""),
    ("PATCH", "/api/v1/admin/licenses/{lic}/status", r#"{"status":"active"}"#),
    ("POST", "/api/v1/admin/licenses/{lic}/renew", "{}"),
    ("GET", "/api/v1/admin/licenses/totals", ""),
    ("POST", "/api/v1/admin/licenses/{lic}/assign", r#"{"userId":"ada"}"#),
    ("DELETE", "/api/v1/admin/licenses/{lic}/assign/ada", ""),
    ("DELETE", "/api/v1/admin/licenses/{lic}/assign?userId=ada", ""),
    ("POST", "/api/v1/admin/licenses/{lic}/release", r#"{"userId":"ada"}"#),
    ("POST", "/api/v1/admin/licenses/{lic}/transfer", r#"{"fromUserId":"ada","toUserId":"bob"}"#),
    ("GET", "/api/v1/admin/licenses/{lic}/assignments", ""),
    ("GET", "/api/v1/admin/licenses/{lic}/usage", ""),
    ("POST", "/api/v1/admin/licenses/{lic}/keys", "{}"),
    ("GET", "/api/v1/admin/licenses/{lic}/keys", ""),
    ("GET", "/api/v1/admin/license-keys?search=67J8KX", ""),
    ("POST", "/api/v1/admin/license-keys/find", r#"{"key":"7KQ4M-0A1B1-C2D3E-4F5G6-7J8KX"}"#),
    ("POST", "/api/v1/admin/license-keys/{lky}/reissue", ""),
    ("POST", "/api/v1/admin/license-keys/{lky}/revoke", ""),
    ("POST", "/api/v1/admin/users", r#"{"externalId":"ada"}"#),
    ("GET", "/api/v1/admin/users", ""),
    ("GET", "/api/v1/admin/users/{usr}", ""),
    ("PATCH", "/api/v1/admin/users/{usr}", r#"{"name":"Ada"}"#),
    ("DELETE", "/api/v1/admin/users/{usr}", ""),
    ("POST", "/api/v1/admin/users/{usr}/forget", r#"{"externalId":true}"#),
    ("GET", "/api/v1/admin/leases", ""),
    ("POST", "/api/v1/admin/keys", r#"{"name":"CI","role":"read"}"#),
    ("GET", "/api/v1/admin/keys", ""),
    ("POST", "/api/v1/admin/keys/{key}/roll", r#"{"overlapSeconds":0}"#),
    ("POST", "/api/v1/admin/keys/{key}/revoke", ""),
    ("POST", "/api/v1/admin/webhooks", r#"{"url":"https://example.com/"}"#),
    ("GET", "/api/v1/admin/webhooks", ""),
    ("GET", "/api/v1/admin/webhooks/{whk}", ""),
    ("PATCH", "/api/v1/admin/webhooks/{whk}", r#"{"enabled":true}"#),
    ("DELETE", "/api/v1/admin/webhooks/{whk}", ""),
    ("POST", "/api/v1/admin/webhooks/{whk}/roll", r#"{"overlapSeconds":0}"#),
    ("POST", "/api/v1/admin/webhooks/{whk}/test", ""),
    (
        "POST",
        "/api/v1/admin/webhooks/{whk}/resend",
        r#"{"event":"evt_01h455vb4pex5vsknk084sn02q"}"#,
    ),
    ("POST", "/api/v1/admin/webhooks/{whk}/replay", r#"{"after":0}"#),
    ("POST", "/api/v1/admin/webhooks/{whk}/retry", ""),
    ("GET", "/api/v1/admin/webhooks/{whk}/failures", ""),
    ("GET", "/api/v1/signing-keys", ""),
    ("POST", "/api/v1/admin/signing-keys", ""),
    (
        "POST",
        "/api/v1/admin/signing-keys/rotate",
        r#"{"standby":"sig_01h455vb4pex5vsknk084sn02q"}"#,
    ),
    ("DELETE", "/api/v1/admin/signing-keys/{sig}", ""),
    ("GET", "/api/v1/admin/licenses?limit=1", ""),
    ("GET", "/api/v1/admin/refusals", ""),
    ("GET", "/api/v1/admin/statistics", ""),
    ("GET", "/api/v1/admin/statistics/plans", ""),
    ("GET", "/api/v1/admin/statistics/months", ""),
    ("GET", "/api/v1/admin/events", ""),
];

/// The kinds of ids in their addresses and bodies.
const KINDS: [&str; 8] = ["prd", "pln", "lic", "lky", "usr", "key", "whk", "sig"];

/// Replaces each `{…}` by a well-formed unknown id.
fn with_unknown_ids(text: &str) -> String {
    KINDS.iter().fold(text.to_owned(), |text, kind| {
        text.replace(&format!("{{{kind}}}"), &format!("{kind}_01h455vb4pex5vsknk084sn02q"))
    })
}

/// Sends the operation, with this body if it takes one.
async fn ask(caller: &Caller, (method, path, _): (&str, &str, &str), body: &str) -> String {
    let answer = caller
        .send(method.parse().unwrap(), &with_unknown_ids(path), |request| match body {
            "" => request,
            body => request.header("content-type", "application/json").body(body.to_owned()),
        })
        .await;
    match answer.status {
        200..300 => answer.status.to_string(),
        _ => answer.refusal(),
    }
}

/// An operation that is missing above would be tested by none of these tests.
#[test]
fn all_operations_are_listed() {
    let document = serde_json::to_value(licd::routes::document()).unwrap();
    let listed: BTreeSet<String> = OPERATIONS
        .iter()
        .map(|(method, path, _)| {
            let path = path.split('?').next().unwrap().replace("/ada", "/{userId}");
            let in_braces = |kind: &str| format!("{{{kind}}}");
            let path = KINDS.iter().fold(path, |path, kind| path.replace(&in_braces(kind), "{id}"));
            format!("{method} {path}")
        })
        .collect();
    let documented: BTreeSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| item.as_object().unwrap().iter().map(move |entry| (path, entry)))
        .filter(|(_, (_, operation))| operation["security"][0].get("key").is_some())
        .map(|(path, (method, _))| format!("{} {path}", method.to_uppercase()))
        .collect();
    assert_eq!(listed, documented);
}

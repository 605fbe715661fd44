//! Keys that a key created: their creators, and revoking a leaked key with all of them.

use serde_json::{Value, json};

use super::keys::listed;
use crate::harness::{App, Caller};

const KEYS: &str = "/api/v1/admin/keys";

/// A leaked admin key may have made others, and these again.
#[tokio::test]
async fn a_key_is_revoked_with_what_it_made() {
    let app = App::start().await;
    let make = async |by: &Caller, name: &str, body: Value| {
        let mut body = body;
        body["name"] = name.into();
        let made = by.post(KEYS, body).await;
        (made.id(), app.with_key(made["key"].as_str().unwrap()))
    };
    let (leaked, thief) = make(&app, "leaked", json!({ "role": "admin" })).await;
    let (first, second_thief) = make(&thief, "first", json!({ "role": "admin" })).await;
    let (second, _) =
        make(&second_thief, "second", json!({ "role": "read", "mode": "test" })).await;
    let rolled = second_thief.post(&format!("{KEYS}/{first}/roll"), json!({})).await.id();
    let (honest, _) = make(&app, "honest", json!({ "role": "read" })).await;
    assert_eq!(listed(&app, &first).await["createdBy"], leaked);
    assert_eq!(listed(&app, &rolled).await["createdBy"], first);
    assert_eq!(
        app.post(&format!("{KEYS}/{leaked}/revoke"), json!({ "mad": true })).await.status,
        400
    );

    let revoked = app.post(&format!("{KEYS}/{leaked}/revoke"), json!({ "made": true })).await;
    assert_eq!(revoked.id(), leaked);
    assert!(revoked["revokedAt"].is_string());
    for id in [&leaked, &first, &second, &rolled] {
        assert_eq!(listed(&app, id).await["revokedAt"], revoked["revokedAt"], "{id}");
    }
    assert_eq!(listed(&app, &honest).await["revokedAt"], json!(null));
    assert_eq!(thief.get(KEYS).await.refusal(), "401 unauthorized");
    assert_eq!(second_thief.get(KEYS).await.refusal(), "401 unauthorized");
    let events = app.get("/api/v1/admin/events?type=key.revoked").await;
    assert_eq!(events.list().len(), 3, "that of the test key is in the other mode");
    assert_eq!(
        app.post(&format!("{KEYS}/{leaked}/revoke"), json!({ "made": true })).await.status,
        200
    );
    assert_eq!(app.get("/api/v1/admin/events?type=key.revoked").await.list().len(), 3);
}

/// All or none: the first key made every other admin key.
#[tokio::test]
async fn no_key_is_revoked_if_no_admin_key_would_be_left() {
    let app = App::start().await;
    let own = app.get("/api/v1/key").await.id();
    let other = app.post(KEYS, json!({ "name": "other", "role": "admin" })).await.id();
    let revoke = format!("{KEYS}/{own}/revoke");
    assert_eq!(app.post(&revoke, json!({ "made": true })).await.refusal(), "409 conflict");
    for id in [&own, &other] {
        assert_eq!(listed(&app, id).await["revokedAt"], json!(null));
    }
    assert_eq!(app.post(&revoke, json!({})).await.status, 200);
}

//! API keys: making, listing, rolling and revoking them, and asking whose a key is.

use chrono::TimeDelta;
use common::Timestamp;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::App;

const KEYS: &str = "/api/v1/admin/keys";

/// "The full key is displayed only once at creation. Listings show name, prefix and last-used."
#[tokio::test]
async fn a_key_is_shown_whole_once() {
    let app = App::start().await;
    let made = app.post(KEYS, json!({ "name": "CI", "role": "validate" })).await;
    let key = made["key"].as_str().unwrap().to_owned();
    assert_eq!(made["prefix"], key[..12]);
    assert_snapshot!(made, @r#"
    201 {
      "success": true,
      "data": {
        "id": "key_1",
        "name": "CI",
        "prefix": "<key>",
        "role": "validate",
        "mode": "live",
        "createdAt": "<time>",
        "expiresAt": null,
        "lastUsedAt": null,
        "revokedAt": null,
        "createdBy": "key_2",
        "key": "<key>"
      }
    }
    "#);
    let listed = app.get(KEYS).await;
    let mut record = made.data().clone();
    record.as_object_mut().unwrap().remove("key");
    assert_eq!(listed.list()[1], record);
    assert!(!listed.body.to_string().contains(&key), "never again");
    assert_eq!(app.with_key(&key).validate("ada").await.verdict(), "no_license");
}

/// "Production keys begin with sk_live_; test keys begin with sk_test_."
#[tokio::test]
async fn keys_show_their_mode() {
    let app = App::start().await;
    for (mode, prefix) in [(json!("live"), "sk_live_"), (json!("test"), "sk_test_")] {
        let body = json!({ "name": "k", "role": "read", "mode": mode });
        let made = app.post(KEYS, body).await;
        assert_eq!(made["mode"], mode);
        let key = made["key"].as_str().unwrap();
        assert!(key.starts_with(prefix) && key.len() == 8 + 32 + 6, "{mode}");
        assert_eq!(app.with_key(key).get("/api/v1/key").await["mode"], mode);
    }
    let default = app.post(KEYS, json!({ "name": "k", "role": "read" })).await;
    assert_eq!(default["mode"], "live", "that of the calling key");
    let test = app.test_mode().await;
    let default = test.post(KEYS, json!({ "name": "k", "role": "read" })).await;
    assert_eq!(default["mode"], "test");
}

#[tokio::test]
async fn a_key_needs_a_name_and_a_role() {
    let app = App::start().await;
    for (body, field) in [
        (json!({ "role": "read" }), "name"),
        (json!({ "name": "k" }), "role"),
        (json!({ "name": "k", "role": "owner" }), "role"),
        (json!({ "name": "k", "role": "read", "mode": "prod" }), "mode"),
        (json!({ "name": "k", "role": "read", "expiresAt": "soon" }), "expiresAt"),
        (json!({ "name": " ", "role": "read" }), "name"),
    ] {
        let refusal = app.post(KEYS, body).await.refusal();
        assert_eq!(refusal, format!("400 invalid_request {field}"));
    }
    assert_eq!(app.get(KEYS).await.list().len(), 1);
}

/// GET /api/v1/key, for any role.
#[tokio::test]
async fn every_key_may_ask_whose_it_is() {
    let app = App::start().await;
    assert_snapshot!(app.get("/api/v1/key").await, @r#"
    200 {
      "success": true,
      "data": {
        "id": "key_1",
        "name": "first key",
        "prefix": "<key>",
        "role": "admin",
        "mode": "live",
        "createdAt": "<time>",
        "expiresAt": null,
        "tenant": {
          "id": "ten_1",
          "name": "default"
        }
      }
    }
    "#);
    for (caller, role) in
        [(app.asker().await, "validate"), (app.reader().await, "read"), (app.clone(), "admin")]
    {
        assert_eq!(caller.get("/api/v1/key").await["role"], role);
    }
}

/// "A key can be revoked; revocation is immediate and cannot be undone." Repeatable.
#[tokio::test]
async fn a_revoked_key_is_refused_at_once_and_for_good() {
    let app = App::start().await;
    let made = app.post(KEYS, json!({ "name": "CI", "role": "admin" })).await;
    let caller = app.with_key(made["key"].as_str().unwrap());
    let path = format!("{KEYS}/{}/revoke", made.id());
    assert_eq!(caller.get("/api/v1/key").await.status, 200);
    let revoked = app.post(&path, json!({})).await;
    assert!(revoked["revokedAt"].is_string());
    assert_eq!(caller.get("/api/v1/key").await.refusal(), "401 unauthorized");
    let again = app.send(reqwest::Method::POST, &path, |request| request).await;
    assert_eq!(again["revokedAt"], revoked["revokedAt"], "the time stays, and no body is needed");
    assert_eq!(app.get(KEYS).await.list()[1]["revokedAt"], revoked["revokedAt"]);
    for unknown in ["key_01h455vb4pex5vsknk084sn02q", "x"] {
        let refused = app.post(&format!("{KEYS}/{unknown}/revoke"), json!({})).await;
        assert_eq!(refused.refusal(), "404 not_found", "{unknown}");
    }
}

/// The time of a member.
fn time(record: &Value) -> Timestamp {
    record.as_str().unwrap().parse().unwrap()
}

/// The key of this id in the list.
pub async fn listed(app: &App, id: &str) -> Value {
    app.get(KEYS).await.list().iter().find(|key| key["id"] == *id).unwrap().clone()
}

/// The new key is as the old one was, and both are valid until the overlap has passed.
#[tokio::test]
async fn a_rolled_key_has_a_successor_and_an_end() {
    let app = App::start().await;
    let never = json!({ "name": "CI", "role": "read" });
    let late = json!({ "name": "CI", "role": "admin", "mode": "test",
        "expiresAt": "2999-01-01T00:00:00.000Z" });
    for (body, roll, seconds) in [
        (&never, json!({}), 86_400),
        (&never, json!({ "overlapSeconds": null }), 86_400),
        (&never, json!({ "overlapSeconds": 3600 }), 3600),
        (&late, json!({ "overlapSeconds": 2_592_000 }), 2_592_000),
    ] {
        let old = app.post(KEYS, body.clone()).await;
        let new = app.post(&format!("{KEYS}/{}/roll", old.id()), roll).await;
        assert_eq!(new.status, 201);
        for member in ["name", "role", "mode", "expiresAt", "lastUsedAt", "revokedAt"] {
            assert_eq!(new[member], old[member], "{member}");
        }
        assert_ne!(new.id(), old.id());
        let end = time(&listed(&app, &old.id()).await["expiresAt"]);
        assert_eq!(end.since(time(&new["createdAt"])).num_seconds(), seconds);
        let mut record = new.data().clone();
        record.as_object_mut().unwrap().remove("key");
        assert_eq!(listed(&app, &new.id()).await, record, "never again with the key");
        for key in [&old["key"], &new["key"]] {
            let current = app.with_key(key.as_str().unwrap()).get("/api/v1/key").await;
            assert_eq!(current["role"], body["role"]);
        }
    }
}

/// Whose answer was lost rolls again, and the next successor lasts as long as the first would have.
#[tokio::test]
async fn a_key_that_is_rolled_again_has_a_successor_that_lasts() {
    let app = App::start().await;
    let late = "2999-01-01T00:00:00.000Z";
    for expires_at in [Value::Null, json!(late)] {
        let body = json!({ "name": "CI", "role": "read", "expiresAt": expires_at });
        let old = app.post(KEYS, body).await.id();
        for overlap in [60, 3600, 0] {
            let roll = json!({ "overlapSeconds": overlap });
            let new = app.post(&format!("{KEYS}/{old}/roll"), roll).await;
            assert_eq!(new["expiresAt"], expires_at);
            let again = app.post(&format!("{KEYS}/{}/roll", new.id()), json!({})).await;
            assert_eq!(again["expiresAt"], expires_at, "of the successor too");
        }
    }
}

/// A key that ends within a day does not protect a tenant from being locked out, for any caller and
/// clock. The last lasting key cannot be replaced by one whose secret may not have arrived either.
#[tokio::test]
async fn a_tenant_is_left_with_a_live_admin_key_that_lasts() {
    let app = App::start().await;
    let own = app.get("/api/v1/key").await.id();
    let end = |hours| Timestamp::now().plus(TimeDelta::hours(hours)).to_string();
    let admin = |hours| json!({ "name": "a", "role": "admin", "expiresAt": end(hours) });
    let short = app.post(KEYS, admin(23)).await;
    for caller in [app.with_key(short["key"].as_str().unwrap()), app.clone()] {
        let refused = caller.post(&format!("{KEYS}/{own}/revoke"), json!({})).await;
        assert_eq!(refused.refusal(), "409 conflict");
        for overlap in [0, 299] {
            let roll = json!({ "overlapSeconds": overlap });
            let refused = caller.post(&format!("{KEYS}/{own}/roll"), roll).await;
            assert_eq!(refused.refusal(), "409 conflict", "{overlap}");
        }
    }
    let roll = format!("{KEYS}/{}/roll", short.id());
    let short = app.post(&roll, json!({ "overlapSeconds": 0 })).await;
    assert_eq!(short.status, 201, "it is not the last");
    app.post(KEYS, admin(25)).await.data();
    let roll = json!({ "overlapSeconds": 299 });
    assert_eq!(app.post(&format!("{KEYS}/{own}/roll"), roll).await.status, 201);
    assert_eq!(app.post(&format!("{KEYS}/{own}/revoke"), json!({})).await.status, 200);
}

/// A key that ends soon, as it was rolled, is none that a tenant is left with.
#[tokio::test]
async fn the_successor_of_the_last_live_admin_key_stays() {
    let app = App::start().await;
    let own = app.get("/api/v1/key").await.id();
    let roll = async || app.post(&format!("{KEYS}/{own}/roll"), json!({})).await;
    let revoke = async |id: &str| app.post(&format!("{KEYS}/{id}/revoke"), json!({})).await;
    let lost = roll().await.id();
    assert_eq!(revoke(&lost).await.refusal(), "409 conflict");
    let kept = roll().await;
    assert_eq!(revoke(&lost).await.status, 200);
    assert_eq!(revoke(&own).await.status, 200);
    let successor = app.with_key(kept["key"].as_str().unwrap());
    let refused = successor.post(&format!("{KEYS}/{}/revoke", kept.id()), json!({})).await;
    assert_eq!(refused.refusal(), "409 conflict");
}

/// Neither of the two keys is valid for longer than the old one was.
#[tokio::test]
async fn rolling_prolongs_no_key() {
    let app = App::start().await;
    let soon = Timestamp::now().plus(TimeDelta::minutes(5)).to_string();
    let body = json!({ "name": "CI", "role": "read", "expiresAt": soon });
    let old = app.post(KEYS, body).await.id();
    let new = app.post(&format!("{KEYS}/{old}/roll"), json!({})).await;
    assert_eq!(new["expiresAt"], soon);
    assert_eq!(listed(&app, &old).await["expiresAt"], soon);
    let again = app.post(&format!("{KEYS}/{old}/roll"), json!({})).await;
    assert_eq!(again["expiresAt"], soon);
}

/// A key may roll itself: its successor is valid already.
#[tokio::test]
async fn a_key_that_is_rolled_without_an_overlap_is_refused_at_once() {
    let app = App::start().await;
    let own = app.get("/api/v1/key").await.id();
    let other = app.post(KEYS, json!({ "name": "other", "role": "admin" })).await.id();
    let roll = format!("{KEYS}/{own}/roll");
    let new = app.post(&roll, json!({ "overlapSeconds": 0 })).await;
    assert_eq!(app.get("/api/v1/key").await.refusal(), "401 unauthorized");
    let successor = app.with_key(new["key"].as_str().unwrap());
    let old =
        successor.get(KEYS).await.list().iter().find(|key| key["id"] == *own).unwrap().clone();
    // Revoked, not expired: a node whose clock is behind refuses it too.
    assert_eq!((&old["revokedAt"], &old["expiresAt"]), (&new["createdAt"], &json!(null)));
    assert_eq!(successor.get("/api/v1/key").await["role"], "admin");
    assert_eq!(successor.post(&format!("{KEYS}/{other}/revoke"), json!({})).await.status, 200);
    let revoke = format!("{KEYS}/{}/revoke", new.id());
    assert_eq!(successor.post(&revoke, json!({})).await.refusal(), "409 conflict");
    assert_eq!(successor.post(&roll, json!({})).await.refusal(), "409 conflict");
}

#[tokio::test]
async fn a_key_that_has_ended_cannot_be_rolled() {
    let app = App::start().await;
    let revoked = app.post(KEYS, json!({ "name": "k", "role": "read" })).await.id();
    app.post(&format!("{KEYS}/{revoked}/revoke"), json!({})).await.data();
    let refused = app.post(&format!("{KEYS}/{revoked}/roll"), json!({})).await;
    assert_eq!(refused.refusal(), "409 conflict");
    assert_eq!(refused.body["error"], "A revoked key cannot be rolled");
    assert_eq!(listed(&app, &revoked).await["expiresAt"], json!(null));
    let expired = app.post(KEYS, json!({ "name": "k", "role": "read" })).await.id();
    app.expire_key(&expired).await;
    let refused = app.post(&format!("{KEYS}/{expired}/roll"), json!({})).await;
    assert_eq!(refused.body["error"], "An expired key cannot be rolled");
    for unknown in ["key_01h455vb4pex5vsknk084sn02q", "x"] {
        let refused = app.post(&format!("{KEYS}/{unknown}/roll"), json!({})).await;
        assert_eq!(refused.refusal(), "404 not_found", "{unknown}");
    }
    let own = app.get("/api/v1/key").await.id();
    for overlap in [json!(-1), json!(2_592_001), json!(1.5), json!("3600")] {
        let body = json!({ "overlapSeconds": overlap });
        let refused = app.post(&format!("{KEYS}/{own}/roll"), body).await;
        assert_eq!(refused.refusal(), "400 invalid_request overlapSeconds", "{overlap}");
    }
    assert_eq!(app.get(KEYS).await.list().len(), 3, "and nothing was created");
}

/// The last live admin key cannot be revoked, neither by itself nor in favour of lesser keys.
#[tokio::test]
async fn the_last_live_admin_key_stays() {
    let app = App::start().await;
    let own = app.get("/api/v1/key").await.id();
    app.post(KEYS, json!({ "name": "r", "role": "read" })).await.data();
    app.post(KEYS, json!({ "name": "t", "role": "admin", "mode": "test" })).await.data();
    let expired = app.post(KEYS, json!({ "name": "old", "role": "admin" })).await;
    app.expire_key(&expired.id()).await;
    let revoke = format!("{KEYS}/{own}/revoke");
    assert_eq!(app.post(&revoke, json!({})).await.refusal(), "409 conflict");
    let second = app.post(KEYS, json!({ "name": "a", "role": "admin" })).await;
    let second_caller = app.with_key(second["key"].as_str().unwrap());
    assert_eq!(app.post(&revoke, json!({})).await.status, 200, "another remains");
    let last = format!("{KEYS}/{}/revoke", second.id());
    assert_eq!(second_caller.post(&last, json!({})).await.refusal(), "409 conflict");
    assert_eq!(second_caller.get("/api/v1/key").await.status, 200);
}

/// "Optional expiration date": valid while now is before it.
#[tokio::test]
async fn a_key_works_until_it_expires() {
    let app = App::start().await;
    let body = json!({ "name": "k", "role": "read", "expiresAt": "2999-01-01T00:00:00Z" });
    let made = app.post(KEYS, body).await;
    let caller = app.with_key(made["key"].as_str().unwrap());
    assert_eq!(caller.get("/api/v1/key").await.status, 200);
    app.expire_key(&made.id()).await;
    assert_eq!(caller.get("/api/v1/key").await.refusal(), "401 unauthorized");
}

/// A key that never works would be noticed by its first user only.
#[tokio::test]
async fn a_new_key_must_expire_in_the_future() {
    let app = App::start().await;
    let now = Timestamp::now().to_string();
    for past in ["1970-01-01T00:00:00Z", "2020-01-01T00:00:00Z", &now] {
        let body = json!({ "name": "k", "role": "read", "expiresAt": past });
        let refused = app.post(KEYS, body).await;
        assert_eq!(refused.refusal(), "400 invalid_request expiresAt", "{past}");
        assert_eq!(refused.body["error"], "expiresAt must be in the future");
    }
    assert_eq!(app.get(KEYS).await.list().len(), 1);
}

/// "Last-used date": written a little later, at the latest when the service ends.
#[tokio::test]
async fn the_last_use_is_known_when_the_service_has_stopped() {
    let app = App::start().await;
    let unused = app.post(KEYS, json!({ "name": "unused", "role": "read" })).await.id();
    let used = app.reader().await;
    let used_id = used.get("/api/v1/key").await.id();
    let database = app.stop().await;
    let again = App::on(database).await;
    let keys = again.get(KEYS).await;
    let last_used = |id: &str| {
        let key = keys.list().iter().find(|key| key["id"] == *id).unwrap();
        key["lastUsedAt"].clone()
    };
    assert!(last_used(&used_id).is_string());
    assert_eq!(last_used(&unused), json!(null));
}

//! 401: the key is missing, malformed, damaged, unknown, expired or revoked; the answer is the same.

use common::{ApiKey, Mode};
use insta::assert_snapshot;
use serde_json::json;

use super::{OPERATIONS, ask};
use crate::harness::App;

/// Row 401 of the table of errors, with its message.
#[tokio::test]
async fn without_a_key_every_operation_is_401() {
    let app = App::start().await;
    let nobody = app.without_key();
    assert_snapshot!(nobody.validate("ada").await, @r#"
    401 {
      "success": false,
      "error": "Unauthorized",
      "code": "unauthorized",
      "requestId": "<request id>"
    }
    "#);
    for operation in OPERATIONS {
        let body = super::with_unknown_ids(operation.2);
        assert_eq!(ask(&nobody, operation, &body).await, "401 unauthorized", "{operation:?}");
    }
    assert_eq!(app.number("select count(*) from users").await, 0);
}

/// Whatever is wrong with a key, the answer is the same to the letter.
#[tokio::test]
async fn every_wrong_key_gets_the_same_answer() {
    let app = App::start().await;
    let good = app.key.clone().unwrap();
    let make = async |body| app.post("/api/v1/admin/keys", body).await;
    let expired = make(json!({ "name": "k", "role": "admin" })).await;
    app.expire_key(&expired.id()).await;
    let revoked = make(json!({ "name": "k", "role": "admin" })).await;
    app.post(&format!("/api/v1/admin/keys/{}/revoke", revoked.id()), json!({})).await.data();
    let unknown = ApiKey::generate(Mode::Live);
    let missing = app.without_key().get("/api/v1/key").await.told();
    let damaged = |at: usize| {
        let mut key = good.clone().into_bytes();
        key[at] = if key[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(key).unwrap()
    };
    let mut keys = vec![
        String::new(),
        "sk_live_".into(),
        "secret".into(),
        good.replace("live", "test"),
        good.to_uppercase(),
        format!("{good}A"),
        good[..good.len() - 1].to_owned(),
        "x".repeat(10_000),
        unknown.expose().to_owned(),
        expired["key"].as_str().unwrap().to_owned(),
        revoked["key"].as_str().unwrap().to_owned(),
    ];
    keys.extend([8, 20, 39, 40, 45].map(damaged));
    for key in keys {
        let caller = app.with_key(&key);
        assert_eq!(caller.get("/api/v1/key").await.told(), missing, "{key}");
        // Looked up by another way, together with others.
        assert_eq!(caller.validate("ada").await.told(), missing, "{key}");
    }
    assert_eq!(app.number("select count(*) from users").await, 0, "nothing was done");
    assert_eq!(app.get("/api/v1/key").await.status, 200);
}

/// "Authorization: Bearer <API_KEY>", and no other way.
#[tokio::test]
async fn the_key_comes_as_a_bearer() {
    let app = App::start().await;
    let key = app.key.clone().unwrap();
    let nobody = app.without_key();
    for (header, value, status) in [
        ("authorization", format!("Bearer {key}"), 200),
        ("authorization", format!("bearer {key}"), 200),
        ("authorization", key.clone(), 401),
        ("authorization", format!("Basic {key}"), 401),
        ("authorization", format!("Bearer{key}"), 401),
        ("authorization", "Bearer".into(), 401),
        ("x-api-key", key.clone(), 401),
    ] {
        let answer = nobody
            .send(reqwest::Method::GET, "/api/v1/key", |request| request.header(header, &value))
            .await;
        assert_eq!(answer.status, status, "{header}: {value}");
    }
    let in_address = nobody.get(&format!("/api/v1/key?key={key}&access_token={key}")).await;
    assert_eq!(in_address.status, 401);
}

/// No key stands in the database: only a hash of it.
#[tokio::test]
async fn the_database_holds_no_key() {
    let app = App::start().await;
    let key = app.key.clone().unwrap();
    let stored: Vec<(Vec<u8>, String)> = app.rows("select hash, prefix from keys").await;
    assert_eq!(stored.len(), 1);
    assert_eq!((stored[0].0.len(), stored[0].1.as_str()), (32, &key[..12]));
    assert_ne!(stored[0].0, key.as_bytes()[..32]);
}

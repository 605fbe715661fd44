//! Requests that are sent again: with an Idempotency-Key they are done once.

use common::{ApiKey, Mode, Timestamp};
use licd::ops::tenants;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, App, Caller, TestDatabase};

const PRODUCTS: &str = "/api/v1/admin/products";

async fn send(caller: &Caller, key: &str, path: &str, body: Value) -> Answer {
    let keyed = |request: reqwest::RequestBuilder| request.header("Idempotency-Key", key);
    caller.send(Method::POST, path, |request| keyed(request).json(&body)).await
}

async fn names(app: &App) -> usize {
    app.get(PRODUCTS).await.list().len()
}

#[tokio::test]
async fn the_same_request_is_done_once_and_answered_alike() {
    let app = App::start().await;
    let first = send(&app, "k1", PRODUCTS, json!({ "name": "Studio" })).await;
    let again = send(&app, "k1", PRODUCTS, json!({ "name": "Studio" })).await;
    assert_eq!((first.status, first.header("idempotency-replayed")), (201, None));
    assert_eq!((again.status, again.header("idempotency-replayed")), (201, Some("true")));
    assert_eq!(first.body, again.body);
    assert_ne!(first.header("x-request-id"), again.header("x-request-id"));
    assert_eq!(names(&app).await, 1);
    send(&app, "k2", PRODUCTS, json!({ "name": "Studio" })).await;
    assert_eq!(names(&app).await, 2);
}

#[tokio::test]
async fn a_change_is_replayed_as_it_was_answered_then() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}/status");
    let suspend = |request: reqwest::RequestBuilder| {
        request.header("Idempotency-Key", "k").json(&json!({ "status": "suspended" }))
    };
    let first = app.send(Method::PATCH, &path, suspend).await;
    app.set_status(&license, "active").await;
    let again = app.send(Method::PATCH, &path, suspend).await;
    assert_eq!(again.body, first.body);
    assert_eq!(app.get(&format!("/api/v1/admin/licenses/{license}")).await["status"], "active");
}

/// A deleted record cannot be deleted again, so a lost response must be repeated here above all.
#[tokio::test]
async fn a_deletion_is_done_once_and_answered_alike() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await.data();
    let user = app.user("ada").await["id"].as_str().unwrap().to_owned();
    let off = format!("/api/v1/admin/licenses/{license}/assign/ada");
    let user = format!("/api/v1/admin/users/{user}");
    for (path, key) in [(&off, "k1"), (&user, "k2")] {
        let keyed = |request: reqwest::RequestBuilder| request.header("Idempotency-Key", key);
        let first = app.send(Method::DELETE, path, keyed).await;
        let again = app.send(Method::DELETE, path, keyed).await;
        assert_eq!((first.status, first.header("idempotency-replayed")), (200, None), "{path}");
        assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
        assert_eq!(first.body, again.body);
        assert_eq!(app.delete(path).await.refusal(), "404 not_found");
    }
    let reused = |request: reqwest::RequestBuilder| request.header("Idempotency-Key", "k1");
    let other = app.send(Method::DELETE, &user, reused).await;
    assert_eq!(other.refusal(), "422 idempotency_key_reused");
}

/// However many there are, and without holding up others for long.
#[tokio::test]
async fn old_answers_are_forgotten_in_portions() {
    let database = TestDatabase::ready().await;
    let db = database.open().await;
    tenants::bootstrap(&db, &ApiKey::generate(Mode::Live), || true).await.unwrap();
    let now = Timestamp::now();
    let mut conn = db.write().await.unwrap();
    for (age, count) in [(169, 1201i64), (167, 3)] {
        let at = now.plus(-chrono::Duration::hours(age));
        let insert = "insert into idempotency_keys
                (world, name, fingerprint, status, created_at)
            with recursive counting (n) as (
                select 1 union all select n + 1 from counting where n < $2)
            select 1, $3 || '-' || n, $4, 200, $1 from counting";
        let insert = conn.query(insert).bind(at).bind(count).bind(age.to_string());
        assert_eq!(insert.bind(&[0u8; 32][..]).execute().await.unwrap(), count as u64);
    }
    drop(conn);
    licd::ops::idempotency::forget_old(&db, now).await.unwrap();
    let mut conn = db.read().await.unwrap();
    let left: Vec<(i64,)> =
        conn.query("select count(*) from idempotency_keys").fetch_all().await.unwrap();
    assert_eq!(left, [(3,)]);
    drop(conn);
    db.close().await;
}

#[tokio::test]
async fn another_request_with_the_same_key_is_refused_and_changes_nothing() {
    let app = App::start().await;
    send(&app, "k", PRODUCTS, json!({ "name": "Studio" })).await;
    let other_body = send(&app, "k", PRODUCTS, json!({ "name": "Render" })).await;
    assert_eq!(other_body.refusal(), "422 idempotency_key_reused");
    let other_path = send(&app, "k", "/api/v1/admin/users", json!({ "externalId": "ada" })).await;
    assert_eq!(other_path.refusal(), "422 idempotency_key_reused");
    assert_eq!(names(&app).await, 1);
}

#[tokio::test]
async fn a_refusal_is_not_kept() {
    let app = App::start().await;
    let bad = send(&app, "k", PRODUCTS, json!({ "name": "" })).await;
    assert_eq!(bad.refusal(), "400 invalid_request name");
    let plan = json!({ "productId": "prd_01h455vb4pex5vsknk084sn02q", "name": "Pro" });
    let unknown = send(&app, "k", "/api/v1/admin/plans", plan).await;
    assert_eq!(unknown.refusal(), "400 invalid_request productId");
    assert_eq!(send(&app, "k", PRODUCTS, json!({ "name": "Studio" })).await.status, 201);
}

#[tokio::test]
async fn keys_of_different_tenants_and_modes_do_not_meet() {
    let app = App::start().await;
    for caller in [(*app).clone(), app.test_mode().await, app.other_tenant().await] {
        let made = send(&caller, "k", PRODUCTS, json!({ "name": "Studio" })).await;
        assert_eq!((made.status, made.header("idempotency-replayed")), (201, None));
    }
}

#[tokio::test]
async fn of_many_at_once_one_is_done() {
    let app = App::start().await;
    let mut sending = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let caller = (*app).clone();
        sending.spawn(async move { send(&caller, "k", PRODUCTS, json!({ "name": "A" })).await });
    }
    for answer in sending.join_all().await {
        match answer.status {
            201 => {}
            _ => {
                assert_eq!(answer.refusal(), "409 idempotency_key_in_use");
                assert_eq!(answer.number("retry-after"), 1);
            }
        }
    }
    assert_eq!(names(&app).await, 1);
}

#[tokio::test]
async fn a_new_api_key_is_kept_nowhere_and_shown_once() {
    let app = App::start().await;
    let body = json!({ "name": "app", "role": "validate" });
    let made = send(&app, "k", "/api/v1/admin/keys", body.clone()).await;
    let again = send(&app, "k", "/api/v1/admin/keys", body).await;
    assert_eq!((made.status, again.refusal().as_str()), (201, "409 conflict"));
    let kept: Vec<(Option<String>,)> = app.rows("select body from idempotency_keys").await;
    // What was done, and nothing of its secret.
    assert_eq!(kept, [(Some(made.id()),)]);
    assert_eq!(app.number("select count(*) from keys where name = 'app'").await, 1);

    let path = format!("/api/v1/admin/keys/{}/roll", made.id());
    let body = json!({ "overlapSeconds": 3600 });
    let rolled = send(&app, "r", &path, body.clone()).await;
    let again = send(&app, "r", &path, body).await;
    assert_eq!((rolled.status, again.refusal().as_str()), (201, "409 conflict"));
    let other = send(&app, "r", &path, json!({ "overlapSeconds": 0 })).await;
    assert_eq!(other.refusal(), "422 idempotency_key_reused");
    let mut kept: Vec<(Option<String>,)> = app.rows("select body from idempotency_keys").await;
    kept.sort();
    assert_eq!(kept, [(Some(made.id()),), (Some(rolled.id()),)]);
    assert_eq!(app.number("select count(*) from keys where name = 'app'").await, 2);
}

#[tokio::test]
async fn after_a_week_a_key_may_be_used_again() {
    let app = App::start().await;
    send(&app, "k", PRODUCTS, json!({ "name": "Studio" })).await;
    let long_ago = Timestamp::now().plus(-chrono::Duration::hours(169));
    let mut conn = app.db().write().await.unwrap();
    let backdate = conn.query("update idempotency_keys set created_at = $1").bind(long_ago);
    assert_eq!(backdate.execute().await.unwrap(), 1);
    drop(conn);
    let made = send(&app, "k", PRODUCTS, json!({ "name": "Render" })).await;
    assert_eq!((made.status, made.header("idempotency-replayed")), (201, None));
}

#[tokio::test]
async fn a_malformed_key_is_refused() {
    let app = App::start().await;
    for key in ["", "a b", &"x".repeat(256)] {
        let refused = send(&app, key, PRODUCTS, json!({ "name": "Studio" })).await;
        assert_eq!(refused.refusal(), "400 invalid_request Idempotency-Key", "{key:?}");
    }
}

/// An answer of last week would keep a revoked license valid.
#[tokio::test]
async fn a_repeated_validation_is_decided_again() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await;
    let ask = || send(&app, "k", "/api/v1/validate", json!({ "userId": "ada" }));
    assert_eq!(ask().await.verdict(), "valid");
    app.set_status(&license, "revoked").await;
    assert_eq!(ask().await.verdict(), "revoked");
}

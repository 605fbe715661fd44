//! DELETE of products, plans and licenses: what was created by mistake goes, anything else stays.

use insta::assert_snapshot;
use reqwest::Method;
use reqwest::header::IF_MATCH;
use serde_json::json;

use crate::harness::App;

const EVENTS: &str = "/api/v1/admin/events";

fn path(kind: &str, id: &str) -> String {
    format!("/api/v1/admin/{kind}/{id}")
}

/// From the license up, each is returned as it was, and gone.
#[tokio::test]
async fn what_nobody_used_is_deleted() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let plan = app.plan_of(&product, json!({ "name": "Team" })).await;
    let license = app.license_of(&plan).await;
    app.update(&license, json!({ "name": "Acme Berlin" })).await.data();
    app.set_status(&license, "suspended").await.data();
    let last = app.get(EVENTS).await.list().last().unwrap()["sequence"].clone();
    for (kind, id) in [("licenses", &license), ("plans", &plan), ("products", &product)] {
        let path = path(kind, id);
        let shown = app.get(&path).await;
        let deleted = app.delete(&path).await;
        assert_eq!(deleted.status, 200, "{deleted}");
        for (member, value) in deleted.data().as_object().unwrap() {
            assert_eq!(&shown[member], value, "{kind} {member}");
        }
        assert_eq!(app.get(&path).await.refusal(), "404 not_found");
        assert_eq!(app.delete(&path).await.refusal(), "404 not_found");
        assert!(app.get(&format!("/api/v1/admin/{kind}")).await.list().is_empty());
    }
    assert!(app.get("/api/v1/admin/licenses?search=acme").await.list().is_empty());
    let events = app.get(&format!("{EVENTS}?after={last}")).await;
    assert_eq!(events.each("type"), ["license.deleted", "plan.deleted", "product.deleted"]);
    let subjects = events.list().iter().map(|event| event["subject"]["id"].clone());
    assert_eq!(subjects.collect::<Vec<_>>(), [license, plan, product]);
    assert_eq!(events.list()[0]["data"]["object"]["name"], "Acme Berlin");
}

#[tokio::test]
async fn what_is_used_stays() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let plan = app.plan_of(&product, json!({})).await;
    let (assigned, unassigned) = (app.license_of(&plan).await, app.license_of(&plan).await);
    app.assign(&assigned, "ada").await.data();
    app.assign(&unassigned, "grace").await.data();
    app.unassign(&unassigned, "grace").await.data();
    let events = app.get(EVENTS).await.list().len();
    assert_snapshot!(app.delete(&path("products", &product)).await, @r#"
    409 {
      "success": false,
      "error": "Only a product without plans can be deleted",
      "code": "conflict",
      "requestId": "<request id>"
    }
    "#);
    for (kind, id) in [("plans", &plan), ("licenses", &assigned), ("licenses", &unassigned)] {
        let path = path(kind, id);
        let before = app.get(&path).await;
        assert_eq!(app.delete(&path).await.refusal(), "409 conflict", "{kind}");
        assert_eq!(app.get(&path).await.data(), before.data());
    }
    assert_eq!(app.get(EVENTS).await.list().len(), events);
    // The same applies after a user was deleted, and when the assignment is no longer recorded.
    app.delete_user("ada").await.data();
    assert_eq!(app.delete(&path("licenses", &assigned)).await.refusal(), "409 conflict");
    app.assign(&assigned, "ada").await.data();
    let mut conn = app.db().write().await.unwrap();
    conn.query("delete from events").execute().await.unwrap();
    drop(conn);
    assert_eq!(app.delete(&path("licenses", &assigned)).await.refusal(), "409 conflict");
    assert_eq!(app.delete(&path("licenses", &unassigned)).await.status, 200);
}

/// As for any other change: only the record that the caller saw, only once, only of one's own.
#[tokio::test]
async fn a_deletion_is_a_change_like_any_other() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let path = path("products", &product);
    let seen = app.get(&path).await.header("etag").unwrap().to_owned();
    app.patch(&path, json!({ "description": "Desktop" })).await.data();
    let stale = app.send(Method::DELETE, &path, |request| request.header(IF_MATCH, &seen)).await;
    assert_eq!(stale.refusal(), "409 changed");
    for stranger in [app.test_mode().await, app.other_tenant().await] {
        assert_eq!(stranger.delete(&path).await.refusal(), "404 not_found");
    }
    let once = async || {
        app.send(Method::DELETE, &path, |request| request.header("Idempotency-Key", "k")).await
    };
    let (first, second) = (once().await, once().await);
    assert_eq!((first.status, first.data()), (200, second.data()));
    assert_eq!(second.header("idempotency-replayed"), Some("true"));
}

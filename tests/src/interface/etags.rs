//! `ETag` and `If-Match`: a change that is based on a record as it was seen.

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::harness::{Answer, App, Caller};

async fn change_if(caller: &Caller, path: &str, tags: &[&str], body: &Value) -> Answer {
    let with_tags = |request: RequestBuilder| {
        tags.iter().fold(request, |request, tag| request.header("If-Match", *tag)).json(body)
    };
    caller.send(Method::PATCH, path, with_tags).await
}

fn tag(answer: &Answer) -> &str {
    answer.header("etag").unwrap_or_else(|| panic!("no tag on {answer}"))
}

/// One record of each kind: its path, its tag when it was created, and a change of it.
async fn records(app: &App) -> Vec<(String, String, Value)> {
    let mut records = Vec::new();
    let mut create = async |list: &str, body: Value, change: Value| {
        let path = format!("/api/v1/admin/{list}");
        let created = app.post(&path, body).await;
        records.push((format!("{path}/{}", created.id()), tag(&created).to_owned(), change));
        created.id()
    };
    let product = create("products", json!({ "name": "Studio" }), json!({ "name": "A" })).await;
    let plan = json!({ "productId": product, "name": "Team" });
    let plan = create("plans", plan, json!({ "maxSeats": 5 })).await;
    create("licenses", json!({ "planId": plan }), json!({ "name": "Acme" })).await;
    create("users", json!({ "externalId": "ada" }), json!({ "metadata": { "a": 1 } })).await;
    records
}

/// The tag of an answer that changes a record is the tag of the record when it is read.
#[tokio::test]
async fn a_change_is_refused_if_the_record_has_changed_since() {
    let app = App::start().await;
    for (path, created, change) in records(&app).await {
        assert_eq!(tag(&app.get(&path).await), created, "{path}");
        let changed = change_if(&app, &path, &[&created], &change).await;
        assert_ne!(tag(&changed), created, "{path}");
        let now = app.get(&path).await;
        assert_eq!(tag(&now), tag(&changed), "{path}");

        let late = change_if(&app, &path, &[&created], &json!({ "name": "Late" })).await;
        assert_eq!(late.refusal(), "409 changed", "{path}");
        assert!(late.body["error"].as_str().unwrap().contains("Read it again"), "{late}");
        assert_eq!(app.get(&path).await.data(), now.data(), "{path}");

        let same = change_if(&app, &path, &[tag(&now)], &change).await;
        assert_eq!(tag(&same), tag(&now), "{path}: it changes nothing");
    }
}

#[tokio::test]
async fn if_match_is_read_as_rfc_9110_has_it() {
    let app = App::start().await;
    let product = app.post("/api/v1/admin/products", json!({ "name": "Studio" })).await;
    let path = format!("/api/v1/admin/products/{}", product.id());
    let tag = tag(&product);
    let weak = format!("W/{tag}");
    let listed = format!("\"other\", {tag}");
    for (tags, outcome) in [
        (&["*"][..], "200"),
        (&[&listed], "200"),
        (&["\"other\"", tag], "200"),
        (&[&weak], "409 changed"),
        (&["\"other\""], "409 changed"),
        (&["other"], "400 invalid_request If-Match"),
        (&[""], "400 invalid_request If-Match"),
    ] {
        let answer = change_if(&app, &path, tags, &json!({})).await;
        let found = if answer.status == 200 { "200".into() } else { answer.refusal() };
        assert_eq!(found, outcome, "{tags:?}");
    }
    let unknown = "/api/v1/admin/products/prd_01h455vb4pex5vsknk084sn02q";
    for tag in ["*", tag] {
        assert_eq!(change_if(&app, unknown, &[tag], &json!({})).await.refusal(), "404 not_found");
    }
}

/// A seat that a validation takes is no change of the license that a person edits; its status is.
#[tokio::test]
async fn the_tag_of_a_license_follows_what_people_change() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 5 })).await;
    let path = format!("/api/v1/admin/licenses/{license}");
    app.assign(&license, "ada").await.data();
    let seen = app.get(&path).await;
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    let now = app.get(&path).await;
    assert_eq!(now["seats"]["used"], 1);
    assert_eq!(tag(&now), tag(&seen));

    let status = format!("{path}/status");
    let suspended = json!({ "status": "suspended" });
    let done = change_if(&app, &status, &[tag(&seen)], &suspended).await;
    assert_eq!(done["status"], "suspended");
    assert_eq!(tag(&done), tag(&app.get(&path).await));
    let late = change_if(&app, &status, &[tag(&seen)], &json!({ "status": "active" })).await;
    assert_eq!(late.refusal(), "409 changed");
}

#[tokio::test]
async fn a_user_who_has_changed_is_not_deleted() {
    let app = App::start().await;
    let seen = app.post("/api/v1/admin/users", json!({ "externalId": "ada" })).await;
    let path = format!("/api/v1/admin/users/{}", seen.id());
    let changed = app.patch(&path, json!({ "name": "Ada" })).await;
    let delete = async |tag: &str| {
        app.send(Method::DELETE, &path, |request| request.header("If-Match", tag)).await
    };
    assert_eq!(delete(tag(&seen)).await.refusal(), "409 changed");
    assert_eq!(delete(tag(&changed)).await.data(), changed.data());
}

/// Of many who saw the same, one changes it.
#[tokio::test]
async fn one_of_many_changes_what_all_saw() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}");
    let seen = app.get(&path).await;
    let changes: Vec<Value> =
        (1..=8).map(|number| json!({ "name": format!("Customer {number}") })).collect();
    let seen = &[tag(&seen)];
    let changes = changes.iter().map(|change| change_if(&app, &path, seen, change));
    let (refused, done): (Vec<_>, Vec<_>) =
        join_all(changes).await.into_iter().partition(|answer| answer.status == 409);
    assert_eq!((refused.len(), done.len()), (7, 1));
    assert_eq!(tag(&app.get(&path).await), tag(&done[0]));
}

/// Changes within a millisecond have tags of their own, as `updatedAt` strictly grows.
#[tokio::test]
async fn each_change_has_another_time_and_tag() {
    let app = App::start().await;
    for (path, created, change) in records(&app).await {
        let (mut tags, mut times) = (vec![created], vec![String::new()]);
        for number in 0..10 {
            let body = match change.get("metadata") {
                Some(_) => json!({ "metadata": { "number": number } }),
                None => json!({ "name": format!("Name {number}") }),
            };
            let changed = app.patch(&path, body).await;
            assert!(!tags.iter().any(|before| before == tag(&changed)), "{path}");
            tags.push(tag(&changed).to_owned());
            times.push(changed["updatedAt"].as_str().unwrap().to_owned());
        }
        assert!(times.is_sorted_by(|before, after| before < after), "{times:?}");
    }
}

/// The request that is sent again is based on what was true the first time.
#[tokio::test]
async fn a_replay_has_the_tag_of_the_first_answer() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}");
    let seen = app.get(&path).await;
    let ask = async || {
        let with = |request: RequestBuilder| {
            let request = request.header("If-Match", tag(&seen)).header("Idempotency-Key", "k");
            request.json(&json!({ "name": "Acme" }))
        };
        app.send(Method::PATCH, &path, with).await
    };
    let (first, again) = (ask().await, ask().await);
    assert_eq!(first.header("idempotency-replayed"), None);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!((tag(&again), again.data()), (tag(&first), first.data()));
    assert_eq!(tag(&again), tag(&app.get(&path).await));
}

/// The last use of a key is no change of it.
#[tokio::test]
async fn the_tag_of_a_key_stays_when_the_key_is_used() {
    let app = App::start().await;
    let created = app.post("/api/v1/admin/keys", json!({ "name": "CI", "role": "read" })).await;
    let revoke = format!("/api/v1/admin/keys/{}/revoke", created.id());
    let revoked = app.post(&revoke, json!({})).await;
    assert_ne!(tag(&revoked), tag(&created));
    let mut conn = app.db().write().await.unwrap();
    let used = "update keys set last_used_at = created_at where name = 'CI'";
    assert_eq!(conn.query(used).execute().await.unwrap(), 1);
    drop(conn);
    let again = app.post(&revoke, json!({})).await;
    assert!(revoked["lastUsedAt"].is_null() && again["lastUsedAt"].is_string());
    assert_eq!(tag(&again), tag(&revoked));
}

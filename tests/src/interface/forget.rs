//! `POST /api/v1/admin/users/{id}/forget`: a person's data leaves the user, the assignments, the
//! events and the refusals.

use common::{Mode, Role};
use serde_json::{Value, json};

use crate::harness::{App, until};

const PERSONAL: [&str; 5] = ["Kim Doe", "kim@mail.example", "badge-7", "desk-9", "Kimmy"];

/// A user with personal data in all places, whose id was kim@old before.
async fn kim(app: &App) -> String {
    let user = json!({ "externalId": "kim@old", "email": "kim@mail.example", "name": "Kimmy",
        "metadata": { "badge": "badge-7" } });
    let id = app.post("/api/v1/admin/users", user).await.id();
    let path = format!("/api/v1/admin/users/{id}");
    app.patch(&path, json!({ "name": "Kim Doe" })).await.data();
    let license = app.license(json!({})).await;
    let assign = format!("/api/v1/admin/licenses/{license}/assign");
    let body = json!({ "userId": "kim@old", "metadata": { "desk": "desk-9" } });
    app.post(&assign, body).await.data();
    app.validate("kim@old").await.data();
    app.patch(&path, json!({ "externalId": "kim@new" })).await.data();
    id
}

/// All that licd shows of its records and changes, but for the refusals.
async fn everything(app: &App) -> String {
    let lists = ["users", "events", "licenses"];
    let mut all = String::new();
    for list in lists {
        let answer = app.get(&format!("/api/v1/admin/{list}")).await;
        all += &Value::from(answer.list().to_vec()).to_string();
        for license in answer.list().iter().filter(|_| list == "licenses") {
            let path =
                format!("/api/v1/admin/licenses/{}/assignments", license["id"].as_str().unwrap());
            all += &app.get(&path).await.data().to_string();
        }
    }
    all
}

async fn forget(app: &App, user: &str, external_id: bool) -> Value {
    let path = format!("/api/v1/admin/users/{user}/forget");
    app.post(&path, json!({ "externalId": external_id })).await.data().clone()
}

fn kinds(forgotten: &Value) -> Vec<&str> {
    let remaining = forgotten["remaining"].as_array().unwrap();
    remaining.iter().map(|it| it["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn personal_data_is_removed_and_the_user_stays_licensed() {
    let app = App::start().await;
    let id = kim(&app).await;
    let before = app.get("/api/v1/admin/events").await;
    let forgotten = forget(&app, &id, false).await;
    assert_eq!((&forgotten["userId"], &forgotten["externalId"]), (&json!(id), &json!("kim@new")));
    assert_eq!(forgotten["changedEvents"], 4);
    assert_eq!(kinds(&forgotten), ["external_id", "stored_response", "delivery", "backup"]);
    let all = everything(&app).await;
    for personal in PERSONAL {
        assert!(!all.contains(personal), "{personal} in {all}");
    }
    assert!(all.contains("kim@old") && all.contains("kim@new"));
    assert_eq!(app.validate("kim@new").await.verdict(), "valid");
    assert!(app.get("/api/v1/admin/users?search=kim%20doe").await.list().is_empty());

    // There are as many events as before, with the same ids, and the last one records the deletion.
    let after = app.get("/api/v1/admin/events").await;
    assert_eq!(after.each("id")[..before.list().len()], before.each("id"));
    assert_eq!(after.each("type").last(), Some(&"user.forgotten"));
    assert_eq!(after.list().len(), before.list().len() + 1);

    // Nothing is left to do.
    assert_eq!(forget(&app, &id, false).await["changedEvents"], 0);
    assert_eq!(app.get("/api/v1/admin/events").await.list().len(), after.list().len());
}

#[tokio::test]
async fn external_ids_are_replaced_everywhere_if_asked_for() {
    let app = App::start().await;
    let id = kim(&app).await;
    let explain = async |user: &str| {
        app.post("/api/v1/admin/explain", json!({ "userId": user })).await.data().clone()
    };
    // Another user gets the former id, and keeps it.
    assert_eq!(app.validate("kim@old").await.verdict(), "no_license");
    until("the refusal is counted", async || {
        explain("kim@old").await["refusals"].as_array().unwrap().len() == 1
    })
    .await;
    let name = id.replace("usr_", "forgotten-");
    let forgotten = forget(&app, "kim%40new", true).await;
    assert_eq!(forgotten["externalId"], name);
    assert_eq!(kinds(&forgotten), ["stored_response", "delivery", "backup"]);
    let all = everything(&app).await;
    assert!(!all.contains("kim@new"), "{all}");
    // Two of the other user: the record, and the event of its creation.
    assert_eq!(all.matches("kim@old").count(), 3, "{all}");
    assert_eq!(explain("kim@old").await["refusals"].as_array().unwrap().len(), 1);
    assert_eq!(app.validate(&name).await.verdict(), "valid");

    let other = app.user("kim@old").await["id"].as_str().unwrap().to_owned();
    app.delete(&format!("/api/v1/admin/users/{other}")).await.data();
    let forgotten = forget(&app, "kim%40old", true).await;
    assert_eq!(forgotten["userId"], other);
    assert!(!everything(&app).await.contains("kim@old"));
    assert!(explain("kim@old").await["refusals"].as_array().unwrap().is_empty());
    let again = app.post("/api/v1/admin/users/kim%40old/forget", json!({})).await;
    assert_eq!(again.refusal(), "404 not_found");
}

#[tokio::test]
async fn what_remains_is_named() {
    let app = App::start().await;
    app.post("/api/v1/admin/signing-keys", json!({})).await.data();
    let product = app.product("Studio").await;
    let plan = app.plan_of(&product, json!({ "maxLeaseSeconds": 86_400 })).await;
    let license = json!({ "planId": plan, "name": "Kim Doe" });
    let license = app.post("/api/v1/admin/licenses", license).await.id();
    app.assign(&license, "kim").await.data();
    let lease = json!({ "userId": "kim", "productId": product });
    let lease = app.post("/api/v1/lease", lease).await.data()["lease"].clone();
    let forgotten = forget(&app, "kim", true).await;
    assert_eq!(kinds(&forgotten), ["license", "lease", "stored_response", "delivery", "backup"]);
    assert_eq!(forgotten["remaining"][0]["licenseId"], license);
    assert!(lease["expiresAt"].is_string(), "{lease}");
    assert!(forgotten["remaining"][1]["until"].is_string());
}

#[tokio::test]
async fn only_admins_of_the_world_forget_and_once_for_a_key() {
    let app = App::start().await;
    let id = kim(&app).await;
    let path = format!("/api/v1/admin/users/{id}/forget");
    let reader = app.caller(Role::Read, Mode::Live).await;
    assert_eq!(reader.post(&path, json!({})).await.refusal(), "403 forbidden");
    let other = app.other_tenant().await;
    assert_eq!(other.post(&path, json!({})).await.refusal(), "404 not_found");
    assert_eq!(app.post(&path, json!({ "email": true })).await.status, 400);
    assert!(everything(&app).await.contains("Kim Doe"));

    let send = async || {
        let with = |request: reqwest::RequestBuilder| {
            request.header("Idempotency-Key", "forget-kim").json(&json!({ "externalId": true }))
        };
        app.send(reqwest::Method::POST, "/api/v1/admin/users/kim%40new/forget", with).await
    };
    let first = send().await.data().clone();
    assert_eq!(*send().await.data(), first);
}

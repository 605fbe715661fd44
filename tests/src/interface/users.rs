//! Users: POST, GET with `externalId`, GET by id, PATCH.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::App;

const USERS: &str = "/api/v1/admin/users";

#[tokio::test]
async fn a_user_is_made_and_shown() {
    let app = App::start().await;
    let body = json!({
        "externalId": "ada", "email": "ada@example.com", "name": " Ada ", "metadata": { "n": [1] },
    });
    let made = app.post(USERS, body).await;
    assert_snapshot!(made, @r#"
    201 {
      "success": true,
      "data": {
        "id": "usr_1",
        "tenantId": "ten_1",
        "externalId": "ada",
        "email": "ada@example.com",
        "name": "Ada",
        "metadata": {
          "n": [
            1
          ]
        },
        "createdAt": "<time>",
        "updatedAt": "<time>"
      }
    }
    "#);
    assert_eq!(app.get(&format!("{USERS}/{}", made.id())).await.data(), made.data());
    assert_eq!(&app.get(USERS).await.list()[0], made.data());
    let tenant = app.get("/api/v1/key").await["tenant"]["id"].clone();
    assert_eq!(made["tenantId"], tenant);
}

/// Create-or-update on `externalId`: 201 the first time, then 200; given members overwrite, absent
/// ones stay.
#[tokio::test]
async fn a_known_user_is_updated() {
    let app = App::start().await;
    app.validate("ada").await;
    let id = app.user("ada").await["id"].clone();
    let show = |user: &Value| [&user["email"], &user["name"], &user["metadata"]].map(Value::clone);
    for (body, now) in [
        (json!({}), [json!(null), json!(null), json!(null)]),
        (json!({ "email": "a@b" }), [json!("a@b"), json!(null), json!(null)]),
        (json!({ "name": "Ada", "email": null }), [json!("a@b"), json!("Ada"), json!(null)]),
        (json!({ "metadata": { "a": 1 } }), [json!("a@b"), json!("Ada"), json!({ "a": 1 })]),
        (json!({ "metadata": { "b": 2 } }), [json!("a@b"), json!("Ada"), json!({ "b": 2 })]),
    ] {
        let mut named = body.clone();
        named["externalId"] = "ada".into();
        let saved = app.post(USERS, named).await;
        assert_eq!((saved.status, &saved["id"]), (200, &id), "{body}");
        assert_eq!(show(saved.data()), now, "{body}");
        assert_eq!(&app.user("ada").await, saved.data());
    }
    let again = app.post(USERS, json!({ "externalId": "ada", "name": "Ada" })).await;
    assert_eq!(&app.user("ada").await, again.data(), "the same again changes nothing");
    assert_eq!(app.post(USERS, json!({ "externalId": "grace" })).await.status, 201);
}

/// GET with `externalId`: that very user, or none.
#[tokio::test]
async fn users_are_found_by_their_external_id() {
    let app = App::start().await;
    let odd = ["ada", "Ada", "a+b", "a b", "a/b", "a%20b", "ä?&=#"];
    for user in odd {
        app.validate(user).await;
    }
    assert_eq!(app.get(USERS).await.each("externalId"), odd);
    for user in odd {
        assert_eq!(app.user(user).await["externalId"], user);
    }
    for nobody in ["", "AdA", "%00", "a%0Ab"] {
        let found = app.get(&format!("{USERS}?externalId={nobody}")).await;
        assert!(found.list().is_empty(), "{nobody}");
    }
    let too_long = "x".repeat(256);
    assert!(app.get(&format!("{USERS}?externalId={too_long}")).await.list().is_empty());
}

#[tokio::test]
async fn a_user_is_changed_member_by_member() {
    let app = App::start().await;
    let body = json!({ "externalId": "ada", "name": "Ada", "metadata": { "b": 1, "a": 2 } });
    let made = app.post(USERS, body).await;
    let path = format!("{USERS}/{}", made.id());
    let same = json!({ "metadata": { "a": 2, "b": 1 } });
    assert_eq!(app.patch(&path, same).await.data(), made.data());
    let show = async |change| {
        let now = app.patch(&path, change).await;
        assert_eq!(app.get(&path).await.data(), now.data());
        ["email", "name", "metadata"].map(|member| now[member].to_string()).join(" ")
    };
    assert_eq!(show(json!({ "email": "a@b", "metadata": {} })).await, r#""a@b" "Ada" {}"#);
    assert_eq!(show(json!({ "clear": ["email", "metadata"] })).await, r#"null "Ada" null"#);
    assert_eq!(show(json!({ "clear": ["name"], "email": "c@d" })).await, r#""c@d" null null"#);
    for (change, field) in [
        (json!({ "clear": ["externalId"] }), "clear"),
        (json!({ "clear": ["name"], "name": "x" }), "clear"),
        (json!({ "email": "" }), "email"),
        (json!({ "metadata": [] }), "metadata"),
    ] {
        let refusal = app.patch(&path, change).await.refusal();
        assert_eq!(refusal, format!("400 invalid_request {field}"));
    }
}

/// "Free-form": whatever JSON an object can hold comes back as it was sent.
#[tokio::test]
async fn metadata_comes_back_as_it_was_sent() {
    let app = App::start().await;
    for metadata in [
        json!({}),
        json!({ "": "", " ": " ", "é\u{10ffff}": "\u{1}\u{7f}\n\t\"\\/" }),
        json!({ "n": [0, -1, 1.5, 1e300, 5e-324, 18446744073709551615u64, i64::MIN, true, null] }),
        json!({ "deep": [[[[{ "a": { "b": { "c": [] } } }]]]] }),
        json!({ "$ref": "x", "__proto__": {}, "$1": "'; drop table users; --" }),
    ] {
        let body = json!({ "externalId": "ada", "metadata": metadata });
        let saved = app.post(USERS, body).await;
        assert_eq!(saved["metadata"], metadata);
        assert_eq!(app.user("ada").await["metadata"], metadata);
    }
}

/// Deleting removes the user from all licenses, frees the seats, and returns the record as it was.
#[tokio::test]
async fn a_deleted_user_leaves_licenses_and_seats() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 1 })).await;
    let (first, second) = (app.license_of(&plan).await, app.license_of(&plan).await);
    for license in [&first, &second] {
        app.assign(license, "ada").await.data();
        app.assign(license, "grace").await.data();
    }
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    assert_eq!(app.validate("grace").await.verdict(), "exceeded_seats");
    let ada = app.user("ada").await;
    let path = format!("{USERS}/{}", ada["id"].as_str().unwrap());
    let deleted = app.delete(&path).await;
    assert_eq!((deleted.status, deleted.data()), (200, &ada));
    assert_eq!(app.validate("grace").await.verdict(), "valid", "the seat is free");
    assert_eq!(app.get(USERS).await.each("externalId"), ["grace"]);
    assert_eq!(app.number("select count(*) from assignments").await, 2);
    assert_eq!(app.usage(&first).await["totalActivations"], 1);
    assert_eq!(app.get(&path).await.refusal(), "404 not_found");
    assert_eq!(app.patch(&path, json!({ "name": "Ada" })).await.refusal(), "404 not_found");
    assert_eq!(app.explain("ada").await["reason"], "user_not_found");
    assert_eq!(app.delete(&path).await.refusal(), "404 not_found");
}

/// The name is free again, and what comes under it is another user.
#[tokio::test]
async fn a_deleted_user_may_come_back_as_a_new_one() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await.data();
    app.validate("ada").await.data();
    let before = app.user("ada").await["id"].clone();
    app.delete_user("ada").await.data();
    assert_eq!(app.validate("ada").await.verdict(), "no_license");
    assert_ne!(app.user("ada").await["id"], before);
    app.delete_user("ada").await.data();
    assert_eq!(app.post(USERS, json!({ "externalId": "ada" })).await.status, 201);
    app.delete_user("ada").await.data();
    assert_eq!(app.assign(&license, "ada").await.status, 201);
}

/// A user of another tenant or mode is as unknown as any, and stays.
#[tokio::test]
async fn a_foreign_user_is_not_deleted() {
    let app = App::start().await;
    app.validate("ada").await.data();
    let path = format!("{USERS}/{}", app.user("ada").await["id"].as_str().unwrap());
    for stranger in [app.test_mode().await, app.other_tenant().await] {
        let unknown = stranger.delete(&format!("{USERS}/usr_01h455vb4pex5vsknk084sn02q")).await;
        assert_eq!(unknown.refusal(), "404 not_found");
        assert_eq!(stranger.delete(&path).await.told(), unknown.told());
    }
    assert_eq!(app.get(&path).await.status, 200);
}

/// Customers change their addresses, and stay who they are.
#[tokio::test]
async fn a_user_with_another_external_id_keeps_licenses_and_seats() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&license, "ada@old.example").await.data();
    assert_eq!(app.validate("ada@old.example").await.verdict(), "valid");
    let user = app.user("ada@old.example").await;
    let path = format!("{USERS}/{}", user["id"].as_str().unwrap());
    app.post(USERS, json!({ "externalId": "grace" })).await.data();
    for (external_id, refusal) in
        [("grace", "409 conflict"), ("", "400 invalid_request externalId")]
    {
        let refused = app.patch(&path, json!({ "externalId": external_id })).await;
        assert_eq!(refused.refusal(), refusal);
    }
    let same = app.patch(&path, json!({ "externalId": "ada@old.example" })).await;
    assert_eq!(same["updatedAt"], user["updatedAt"]);
    let moved = app.patch(&path, json!({ "externalId": "ada@new.example" })).await;
    assert_eq!((moved.status, &moved["id"]), (200, &user["id"]));
    assert_eq!(app.validate("ada@new.example").await.verdict(), "valid");
    assert_eq!(app.usage(&license).await["activeSeats"], 1);
    // A request with the former one is for another user.
    assert_eq!(app.validate("ada@old.example").await.verdict(), "no_license");
    let events = app.get("/api/v1/admin/events?type=user.updated").await;
    let [event] = events.list() else { panic!("{events}") };
    assert_eq!(event["data"]["previous"]["externalId"], "ada@old.example");
    assert_eq!(event["data"]["object"]["externalId"], "ada@new.example");
}

/// An application may ask for the new id in the very moment.
#[tokio::test]
async fn an_external_id_is_changed_while_it_is_asked_for() {
    let app = App::start().await;
    for round in 0..10 {
        let old = app.post(USERS, json!({ "externalId": format!("old-{round}") })).await.id();
        let (path, new) = (format!("{USERS}/{old}"), format!("new-{round}"));
        let (changed, asked) =
            tokio::join!(app.patch(&path, json!({ "externalId": new })), app.validate(&new));
        assert!(changed.status == 200 || changed.refusal() == "409 conflict", "{changed}");
        assert_eq!(asked.verdict(), "no_license");
        let found = app.get(&format!("{USERS}?externalId={new}")).await;
        assert_eq!(found.list().len(), 1, "one user has it");
    }
}

//! The licenses themselves: making, showing, listing and changing them.

use chrono::Duration;
use common::Timestamp;
use insta::assert_snapshot;
use serde_json::json;

use crate::harness::{App, clock_passes};

const LICENSES: &str = "/api/v1/admin/licenses";

/// POST /admin/licenses: "inherits all of the plan's settings".
#[tokio::test]
async fn a_license_inherits_its_plans_settings() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 5, "features": ["sso", "export"] })).await;
    assert_snapshot!(app.post(LICENSES, json!({ "planId": plan })).await, @r#"
    201 {
      "success": true,
      "data": {
        "id": "lic_1",
        "productId": "prd_1",
        "planId": "pln_1",
        "status": "active",
        "maxSeats": 5,
        "expiresAt": null,
        "features": [
          "sso",
          "export"
        ],
        "createdAt": "<time>",
        "updatedAt": "<time>"
      }
    }
    "#);
}

/// `expiresInDays` of the plan is the default, that of the request overrides it; null is absent.
#[tokio::test]
async fn the_request_overrides_the_plans_validity() {
    let app = App::start().await;
    let endless = app.plan(json!({})).await;
    let month = app.plan(json!({ "expiresInDays": 30 })).await;
    for (plan, asked, days) in [
        (&endless, None, None),
        (&endless, Some(1), Some(1)),
        (&month, None, Some(30)),
        (&month, Some(36_500), Some(36_500)),
    ] {
        let body = json!({ "planId": plan, "expiresInDays": asked });
        let made = app.post(LICENSES, body).await;
        let created: Timestamp = made["createdAt"].as_str().unwrap().parse().unwrap();
        let expires = days.map(|days| created.plus(Duration::days(days)).to_string());
        assert_eq!(made["expiresAt"].as_str(), expires.as_deref(), "{asked:?}");
    }
}

/// `expiresAt` of the request overrides both, and is sufficient.
#[tokio::test]
async fn the_request_can_say_when_the_license_ends() {
    let app = App::start().await;
    let plan = app.plan(json!({ "expiresInDays": 30 })).await;
    let end = "2030-02-01T00:00:00.000Z";
    let made = app.post(LICENSES, json!({ "planId": plan, "expiresAt": end })).await;
    assert_eq!((made.status, &made["expiresAt"]), (201, &json!(end)));
    let both = json!({ "planId": plan, "expiresAt": end, "expiresInDays": 30 });
    assert_eq!(app.post(LICENSES, both).await.refusal(), "400 invalid_request expiresAt");
    let day = json!({ "planId": plan, "expiresAt": "2030-01-31" });
    assert_eq!(app.post(LICENSES, day).await.refusal(), "400 invalid_request expiresAt");
    assert_eq!(app.get(LICENSES).await.list().len(), 1);
}

/// `assignTo` creates the license of a user in one request, `unlessHeld` only one of each plan.
#[tokio::test]
async fn a_license_is_created_for_a_user() {
    let app = App::start().await;
    let [plan, other] = [app.plan(json!({})).await, app.plan(json!({})).await];
    let to = |user: &str| json!({ "userId": user, "newUser": { "email": "a@b", "name": "A" } });
    let body = json!({ "planId": plan, "assignTo": to("ada"), "unlessHeld": true });
    let made = app.post(LICENSES, body.clone()).await;
    assert_eq!(made.status, 201);
    let events = app.get("/api/v1/admin/events").await;
    let types: Vec<_> = events.list().iter().rev().take(3).rev().map(|it| &it["type"]).collect();
    assert_eq!(types, ["user.created", "license.created", "license.assigned"]);
    let user = app.user("ada").await;
    assert_eq!((&user["email"], &user["name"]), (&json!("a@b"), &json!("A")));
    assert!(app.validate("ada").await["valid"] == true);
    // It is found as long as it is active or suspended.
    let status = format!("{LICENSES}/{}/status", made.id());
    for (state, creates) in [("active", false), ("suspended", false), ("expired", true)] {
        assert_eq!(app.patch(&status, json!({ "status": state })).await.status, 200);
        let again = app.post(LICENSES, body.clone()).await;
        assert_eq!((again.status == 201, again.id() != made.id()), (creates, creates), "{state}");
    }
    // Another plan, and without `unlessHeld` the same one, gives one more.
    for body in [
        json!({ "planId": other, "assignTo": to("ada"), "unlessHeld": true }),
        json!({ "planId": plan, "assignTo": { "userId": "ada", "first": true } }),
    ] {
        let more = app.post(LICENSES, body).await;
        assert_eq!(more.status, 201);
        let decides = app.validate("ada").await["license"]["id"] == more.id().as_str();
        assert_eq!(decides, more["planId"] == plan.as_str());
    }
    for (body, refusal) in [
        (json!({ "unlessHeld": true }), "400 invalid_request unlessHeld"),
        (json!({ "assignTo": { "userId": "" } }), "400 invalid_request assignTo"),
        (json!({ "assignTo": {} }), "400 invalid_request assignTo"),
        (json!({ "assignTo": { "userId": "a", "email": "" } }), "400 invalid_request email"),
        (json!({ "userId": "ada" }), "400 invalid_request userId"),
    ] {
        let mut body = body;
        body["planId"] = json!(plan);
        assert_eq!(app.post(LICENSES, body.clone()).await.refusal(), refusal, "{body}");
    }
    assert_eq!(app.get(LICENSES).await.list().len(), 4);
}

/// A license is the same nine members everywhere: creation, get, list, status, usage, validation.
/// `name`, `metadata` and `seats` stand next to them in lists and in the answer to GET by id, and
/// nowhere else.
#[tokio::test]
async fn a_license_is_the_same_wherever_it_is_shown() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 2, "expiresInDays": 9, "features": ["b", "a"] })).await;
    let body = json!({ "planId": plan, "name": " Acme ", "metadata": { "z": 1.50, "a": null } });
    let made = app.post(LICENSES, body).await;
    assert_eq!(made.data().as_object().unwrap().len(), 9);
    let license = made.id();
    app.assign(&license, "ada").await;
    let mut counted = made.with("seats", json!({ "used": 0, "allowed": 2 }));
    counted["name"] = "Acme".into();
    counted["metadata"] = json!({ "z": 1.50, "a": null });
    assert_eq!(app.get(&format!("{LICENSES}/{license}")).await.data(), &counted);
    assert_eq!(app.get(LICENSES).await.list(), [counted]);
    for shown in [
        app.set_status(&license, "active").await.data().clone(),
        app.update(&license, json!({})).await.data().clone(),
        app.validate("ada").await["license"].clone(),
        app.usage(&license).await["license"].clone(),
        app.explain("ada").await["licenses"][0]["license"].clone(),
    ] {
        assert_eq!(&shown, made.data());
    }
}

/// A plan that is unknown, malformed or of another kind is the body's fault.
#[tokio::test]
async fn a_license_needs_a_plan_that_exists() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    for plan in ["pln_01h455vb4pex5vsknk084sn02q", "pln_", "x", &product] {
        let refused = app.post(LICENSES, json!({ "planId": plan })).await;
        assert_eq!(refused.refusal(), "400 invalid_request planId", "{plan}");
    }
    assert_eq!(app.post(LICENSES, json!({})).await.refusal(), "400 invalid_request planId");
}

/// GET /admin/licenses: all of them, or a plan's; an unknown or malformed plan has none.
#[tokio::test]
async fn licenses_are_listed_by_plan() {
    let app = App::start().await;
    let (one, other) = (app.plan(json!({})).await, app.plan(json!({})).await);
    let mut made = Vec::new();
    for plan in [&one, &other, &one] {
        made.push(app.license_of(plan).await);
    }
    assert_eq!(app.get(LICENSES).await.each("id"), made);
    let of = async |plan: &str| app.get(&format!("{LICENSES}?planId={plan}")).await;
    assert_eq!(of(&one).await.each("id"), [&*made[0], &*made[2]]);
    assert_eq!(of(&other).await.each("id"), [&*made[1]]);
    for nothing in ["pln_01h455vb4pex5vsknk084sn02q", "x", ""] {
        assert!(of(nothing).await.list().is_empty(), "{nothing}");
    }
}

/// PATCH: what is given is set, what is absent or null stays, what `clear` names becomes null.
#[tokio::test]
async fn a_license_is_changed_member_by_member() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 5, "features": ["sso"] })).await;
    let show = async |change| {
        let now = app.update(&license, change).await;
        let mut again = app.get(&format!("{LICENSES}/{license}")).await;
        let members = again.body["data"].as_object_mut().unwrap();
        let [seats, _, _] = ["seats", "name", "metadata"].map(|it| members.remove(it).unwrap());
        assert_eq!(seats, json!({ "used": 0, "allowed": now["maxSeats"] }));
        assert_eq!(again.data(), now.data());
        format!("{} {} {}", now["maxSeats"], now["expiresAt"], now["features"])
    };
    let end = "2030-06-01T00:00:00.000Z";
    assert_eq!(show(json!({ "expiresAt": end })).await, format!("5 {end:?} [\"sso\"]"));
    assert_eq!(show(json!({ "maxSeats": null })).await, format!("5 {end:?} [\"sso\"]"));
    assert_eq!(show(json!({ "maxSeats": 7 })).await, format!("7 {end:?} [\"sso\"]"));
    let cleared = show(json!({ "clear": ["maxSeats", "expiresAt"] })).await;
    assert_eq!(cleared, "null null [\"sso\"]");
    assert_eq!(show(json!({ "features": ["b", "a"] })).await, "null null [\"b\",\"a\"]");
    assert_eq!(show(json!({ "features": [] })).await, "null null []");
    let other_zone = json!({ "expiresAt": "2030-06-01T02:00:00+02:00" });
    assert_eq!(show(other_zone).await, format!("null {end:?} []"));
}

/// As are the name and the metadata. Each change of either is one of the license.
#[tokio::test]
async fn a_license_has_a_name_and_metadata() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("{LICENSES}/{license}");
    let mut before = app.get(&path).await.data().clone();
    assert_eq!([&before["name"], &before["metadata"]], [&json!(null), &json!(null)]);
    for (change, name, metadata) in [
        (json!({ "name": " Acme Ltd " }), json!("Acme Ltd"), json!(null)),
        (json!({ "metadata": { "order": 7 } }), json!("Acme Ltd"), json!({ "order": 7 })),
        (json!({ "metadata": { "deal": 8 } }), json!("Acme Ltd"), json!({ "deal": 8 })),
        (json!({ "clear": ["name"], "metadata": {} }), json!(null), json!({})),
        (json!({ "clear": ["metadata"], "name": "Acme" }), json!("Acme"), json!(null)),
    ] {
        clock_passes(before["updatedAt"].as_str().unwrap()).await;
        app.update(&license, change.clone()).await.data();
        let after = app.get(&path).await.data().clone();
        assert_eq!([&after["name"], &after["metadata"]], [&name, &metadata], "{change}");
        assert_ne!(after["updatedAt"], before["updatedAt"], "{change}");
        app.update(&license, change).await.data();
        assert_eq!(app.get(&path).await.data(), &after, "the same again");
        before = after;
    }
}

/// A repeated change changes nothing, not even `updatedAt`. A change moves it and never
/// `createdAt`.
#[tokio::test]
async fn updated_at_moves_with_changes_only() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 5, "features": ["sso"] })).await;
    let mut before = app.update(&license, json!({})).await.data().clone();
    assert_eq!(before["createdAt"], before["updatedAt"]);
    for (change, changes) in [
        (json!({ "maxSeats": 5 }), false),
        (json!({ "features": ["sso"] }), false),
        (json!({ "clear": ["expiresAt"] }), false),
        (json!({ "maxSeats": 6 }), true),
        (json!({ "expiresAt": "2030-01-01T00:00:00Z" }), true),
        (json!({ "expiresAt": "2030-01-01T00:00:00.0004Z" }), false),
        (json!({ "clear": ["maxSeats"] }), true),
    ] {
        clock_passes(before["updatedAt"].as_str().unwrap()).await;
        let after = app.update(&license, change.clone()).await.data().clone();
        assert_eq!(after != before, changes, "{change}");
        assert_eq!(after["updatedAt"] != before["updatedAt"], changes, "{change}");
        assert_eq!(after["createdAt"], before["createdAt"]);
        before = after;
    }
}

#[tokio::test]
async fn clearing_an_unknown_or_set_field_is_400() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    for (change, refusal) in [
        (json!({ "clear": ["features"] }), "400 invalid_request clear"),
        (json!({ "clear": ["status"] }), "400 invalid_request clear"),
        (json!({ "clear": "maxSeats" }), "400 invalid_request clear"),
        (json!({ "clear": ["maxSeats"], "maxSeats": 5 }), "400 invalid_request clear"),
        (json!({ "maxSeats": 0 }), "400 invalid_request maxSeats"),
        (json!({ "expiresAt": "soon" }), "400 invalid_request expiresAt"),
        (json!({ "features": ["a", "a"] }), "400 invalid_request features"),
        (json!({ "name": " " }), "400 invalid_request name"),
        (json!({ "clear": ["name"], "name": "Acme" }), "400 invalid_request clear"),
        (json!({ "metadata": ["Acme"] }), "400 invalid_request metadata"),
    ] {
        assert_eq!(app.update(&license, change.clone()).await.refusal(), refusal, "{change}");
    }
}

/// Another plan: the license takes what it says, but for the end and what the request sets itself.
#[tokio::test]
async fn a_license_moves_to_another_plan() {
    let app = App::start().await;
    let small = json!({ "maxSeats": 2, "features": ["sso"], "expiresInDays": 30 });
    let license = app.license_of(&app.plan(small).await).await;
    let large = json!({
        "maxSeats": 9, "features": ["audit", "sso"], "seatIdleMinutes": 60, "graceDays": 7,
        "expiresInDays": 365,
    });
    let large = app.plan(large).await;
    for user in ["ada", "bob", "eve"] {
        app.assign(&license, user).await.data();
    }
    let before = app.get_license(&license).await;
    app.update(&license, json!({ "planId": large, "graceDays": 3 })).await.data();
    let after = app.get_license(&license).await;
    let plan = app.get(&format!("/api/v1/admin/plans/{large}")).await;
    for same in ["productId", "maxSeats", "features"] {
        assert_eq!(after[same], plan[same], "{same}");
    }
    assert_ne!(after["productId"], before["productId"]);
    assert_eq!((&after["planId"], &after["expiresAt"]), (&json!(large), &before["expiresAt"]));
    assert_eq!(after["terms"]["seatIdleMinutes"], 60);
    assert_eq!(after["terms"]["graceDays"], 3);
    for user in ["ada", "bob", "eve"] {
        let answer = app.validate_for(user, &plan["productId"]).await;
        assert_eq!(answer.verdict(), "valid", "{user}");
    }
    let same = app.update(&license, json!({ "planId": large, "graceDays": 3 })).await;
    assert_eq!(same["updatedAt"], after["updatedAt"]);
    // The same plan again gives what was changed by hand.
    app.update(&license, json!({ "planId": large, "clear": ["maxSeats"] })).await.data();
    assert_eq!(app.get_license(&license).await["terms"]["graceDays"], 7);
    assert_eq!(app.get_license(&license).await["maxSeats"], json!(null));
    let unknown = json!({ "planId": "pln_01h455vb4pex5vsknk084sn02q" });
    assert_eq!(app.update(&license, unknown).await.refusal(), "400 invalid_request planId");
    let events = app.get("/api/v1/admin/events?type=license.updated").await;
    assert_eq!(events.list()[0]["data"]["previous"]["planId"], before["planId"]);
}

//! Plans: POST, GET with `productId`, GET by id, PATCH.

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::App;

const PLANS: &str = "/api/v1/admin/plans";

#[tokio::test]
async fn a_plan_is_made_and_shown() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let body = json!({
        "productId": product, "name": "Team", "description": "For a few.",
        "maxSeats": 5, "expiresInDays": 365, "features": ["sso", "export"],
    });
    let made = app.post(PLANS, body).await;
    assert_snapshot!(made, @r#"
    201 {
      "success": true,
      "data": {
        "id": "pln_1",
        "productId": "prd_1",
        "name": "Team",
        "description": "For a few.",
        "maxSeats": 5,
        "expiresInDays": 365,
        "features": [
          "sso",
          "export"
        ],
        "createdAt": "<time>",
        "updatedAt": "<time>",
        "seatIdleMinutes": null,
        "graceDays": null,
        "maxLeaseSeconds": null,
        "expiresFrom": null,
        "trial": false
      }
    }
    "#);
    assert_eq!(app.get(&format!("{PLANS}/{}", made.id())).await.data(), made.data());
    assert_eq!(&app.get(PLANS).await.list()[0], made.data());
}

/// Required: productId and name. The others are null, and `features` is an array anyway.
#[tokio::test]
async fn a_plan_needs_a_product_and_a_name() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let made = app.post(PLANS, json!({ "productId": product, "name": "Free" })).await;
    for unset in ["description", "maxSeats", "expiresInDays"] {
        assert_eq!(made[unset], json!(null), "{unset}");
    }
    assert_eq!(made["features"], json!([]));
    for (body, field) in [
        (json!({ "name": "Free" }), "productId"),
        (json!({ "productId": product }), "name"),
        (json!({ "productId": "prd_01h455vb4pex5vsknk084sn02q", "name": "x" }), "productId"),
        (json!({ "productId": made.id(), "name": "x" }), "productId"),
    ] {
        let refusal = app.post(PLANS, body).await.refusal();
        assert_eq!(refusal, format!("400 invalid_request {field}"));
    }
    assert_eq!(app.get(PLANS).await.list().len(), 1);
}

/// GET with `productId`: that product's plans; an unknown or malformed product has none.
#[tokio::test]
async fn plans_are_listed_by_product() {
    let app = App::start().await;
    let (one, other) = (app.product("One").await, app.product("Other").await);
    let mut made = Vec::new();
    for product in [&one, &other, &one] {
        made.push(app.plan_of(product, json!({})).await);
    }
    assert_eq!(app.get(PLANS).await.each("id"), made);
    let of = async |product: &str| app.get(&format!("{PLANS}?productId={product}")).await;
    assert_eq!(of(&one).await.each("id"), [&*made[0], &*made[2]]);
    assert_eq!(of(&other).await.each("id"), [&*made[1]]);
    for nothing in ["prd_01h455vb4pex5vsknk084sn02q", "x", ""] {
        assert!(of(nothing).await.list().is_empty(), "{nothing}");
    }
}

#[tokio::test]
async fn a_plan_is_changed_member_by_member() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 5, "expiresInDays": 30, "features": ["a"] })).await;
    let path = format!("{PLANS}/{plan}");
    let before = app.get(&path).await;
    assert_eq!(app.patch(&path, json!({ "maxSeats": 5 })).await.data(), before.data());
    let show = async |change| {
        let now = app.patch(&path, change).await;
        assert_eq!(app.get(&path).await.data(), now.data());
        let shown = ["name", "description", "maxSeats", "expiresInDays", "features"];
        shown.map(|member| now[member].to_string()).join(" ")
    };
    assert_eq!(show(json!({ "name": "Crew" })).await, r#""Crew" null 5 30 ["a"]"#);
    assert_eq!(show(json!({ "description": "d" })).await, r#""Crew" "d" 5 30 ["a"]"#);
    let change = json!({ "maxSeats": 6, "expiresInDays": 31, "features": ["c", "b"] });
    assert_eq!(show(change).await, r#""Crew" "d" 6 31 ["c","b"]"#);
    let clear = json!({ "clear": ["description", "maxSeats", "expiresInDays"], "features": [] });
    assert_eq!(show(clear).await, r#""Crew" null null null []"#);
    for (change, field) in [
        (json!({ "clear": ["features"] }), "clear"),
        (json!({ "clear": ["maxSeats"], "maxSeats": 1 }), "clear"),
        (json!({ "maxSeats": 0 }), "maxSeats"),
        (json!({ "expiresInDays": -1 }), "expiresInDays"),
        (json!({ "features": "a" }), "features"),
    ] {
        let refusal = app.patch(&path, change).await.refusal();
        assert_eq!(refusal, format!("400 invalid_request {field}"));
    }
}

/// Editing a plan never changes licenses already made.
#[tokio::test]
async fn a_changed_plan_leaves_its_licenses_alone() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 5, "expiresInDays": 30, "features": ["a"] })).await;
    let license = format!("/api/v1/admin/licenses/{}", app.license_of(&plan).await);
    let before = app.get(&license).await;
    let change = json!({ "maxSeats": 1, "features": [], "clear": ["expiresInDays"] });
    app.patch(&format!("{PLANS}/{plan}"), change).await.data();
    assert_eq!(app.get(&license).await.data(), before.data());
    let next = app.post("/api/v1/admin/licenses", json!({ "planId": plan })).await;
    assert_eq!(
        json!([next["maxSeats"], next["expiresAt"], next["features"]]),
        json!([1, null, []])
    );
}

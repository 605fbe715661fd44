//! Products: POST, GET, GET by id, PATCH.

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::App;

const PRODUCTS: &str = "/api/v1/admin/products";

#[tokio::test]
async fn a_product_is_made_and_shown() {
    let app = App::start().await;
    let body = json!({ "name": "  Studio ", "description": "Draws things." });
    let made = app.post(PRODUCTS, body).await;
    assert_snapshot!(made, @r#"
    201 {
      "success": true,
      "data": {
        "id": "prd_1",
        "name": "Studio",
        "description": "Draws things.",
        "createdAt": "<time>",
        "updatedAt": "<time>"
      }
    }
    "#);
    assert_eq!(app.get(&format!("{PRODUCTS}/{}", made.id())).await.data(), made.data());
    assert_eq!(&app.get(PRODUCTS).await.list()[0], made.data());
}

/// Required: only name.
#[tokio::test]
async fn a_product_needs_a_name() {
    let app = App::start().await;
    for body in [json!({}), json!({ "name": null }), json!({ "name": "  " })] {
        let refused = app.post(PRODUCTS, body.clone()).await;
        assert_eq!(refused.refusal(), "400 invalid_request name", "{body}");
    }
    let made = app.post(PRODUCTS, json!({ "name": "Studio" })).await;
    assert_eq!((made.status, &made["description"]), (201, &json!(null)));
}

/// "Returns all products of the tenant", oldest first; names need not differ.
#[tokio::test]
async fn products_are_listed_oldest_first() {
    let app = App::start().await;
    assert_snapshot!(app.get(PRODUCTS).await, @r#"
    200 {
      "success": true,
      "data": [],
      "nextCursor": null
    }
    "#);
    for name in ["b", "a", "b"] {
        app.product(name).await;
    }
    assert_eq!(app.get(PRODUCTS).await.each("name"), ["b", "a", "b"]);
}

#[tokio::test]
async fn a_product_is_changed_member_by_member() {
    let app = App::start().await;
    let made = app.post(PRODUCTS, json!({ "name": "Studio", "description": "Draws." })).await;
    let path = format!("{PRODUCTS}/{}", made.id());
    assert_eq!(app.patch(&path, json!({})).await.data(), made.data());
    assert_eq!(app.patch(&path, json!({ "name": "Studio " })).await.data(), made.data());
    for (change, now) in [
        (json!({ "name": " Atelier " }), json!(["Atelier", "Draws."])),
        (json!({ "description": "Paints." }), json!(["Atelier", "Paints."])),
        (json!({ "description": null }), json!(["Atelier", "Paints."])),
        (json!({ "clear": ["description"] }), json!(["Atelier", null])),
    ] {
        let changed = app.patch(&path, change.clone()).await;
        assert_eq!(json!([changed["name"], changed["description"]]), now, "{change}");
        assert_eq!(app.get(&path).await.data(), changed.data());
    }
    for (change, field) in [
        (json!({ "name": "" }), "name"),
        (json!({ "clear": ["name"] }), "clear"),
        (json!({ "clear": ["description"], "description": "x" }), "clear"),
    ] {
        let refusal = app.patch(&path, change).await.refusal();
        assert_eq!(refusal, format!("400 invalid_request {field}"));
    }
}

//! Texts as long as they may be, without a blank at which a line could end.

use serde_json::json;

use super::signed_in;
use crate::harness::App;

const WIDE_TABLES: &str = "return [...document.querySelectorAll('.scroll')]
    .filter(table => table.scrollWidth > table.clientWidth).length";

#[tokio::test]
async fn long_texts_fit_the_screen() {
    let app = App::start().await;
    let long = "x".repeat(255);
    let product = app.product(&long).await;
    let features = json!([long[..100], "y".repeat(100)]);
    let terms = json!({ "name": long, "description": long, "maxSeats": 1, "features": features });
    let plan = app.plan_of(&product, terms).await;
    let license = app.license_of(&plan).await;
    for user in [&long, &long.replace('x', "y")] {
        app.assign(&license, user).await.data();
        app.validate(user).await.data();
    }
    let fields = json!({ "externalId": long, "email": long, "name": long });
    let user = app.post("/api/v1/admin/users", fields).await.id();
    let key = json!({ "name": long, "role": "read" });
    let key = app.post("/api/v1/admin/keys", key).await.id();

    let browser = signed_in(&app).await;
    for page in [
        String::new(),
        "/licenses".into(),
        "/licenses/new".into(),
        format!("/licenses/{license}"),
        "/users".into(),
        format!("/users/{user}"),
        "/products".into(),
        format!("/products/{product}"),
        format!("/plans/{plan}"),
        "/keys".into(),
        format!("/keys/{key}"),
        "/events".into(),
    ] {
        browser.open(&format!("/dashboard/live{page}")).await;
        // Nothing is cut: no table must be scrolled to see all of its columns.
        assert_eq!(browser.script(WIDE_TABLES).await, 0, "{page:?} has a table that is cut");
        browser.narrow().await;
        assert!(!browser.overflows().await, "{page:?} is wider than the screen");
        browser.wide().await;
    }
}

//! Forms whose texts mean a day, features or a person, and how they are read.

use serde_json::json;

use super::acts::{license_page, send, stored, user_page};
use super::admin;
use crate::harness::App;

/// A comma between features separates them, unless a feature has it.
#[tokio::test]
async fn features_are_separated_by_lines_or_commas() {
    let app = App::start().await;
    let license = app.license(json!({ "features": ["a, b", "c"] })).await;
    let visitor = admin(&app).await;
    let path = format!("{}/terms", license_page(&license));
    for (typed, features, notice) in [
        ("a, b\nc", json!(["a, b", "c"]), "Nothing was changed."),
        ("c\na, b", json!(["c", "a, b"]), "The features are in another order."),
        ("c\na, b\nexport, sso,", json!(["c", "a, b", "export", "sso"]), "Added export, sso."),
        ("c,sso\n2fa", json!(["c", "sso", "2fa"]), "Removed a, b, export; added 2fa."),
        ("2fa", json!(["2fa"]), "Removed c, sso."),
    ] {
        let fields = [("features", typed), ("confirmed", "features")];
        let page = send(&visitor, &path, &fields).await;
        assert!(page.contains(notice), "{typed}: {page}");
        assert_eq!(stored(&app, &license).await["features"], features);
    }
}

/// The last valid day that the form of a license shows holds from the start.
#[tokio::test]
async fn a_license_made_here_is_valid_through_its_last_day() {
    let app = App::start().await;
    let plan = app.plan(json!({ "expiresInDays": 30 })).await;
    let user = app.post("/api/v1/admin/users", json!({ "externalId": "ada" })).await.id();
    let visitor = admin(&app).await;
    let for_user = format!("/dashboard/live/users/{user}/licenses");
    for (path, days) in
        [("/dashboard/live/licenses", ""), ("/dashboard/live/licenses", "7"), (&for_user, "")]
    {
        let fields =
            [("planId", &*plan), ("expiresInDays", days), ("once", &*format!("{path}{days}"))];
        assert_eq!(visitor.post(path, &fields).await.status(), 303, "{path}");
    }
    for license in app.get("/api/v1/admin/licenses").await.list() {
        let [created, end] = ["createdAt", "expiresAt"]
            .map(|member| license[member].as_str().unwrap().parse::<common::Timestamp>().unwrap());
        assert!(end.last_day().is_some(), "{license}");
        let days = end.since(created).num_days();
        assert!([7, 30].contains(&days), "{days}");
    }
}

/// The customer has a new address: the licenses stay.
#[tokio::test]
async fn a_user_gets_another_external_id() {
    let app = App::start().await;
    app.assign(&app.license(json!({})).await, "ada@old.example").await.data();
    app.post("/api/v1/admin/users", json!({ "externalId": "taken" })).await.data();
    let visitor = admin(&app).await;
    let path = user_page(&app, "ada@old.example").await;
    let page = send(&visitor, &path, &[("externalId", "taken"), ("name", "Ada")]).await;
    assert!(page.contains("The user was not saved") && page.contains("Another user"), "{page}");
    let page = send(&visitor, &path, &[("externalId", " ada@new.example "), ("name", "Ada")]).await;
    assert!(page.contains("User saved.") && page.contains("ada@new.example"), "{page}");
    assert_eq!(app.validate("ada@new.example").await.verdict(), "valid");
}

/// The page says which users are refused, and keeps what another user typed.
#[tokio::test]
async fn a_license_shows_which_users_its_end_refuses() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let visitor = admin(&app).await;
    let page = async || visitor.get(&license_page(&license)).await.text().await.unwrap();
    assert_eq!(page().await.matches("No user has this license yet.").count(), 2);
    for user in ["ada", "grace"] {
        app.assign(&license, user).await.data();
    }
    app.validate("ada").await.data();
    assert_eq!(page().await.matches("All 2 users will be refused immediately.").count(), 2);
}

/// Two products of one name look the same in every choice.
#[tokio::test]
async fn a_second_product_of_a_name_is_noted() {
    let app = App::start().await;
    let visitor = admin(&app).await;
    for (once, said) in
        [("1", "Product created. Next: add a plan."), ("2", "There is another one of this name")]
    {
        let fields = [("product_name", " Studio "), ("name", " Studio "), ("once", once)];
        let page = send(&visitor, "/dashboard/live/products", &fields).await;
        assert!(page.contains(said), "{page}");
    }
}

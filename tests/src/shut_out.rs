//! A stranger with a license key and the API key of a shipped application can claim that license
//! for another user. The claim must not shut that user out of other licenses.

use serde_json::{Value, json};

use crate::harness::{App, Caller};

/// A product, and licenses of it.
struct Product<'a> {
    app: &'a App,
    id: String,
    /// The rights of a shipped application.
    shipped: Caller,
}

impl<'a> Product<'a> {
    async fn new(app: &'a App) -> Self {
        app.post("/api/v1/admin/signing-keys", json!(null)).await;
        Self { app, id: app.product("Studio").await, shipped: app.asker().await }
    }

    async fn license(&self, terms: Value) -> String {
        self.app.license_of(&self.app.plan_of(&self.id, terms).await).await
    }

    /// The key of a floating license with one seat, and the license.
    async fn small(&self) -> (String, String) {
        let small = self.license(json!({ "maxSeats": 1, "seatIdleMinutes": 60 })).await;
        let made = self.app.post(&format!("/api/v1/admin/licenses/{small}/keys"), json!({})).await;
        (made["key"].as_str().unwrap().to_owned(), small)
    }

    async fn ask(&self, path: &str, mut body: Value) -> Value {
        body["productId"] = self.id.as_str().into();
        self.shipped.post(&format!("/api/v1/{path}"), body).await.data().clone()
    }

    /// Claims the small license for ada, frees her seats, and lets mallory have the only one.
    async fn attack(&self, key: &str) {
        self.ask("claim", json!({ "userId": "ada", "key": key })).await;
        self.shipped.post("/api/v1/release", json!({ "userId": "ada" })).await;
        let taken = self.ask("claim", json!({ "userId": "mallory", "key": key })).await;
        assert_eq!(taken["valid"], true, "{taken}");
    }
}

/// Before the attack ada holds a seat, or she gets her license only afterwards; it may be floating.
#[tokio::test]
async fn a_claimed_license_shuts_nobody_out() {
    for (terms, is_assigned_before) in [
        (json!({ "maxSeats": 50 }), true),
        (json!({ "maxSeats": 50 }), false),
        (json!({ "maxSeats": 50, "seatIdleMinutes": 60 }), true),
        (json!({ "maxSeats": 50, "seatIdleMinutes": 60 }), false),
    ] {
        let app = App::start().await;
        let product = Product::new(&app).await;
        let good = product.license(terms.clone()).await;
        let (key, _) = product.small().await;
        let validate = async || product.ask("validate", json!({ "userId": "ada" })).await;
        if is_assigned_before {
            app.assign(&good, "ada").await.data();
            assert_eq!(validate().await["license"]["id"], good.as_str());
        }
        product.attack(&key).await;
        if !is_assigned_before {
            app.assign(&good, "ada").await.data();
        }
        let explained = app.post("/api/v1/admin/explain", json!({ "userId": "ada" })).await;
        let verdicts: Vec<_> = explained["licenses"].as_array().unwrap().iter().collect();
        let verdicts: Vec<_> = verdicts.iter().map(|it| it["verdict"].as_str().unwrap()).collect();
        assert_eq!(verdicts, ["exceeded_seats", "valid"], "{terms} {is_assigned_before}");
        for _ in 0..2 {
            let answer = validate().await;
            assert_eq!(answer["license"]["id"], good.as_str(), "{terms} {is_assigned_before}");
        }
        // To claim again, as an application may at each start, says what a validation says.
        let again = product.ask("claim", json!({ "userId": "ada", "key": key })).await;
        assert_eq!(again["license"]["id"], good.as_str());
    }
}

/// The lease is one of the license that decides, by its terms.
#[tokio::test]
async fn the_lease_is_of_the_license_that_decides() {
    let app = App::start().await;
    let product = Product::new(&app).await;
    let good = product.license(json!({ "maxSeats": 50, "maxLeaseSeconds": 3600 })).await;
    let (key, _) = product.small().await;
    app.assign(&good, "ada").await.data();
    product.ask("validate", json!({ "userId": "ada" })).await;
    product.attack(&key).await;
    let leased = product.ask("lease", json!({ "userId": "ada" })).await;
    assert_eq!(leased["license"]["id"], good.as_str());
    assert!(leased["lease"]["token"].is_string(), "{leased}");
}

/// The specification decides for users who never claim: the first license in force
/// decides.
#[tokio::test]
async fn who_never_claims_gets_the_answer_of_the_specification() {
    let app = App::start().await;
    let product = Product::new(&app).await;
    let (full, free) = (
        product.license(json!({ "maxSeats": 1 })).await,
        product.license(json!({ "maxSeats": 5 })).await,
    );
    app.assign(&full, "bob").await.data();
    assert_eq!(app.validate("bob").await.verdict(), "valid");
    for license in [&full, &free] {
        app.assign(license, "ada").await.data();
    }
    assert_eq!(app.validate("ada").await.verdict(), "exceeded_seats");
    // A license that an administrator puts first is passed over like one that was claimed.
    app.post(
        &format!("/api/v1/admin/licenses/{full}/assign"),
        json!({ "userId": "ada", "first": true }),
    )
    .await
    .data();
    assert_eq!(app.validate("ada").await.verdict(), "valid");
}

//! POST /api/v1/validate: the answer's shape, the user it makes, the product it is narrowed to.
//! The outcome of each condition is in `outcomes`, and who gets a seat in `seats`.

use common::Timestamp;
use insta::assert_snapshot;
use serde_json::json;

use crate::harness::App;

/// Response "valid license", with a License, an Activation and the features.
#[tokio::test]
async fn a_valid_license_is_answered_with_license_activation_and_features() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 5, "features": ["export", "sso"] })).await;
    app.assign(&license, "ada").await;
    assert_snapshot!(app.validate("ada").await, @r#"
    200 {
      "success": true,
      "data": {
        "valid": true,
        "license": {
          "id": "lic_1",
          "productId": "prd_1",
          "planId": "pln_1",
          "status": "active",
          "maxSeats": 5,
          "expiresAt": null,
          "features": [
            "export",
            "sso"
          ],
          "createdAt": "<time>",
          "updatedAt": "<time>"
        },
        "activation": {
          "id": "act_1",
          "userId": "usr_1",
          "licenseId": "lic_1",
          "activatedAt": "<time>",
          "lastCheckedAt": "<time>"
        },
        "features": [
          "export",
          "sso"
        ]
      }
    }
    "#);
}

/// Response "invalid license": its status is a success anyway.
#[tokio::test]
async fn a_license_that_is_not_valid_is_no_error() {
    let app = App::start().await;
    assert_snapshot!(app.validate("nobody").await, @r#"
    200 {
      "success": true,
      "data": {
        "valid": false,
        "reason": "no_license"
      }
    }
    "#);
}

/// Rule 1: the user is looked up, and created if absent.
#[tokio::test]
async fn an_unknown_user_is_made_once() {
    let app = App::start().await;
    assert_eq!(app.user("ada").await, json!(null));
    app.validate("ada").await;
    let made = app.user("ada").await;
    app.validate("ada").await;
    assert_eq!(app.user("ada").await, made);
    assert_eq!(app.get("/api/v1/admin/users").await.each("externalId"), ["ada"]);
    for unset in ["email", "name", "metadata"] {
        assert_eq!(made[unset], json!(null), "{unset}");
    }
}

/// "Manual creation is only needed to set extra metadata": validation does not change it.
#[tokio::test]
async fn a_validation_keeps_the_data_of_a_created_user() {
    let app = App::start().await;
    let body = json!({ "externalId": "ada", "email": "ada@example.com", "metadata": { "n": 1 } });
    let made = app.post("/api/v1/admin/users", body).await;
    app.validate("ada").await;
    assert_eq!(&app.user("ada").await, made.data());
}

/// "Any string that is unique in the caller's system": compared byte by byte, never trimmed.
#[tokio::test]
async fn user_ids_that_differ_in_one_byte_are_two_users() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await;
    let others = ["Ada", " ada", "ada ", "a\u{308}da", "äda", "ada%", "ad_", "'ada'", "\"ada\""];
    for other in others {
        assert_eq!(app.validate(other).await.verdict(), "no_license", "{other:?}");
        assert_eq!(app.user(other).await["externalId"], other);
    }
    assert_eq!(app.get("/api/v1/admin/users").await.list().len(), others.len() + 1);
    assert_eq!(app.validate("ada").await.verdict(), "valid");
}

/// Rule 5: the activation is created at the first validation and updated at each later one.
#[tokio::test]
async fn the_activation_is_made_once_and_then_moved_on() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await;
    let first = app.validate("ada").await;
    assert_eq!(first["activation"]["activatedAt"], first["activation"]["lastCheckedAt"]);
    assert_eq!(first["activation"]["userId"], app.user("ada").await["id"]);
    assert_eq!(first["activation"]["licenseId"], *license);
    let mut before = first["activation"].clone();
    for _ in 0..3 {
        let now = app.validate("ada").await["activation"].clone();
        assert!(now["lastCheckedAt"].as_str() >= before["lastCheckedAt"].as_str());
        for kept in ["id", "userId", "licenseId", "activatedAt"] {
            assert_eq!(now[kept], before[kept], "{kept}");
        }
        let mut listed = now.clone();
        listed["externalId"] = "ada".into();
        listed["email"] = json!(null);
        assert_eq!(app.usage(&license).await["activations"], json!([listed]));
        before = now;
    }
}

/// Optional `productId`: only that product's licenses are looked at.
#[tokio::test]
async fn a_product_narrows_the_search() {
    let app = App::start().await;
    let (studio, viewer) = (app.product("Studio").await, app.product("Viewer").await);
    let bare = app.product("Bare").await;
    let (first, second) = (
        app.license_of(&app.plan_of(&studio, json!({})).await).await,
        app.license_of(&app.plan_of(&viewer, json!({})).await).await,
    );
    app.assign(&first, "ada").await;
    app.assign(&second, "ada").await;
    let ask = async |product: Option<&str>| {
        let body = json!({ "userId": "ada", "productId": product });
        app.post("/api/v1/validate", body).await
    };
    assert_eq!(ask(None).await["license"]["id"], *first, "null is absent");
    assert_eq!(ask(Some(&studio)).await["license"]["id"], *first);
    assert_eq!(ask(Some(&viewer)).await["license"]["id"], *second);
    assert_eq!(ask(Some(&bare)).await.verdict(), "no_license");
    app.set_status(&second, "suspended").await;
    assert_eq!(ask(Some(&viewer)).await.verdict(), "suspended");
    assert_eq!(ask(Some(&studio)).await.verdict(), "valid");
}

/// An unknown product is the request's fault, and then nothing is done.
#[tokio::test]
async fn an_unknown_product_is_400_and_makes_no_user() {
    let app = App::start().await;
    let elsewhere = app.test_mode().await.product("Studio").await;
    let foreign = app.other_tenant().await.product("Studio").await;
    for product in ["prd_01h455vb4pex5vsknk084sn02q", &elsewhere, &foreign, "prd_1", "", "x"] {
        let body = json!({ "userId": "ada", "productId": product });
        let refused = app.post("/api/v1/validate", body).await;
        assert_eq!(refused.refusal(), "400 invalid_request productId", "{product}");
    }
    assert_eq!(app.user("ada").await, json!(null));
    let known = app.product("Studio").await;
    let body = json!({ "userId": "ada", "productId": known });
    assert_eq!(app.post("/api/v1/validate", body).await.verdict(), "no_license");
    assert_eq!(app.user("ada").await["externalId"], "ada");
}

/// Unknown members of a body are ignored, so that callers may be newer than the service.
#[tokio::test]
async fn unknown_members_are_ignored() {
    let app = App::start().await;
    let body = json!({ "userId": "ada", "device": { "id": 7 }, "valid": true });
    assert_eq!(app.post("/api/v1/validate", body).await.verdict(), "no_license");
}

/// Long lists of features are read apart from the rest: each answer has those of its own license.
#[tokio::test]
async fn long_lists_of_features_are_answered_whole() {
    let app = App::start().await;
    let many = |name: &str| -> Vec<String> {
        (0..100).map(|n| format!("{name}-{n}-{}", "x".repeat(80))).collect()
    };
    let mut products = Vec::new();
    for name in ["one", "two", "three"] {
        let product = app.product(name).await;
        let terms = json!({ "features": many(name), "maxSeats": 1 });
        let license = app.license_of(&app.plan_of(&product, terms).await).await;
        app.assign(&license, "ada").await.data();
        products.push((name, product));
    }
    for (name, product) in products.iter().chain(&products).rev() {
        let body = json!({ "userId": "ada", "productId": product });
        let answer = app.post("/api/v1/validate", body).await;
        assert_eq!(answer["features"], json!(many(name)));
        assert_eq!(answer["license"]["features"], json!(many(name)));
    }
    assert_eq!(app.validate("ada").await["features"], json!(many("one")), "the first assigned");
    let explained = app.explain("ada").await;
    assert_eq!(explained["licenses"][2]["license"]["features"], json!(many("three")));
}

/// A node whose clock is ahead has seen the user later than it is here.
#[tokio::test]
async fn the_time_of_the_latest_validation_never_goes_back() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await.data();
    app.validate("ada").await.data();
    let ahead = Timestamp::now().plus(chrono::Duration::hours(1));
    let mut conn = app.db().write().await.unwrap();
    let move_on = "update assignments set last_checked_at = $1";
    conn.query(move_on).bind(ahead).execute().await.unwrap();
    drop(conn);
    for _ in 0..2 {
        let answer = app.validate("ada").await;
        assert_eq!(answer["activation"]["lastCheckedAt"], ahead.to_string());
    }
    let usage = app.usage(&license).await;
    assert_eq!(usage["activations"][0]["lastCheckedAt"], ahead.to_string());
}

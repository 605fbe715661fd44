//! POST /api/v1/admin/explain: the decision of a validation, with reasons and without effect.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::App;

const PAST: &str = "2020-01-01T00:00:00.000Z";

/// Everything that a validation could touch: users, and the seats of a license with the times of
/// their last checks, of which the database learns later.
async fn everything(app: &App, license: &str) -> (Vec<(String, String)>, Vec<(i32,)>, Value) {
    let users = "select external_id, cast(updated_at as text) from users order by id";
    let seats = "select seats_used from licenses order by id";
    let held = app.usage(license).await["activations"].clone();
    (app.rows(users).await, app.rows(seats).await, held)
}

#[tokio::test]
async fn each_assigned_license_has_its_verdict_in_order() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let other = app.license(json!({ "name": "Solo" })).await;
    let plan = app.plan_of(&product, json!({ "name": "Team", "maxSeats": 1 })).await;
    let mut licenses = vec![other];
    for state in ["revoked", "suspended", "expired", "past", "taken", "free"] {
        let license = app.license_of(&plan).await;
        match state {
            "past" => drop(app.update(&license, json!({ "expiresAt": PAST })).await),
            "taken" => {
                app.assign(&license, "grace").await;
                app.validate("grace").await;
            }
            "free" => {}
            status => drop(app.set_status(&license, status).await),
        }
        licenses.push(license);
    }
    for license in &licenses {
        app.assign(license, "ada").await;
    }
    let body = json!({ "userId": "ada", "productId": product });
    let explained = app.post("/api/v1/admin/explain", body).await;
    let lines: Vec<String> = explained["licenses"].as_array().unwrap().iter().map(line).collect();
    assert_snapshot!(lines.join("\n"), @"
    Studio Solo 0 other_product: Skipped: this license is for Studio.
    Studio Team 0 revoked: Revoked.
    Studio Team 0 suspended: Suspended.
    Studio Team 0 expired: Its status is expired.
    Studio Team 0 expired: Expired at 2020-01-01T00:00:00.000Z.
    Studio Team 1 exceeded_seats: Another user holds the only seat.
    Studio Team 0 not_reached: Valid too, but license 6 is used.
    ");
    let shown: Vec<&Value> = explained["licenses"].as_array().unwrap().iter().collect();
    let ids: Vec<&Value> = shown.iter().map(|shown| &shown["license"]["id"]).collect();
    assert_eq!(ids, licenses.iter().collect::<Vec<_>>());
    assert_eq!(json!([explained["valid"], explained["reason"]]), json!([false, "exceeded_seats"]));
    let summary = "ada has a license for this product, but all of its seats are taken.";
    assert_eq!(explained["summary"], summary);
}

fn line(license: &Value) -> String {
    let text = |member: &str| license[member].as_str().unwrap_or("-").to_owned();
    format!(
        "{} {} {} {}: {}",
        text("productName"),
        text("planName"),
        license["seatsUsed"],
        text("verdict"),
        text("sentence")
    )
}

#[tokio::test]
async fn a_holder_is_shown_with_the_seat() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 3 })).await;
    app.assign(&license, "ada").await;
    app.validate("ada").await;
    assert_snapshot!(app.explain("ada").await, @r#"
    200 {
      "success": true,
      "data": {
        "valid": true,
        "reason": null,
        "summary": "ada is licensed.",
        "checkedAt": "<time>",
        "user": {
          "id": "usr_1",
          "tenantId": "ten_1",
          "externalId": "ada",
          "email": null,
          "name": null,
          "metadata": null,
          "createdAt": "<time>",
          "updatedAt": "<time>"
        },
        "licenses": [
          {
            "license": {
              "id": "lic_1",
              "productId": "prd_1",
              "planId": "pln_1",
              "status": "active",
              "maxSeats": 3,
              "expiresAt": null,
              "features": [],
              "createdAt": "<time>",
              "updatedAt": "<time>"
            },
            "productName": "Studio",
            "planName": "Team",
            "assignedAt": "<time>",
            "seatsUsed": 1,
            "activation": {
              "id": "act_1",
              "userId": "usr_1",
              "licenseId": "lic_1",
              "activatedAt": "<time>",
              "lastCheckedAt": "<time>"
            },
            "verdict": "valid",
            "sentence": "Valid, and the user holds a seat.",
            "remedies": []
          }
        ],
        "refusals": [],
        "similarUsers": []
      }
    }
    "#);
}

/// An unknown user is explained, and not made.
#[tokio::test]
async fn an_unknown_user_is_user_not_found() {
    let app = App::start().await;
    assert_snapshot!(app.explain("nobody").await, @r#"
    200 {
      "success": true,
      "data": {
        "valid": false,
        "reason": "user_not_found",
        "summary": "nobody is unknown; a validation would create this user.",
        "checkedAt": "<time>",
        "user": null,
        "licenses": [],
        "refusals": [],
        "similarUsers": []
      }
    }
    "#);
    assert_eq!(app.number("select count(*) from users").await, 0);
}

/// Explaining agrees with validating in every state, and changes nothing at all.
#[tokio::test]
async fn explaining_agrees_with_validating_and_has_no_effect() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 1 })).await;
    for (state, remedies) in [
        ("active", &[][..]),
        ("suspended", &["activate"]),
        ("revoked", &["activate"]),
        ("expired", &["activate"]),
        ("past", &["renew"]),
        ("revoked and past", &["activate", "renew"]),
        ("held", &[]),
        ("full", &["free_seats", "raise_limit"]),
        ("none", &[]),
    ] {
        let license = app.license_of(&plan).await;
        if state != "none" {
            app.assign(&license, state).await;
        }
        match state {
            "held" => drop(app.validate("held").await),
            "full" => {
                app.assign(&license, "first").await;
                app.validate("first").await;
            }
            "none" => drop(app.validate("none").await),
            "past" => drop(app.update(&license, json!({ "expiresAt": PAST })).await),
            "revoked and past" => {
                app.update(&license, json!({ "expiresAt": PAST })).await;
                app.set_status(&license, "revoked").await;
            }
            status => drop(app.set_status(&license, status).await),
        }
        let before = everything(&app, &license).await;
        let explained = app.explain(state).await;
        assert_eq!(everything(&app, &license).await, before, "{state}");
        let validated = app.validate(state).await;
        let reason = explained["reason"].as_str().unwrap_or("valid");
        assert_eq!(validated.verdict(), reason, "{state}");
        assert_eq!(explained["valid"], validated["valid"], "{state}");
        assert_eq!(explained["user"]["externalId"], state);
        let helps = explained["licenses"][0]["remedies"].as_array();
        let helps: Vec<_> = helps.into_iter().flatten().map(|remedy| &remedy["type"]).collect();
        assert_eq!(helps, remedies, "{state}");
    }
}

/// By rule the first license decides, so who has a free one behind a full one is refused: then
/// neither buying nor freeing a seat is the obvious remedy.
#[tokio::test]
async fn a_free_license_behind_a_full_one_is_a_remedy() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let plan = app.plan_of(&product, json!({ "maxSeats": 1 })).await;
    let (full, free) = (app.license_of(&plan).await, app.license_of(&plan).await);
    app.assign(&full, "first").await.data();
    app.validate("first").await.data();
    let remedies = async || {
        let explained = app.explain("ada").await;
        let remedies = explained["licenses"][0]["remedies"].as_array().unwrap().iter();
        remedies.map(|it| it["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    app.assign(&full, "ada").await.data();
    assert_eq!(remedies().await, ["free_seats", "raise_limit"]);
    app.assign(&free, "ada").await.data();
    assert_eq!(remedies().await, ["unassign", "free_seats", "raise_limit"]);
    app.set_status(&free, "suspended").await.data();
    assert_eq!(remedies().await, ["free_seats", "raise_limit"]);
    app.set_status(&free, "active").await.data();
    // What it says helps.
    assert_eq!(app.validate("ada").await.verdict(), "exceeded_seats");
    app.unassign(&full, "ada").await.data();
    assert_eq!(app.validate("ada").await.verdict(), "valid");
}

/// An application sends another spelling than was licensed: validation creates a second user, as it
/// must, and the explanation names the first.
#[tokio::test]
async fn a_user_without_a_license_may_be_one_who_has_it() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let users = [
        ("kim@x.example", None, None, true),
        ("7", Some("Zoë@x.example"), Some("Zoë Ö"), true),
        ("kim@x.examples", None, None, true),
        ("KIM@X.example", None, None, false),
        ("8", None, Some("No License"), false),
    ];
    for (id, email, name, is_licensed) in users {
        let body = json!({ "externalId": id, "email": email, "name": name });
        app.post("/api/v1/admin/users", body).await.data();
        if is_licensed {
            app.assign(&license, id).await.data();
        }
    }
    app.validate("Kim@x.example").await.data();
    let similar = async |id: &str| {
        let explained = app.explain(id).await;
        let similar = explained["similarUsers"].as_array().unwrap().iter();
        similar.map(|user| user["externalId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (id, found) in [
        ("Kim@x.example", &["kim@x.example"][..]),
        ("kim.x@example", &["kim@x.example"]),
        ("zoe@X.example", &["7"]),
        ("zoe o", &["7"]),
        ("no license", &[]),
        ("kim@x.example", &[]),
        ("kim", &[]),
    ] {
        assert_eq!(similar(id).await, found, "{id}");
    }
}

#[tokio::test]
async fn explaining_is_narrowed_by_product_as_validating_is() {
    let app = App::start().await;
    let (studio, viewer) = (app.product("Studio").await, app.product("Viewer").await);
    let license = app.license_of(&app.plan_of(&studio, json!({})).await).await;
    app.assign(&license, "ada").await;
    let ask = async |product: &str| {
        let body = json!({ "userId": "ada", "productId": product });
        app.post("/api/v1/admin/explain", body).await
    };
    assert_eq!(ask(&studio).await["valid"], true);
    let elsewhere = ask(&viewer).await;
    assert_eq!(elsewhere["reason"], "no_license");
    assert_eq!(elsewhere["licenses"][0]["verdict"], "other_product");
    let unknown = ask("prd_01h455vb4pex5vsknk084sn02q").await;
    assert_eq!(unknown.refusal(), "400 invalid_request productId");
}

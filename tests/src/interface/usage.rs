//! GET /api/v1/admin/licenses/:id/usage.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::App;

/// The activation that the user's validation answers, with the member that usage adds.
async fn seat_of(app: &App, user: &str, email: Value) -> Value {
    let mut seat = app.validate(user).await["activation"].clone();
    assert!(seat["externalId"].is_null(), "a validation answers what it always did: {seat}");
    (seat["externalId"], seat["email"]) = (user.into(), email);
    seat
}

#[tokio::test]
async fn usage_shows_the_license_and_its_holders() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 2 })).await;
    app.post("/api/v1/admin/users", json!({ "externalId": "ada", "email": "ada@example.com" }))
        .await;
    for user in ["ada", "grace", "edsger"] {
        app.assign(&license, user).await;
    }
    let grace = seat_of(&app, "grace", json!(null)).await;
    let seats = [grace, seat_of(&app, "ada", json!("ada@example.com")).await];
    app.validate("edsger").await;
    let usage = app.usage(&license).await;
    assert_eq!(usage["activations"], json!(seats), "oldest first");
    assert_snapshot!(usage, @r#"
    200 {
      "success": true,
      "data": {
        "license": {
          "id": "lic_1",
          "productId": "prd_1",
          "planId": "pln_1",
          "status": "active",
          "maxSeats": 2,
          "expiresAt": null,
          "features": [],
          "createdAt": "<time>",
          "updatedAt": "<time>"
        },
        "activations": [
          {
            "id": "act_1",
            "userId": "usr_1",
            "licenseId": "lic_1",
            "activatedAt": "<time>",
            "lastCheckedAt": "<time>",
            "externalId": "grace",
            "email": null
          },
          {
            "id": "act_2",
            "userId": "usr_2",
            "licenseId": "lic_1",
            "activatedAt": "<time>",
            "lastCheckedAt": "<time>",
            "externalId": "ada",
            "email": "ada@example.com"
          }
        ],
        "totalActivations": 2,
        "activeSeats": 2
      },
      "nextCursor": null
    }
    "#);
}

#[tokio::test]
async fn an_unused_license_has_no_activations() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let usage = app.usage(&license).await;
    let shown = json!([usage["activations"], usage["totalActivations"], usage["activeSeats"]]);
    assert_eq!(shown, json!([[], 0, 0]));
    let unknown = app.usage("lic_01h455vb4pex5vsknk084sn02q").await;
    assert_eq!(unknown.refusal(), "404 not_found");
}

/// `totalActivations` = seats held now, `activeSeats` = users in them. Freed seats are in neither.
#[tokio::test]
async fn the_totals_are_of_seats_held_now() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    for user in ["ada", "grace"] {
        app.assign(&license, user).await;
        app.validate(user).await;
        app.validate(user).await;
    }
    let totals = async || {
        let usage = app.usage(&license).await;
        let shown = usage["activations"].as_array().unwrap().len();
        json!([shown, usage["totalActivations"], usage["activeSeats"]])
    };
    assert_eq!(totals().await, json!([2, 2, 2]));
    app.unassign(&license, "ada").await;
    assert_eq!(totals().await, json!([1, 1, 1]));
    app.set_status(&license, "revoked").await;
    assert_eq!(totals().await, json!([1, 1, 1]));
}

/// With `limit` and `after` the activations come in pages, the totals stay whole.
#[tokio::test]
async fn activations_come_in_pages() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let mut seats = Vec::new();
    for user in ["a", "b", "c", "d", "e"] {
        app.assign(&license, user).await;
        seats.push(seat_of(&app, user, json!(null)).await);
    }
    let path = format!("/api/v1/admin/licenses/{license}/usage");
    let (mut seen, mut after) = (Vec::new(), String::new());
    for expected in [2, 2, 1] {
        let page = app.get(&format!("{path}?limit=2{after}")).await;
        let activations = page["activations"].as_array().unwrap().clone();
        assert_eq!(activations.len(), expected);
        assert_eq!(json!([page["totalActivations"], page["activeSeats"]]), json!([5, 5]));
        seen.extend(activations);
        match page.body["nextCursor"].as_str() {
            Some(cursor) => after = format!("&after={cursor}"),
            None => assert_eq!(expected, 1, "only the last page has no cursor"),
        }
    }
    assert_eq!(seen, seats);
    let full = app.get(&format!("{path}?limit=5")).await;
    assert_eq!(full.body["nextCursor"], json!(null), "a page that is just full is the last");
}

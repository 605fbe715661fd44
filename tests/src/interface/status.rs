//! PATCH /api/v1/admin/licenses/:id/status, and the table of states.

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::{App, clock_passes};

const ALL: [&str; 4] = ["active", "suspended", "revoked", "expired"];

/// Row "(none) → active": the result of POST /admin/licenses.
#[tokio::test]
async fn a_new_license_is_active() {
    let app = App::start().await;
    let license = app.license(json!({ "expiresInDays": 1 })).await;
    let shown = app.get(&format!("/api/v1/admin/licenses/{license}")).await;
    assert_eq!(shown["status"], "active");
}

/// Row "any of the four → the value supplied", and the response has the updated license.
#[tokio::test]
async fn any_status_leads_to_any_other() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    for from in ALL {
        for to in ALL {
            let license = app.license_of(&plan).await;
            app.set_status(&license, from).await;
            let answered = app.set_status(&license, to).await;
            assert_eq!((answered.status, &answered["status"]), (200, &json!(to)), "{from} → {to}");
            let stored = app.get(&format!("/api/v1/admin/licenses/{license}")).await;
            for (member, value) in answered.data().as_object().unwrap() {
                assert_eq!(&stored[member], value, "{from} → {to}: {member}");
            }
        }
    }
}

#[tokio::test]
async fn the_updated_license_is_answered_whole() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 3 })).await;
    assert_snapshot!(app.set_status(&license, "suspended").await, @r#"
    200 {
      "success": true,
      "data": {
        "id": "lic_1",
        "productId": "prd_1",
        "planId": "pln_1",
        "status": "suspended",
        "maxSeats": 3,
        "expiresAt": null,
        "features": [],
        "createdAt": "<time>",
        "updatedAt": "<time>"
      }
    }
    "#);
}

/// A repeated status changes nothing, not even `updatedAt`.
#[tokio::test]
async fn the_same_status_again_changes_nothing() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    for status in ["suspended", "active"] {
        let first = app.set_status(&license, status).await;
        clock_passes(first["updatedAt"].as_str().unwrap()).await;
        assert_eq!(app.set_status(&license, status).await.data(), first.data(), "{status}");
    }
}

#[tokio::test]
async fn a_status_is_one_of_the_four_words() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}/status");
    for body in [
        json!({}),
        json!({ "status": null }),
        json!({ "status": "Active" }),
        json!({ "status": "" }),
        json!({ "status": "deleted" }),
        json!({ "status": 1 }),
        json!({ "status": ["active"] }),
        json!({ "status": { "active": null } }),
    ] {
        let refused = app.patch(&path, body.clone()).await;
        assert_eq!(refused.refusal(), "400 invalid_request status", "{body}");
    }
    assert_eq!(
        app.patch(&path, json!({ "status": "deleted" })).await.refusal(),
        "400 invalid_request status"
    );
}

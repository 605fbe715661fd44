//! POST /api/v1/admin/licenses/{id}/renew, seats that are added, and the totals of a list.

use common::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, App};

const FUTURE: &str = "2099-05-22T00:00:00.000Z";
const PAST: &str = "2020-01-31T00:00:00.000Z";

async fn renew(app: &App, license: &str, body: Value) -> Answer {
    app.post(&format!("/api/v1/admin/licenses/{license}/renew"), body).await
}

/// A term of years counts the calendar's, whatever February has.
#[tokio::test]
async fn a_renewal_moves_the_end_by_a_term() {
    let app = App::start().await;
    let yearly = app.plan(json!({ "expiresInDays": 365 })).await;
    let monthly = app.plan(json!({ "expiresInDays": 30 })).await;
    let endless = app.plan(json!({})).await;
    for (plan, end, body, expected) in [
        (&yearly, FUTURE, json!({}), Ok("2100-05-22T00:00:00.000Z")),
        (&yearly, "2027-05-22T14:30:00.000Z", json!({}), Ok("2028-05-22T14:30:00.000Z")),
        (&monthly, FUTURE, json!({}), Ok("2099-06-21T00:00:00.000Z")),
        (&monthly, FUTURE, json!({ "for": "6mo" }), Ok("2099-11-22T00:00:00.000Z")),
        (&monthly, FUTURE, json!({ "for": "2w" }), Ok("2099-06-05T00:00:00.000Z")),
        (&endless, FUTURE, json!({ "for": "1y", "from": "end" }), Ok("2100-05-22T00:00:00.000Z")),
        (&yearly, PAST, json!({ "for": "100y", "from": "end" }), Ok("2120-01-31T00:00:00.000Z")),
        (&yearly, PAST, json!({ "from": "end" }), Err("409 ")),
        (&yearly, FUTURE, json!({ "from": "today" }), Err("409 ")),
        (&endless, FUTURE, json!({}), Err("for")),
        (&yearly, FUTURE, json!({ "for": "1" }), Err("for")),
        (&yearly, FUTURE, json!({ "for": "0d" }), Err("for")),
        (&yearly, FUTURE, json!({ "from": "now" }), Err("from")),
        (&yearly, FUTURE, json!({ "expiresAt": FUTURE }), Err("expiresAt")),
        (&yearly, "9999-05-22T00:00:00.000Z", json!({}), Err("for")),
    ] {
        let license = app.license_of(plan).await;
        app.update(&license, json!({ "expiresAt": end })).await.data();
        let renewed = renew(&app, &license, body.clone()).await;
        let stored = app.get_license(&license).await;
        match expected {
            Ok(expected) => {
                assert_eq!(renewed["expiresAt"], expected, "{end} {body}");
                assert_eq!(stored["updatedAt"], renewed["updatedAt"]);
            }
            Err(part) => {
                assert!(renewed.refusal().contains(part), "{end} {body}: {}", renewed.refusal());
                assert_eq!(stored["expiresAt"], end);
            }
        }
    }
}

/// An ended license is renewed from now on, and one that was set to expired becomes active.
#[tokio::test]
async fn a_renewed_license_is_in_force() {
    let app = App::start().await;
    let license = app.license(json!({ "expiresInDays": 30, "graceDays": 5 })).await;
    app.update(&license, json!({ "expiresAt": PAST })).await.data();
    app.set_status(&license, "expired").await.data();
    let before = Timestamp::now();
    let renewed = renew(&app, &license, json!({})).await;
    assert_eq!(renewed["status"], "active");
    let end: Timestamp = renewed["expiresAt"].as_str().unwrap().parse().unwrap();
    assert!(end.since(before).num_days() == 30, "{end}");
    let events = app.get(&format!("/api/v1/admin/events?subject={license}&order=newest")).await;
    assert_eq!(&events.each("type")[..2], ["license.updated", "license.status_changed"]);
    assert_eq!(events.list()[0]["data"]["reason"], "renewed");
    assert_eq!(events.list()[0]["data"]["previous"]["expiresAt"], PAST);
    for status in ["suspended", "revoked"] {
        app.set_status(&license, status).await.data();
        assert!(renew(&app, &license, json!({})).await.refusal().contains("409"), "{status}");
    }
    let endless = app.license(json!({})).await;
    assert!(renew(&app, &endless, json!({ "for": "1y" })).await.refusal().contains("409"));
    let waiting = json!({ "expiresInDays": 14, "expiresFrom": "firstValidation" });
    let waiting = app.license(waiting).await;
    assert!(renew(&app, &waiting, json!({})).await.refusal().contains("409"));
}

#[tokio::test]
async fn seats_are_added_to_the_limit() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 5 })).await;
    let path = format!("/api/v1/admin/licenses/{license}");
    for _ in 0..2 {
        let add = |it: reqwest::RequestBuilder| {
            it.header("idempotency-key", "add-3").json(&json!({ "addSeats": 3 }))
        };
        assert_eq!(app.send(Method::PATCH, &path, add).await["maxSeats"], 8);
    }
    for body in [
        json!({ "addSeats": 3, "maxSeats": 9 }),
        json!({ "addSeats": 3, "clear": ["maxSeats"] }),
        json!({ "addSeats": 0 }),
        json!({ "addSeats": 1_000_000 }),
    ] {
        let refused = app.update(&license, body.clone()).await.refusal();
        assert!(refused.contains("addSeats"), "{body}: {refused}");
    }
    let unlimited = app.license(json!({})).await;
    let refused = app.update(&unlimited, json!({ "addSeats": 3 })).await.refusal();
    assert!(refused.contains("addSeats"), "{refused}");
}

#[tokio::test]
async fn totals_add_up_what_a_list_has() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let team = app.plan_of(&product, json!({ "maxSeats": 4 })).await;
    let trial = app.plan_of(&product, json!({ "maxSeats": 1, "trial": true })).await;
    let site = app.plan_of(&product, json!({})).await;
    let mut made = Vec::new();
    for plan in [&team, &team, &trial, &site] {
        made.push(app.license_of(plan).await);
    }
    app.update(&made[0], json!({ "expiresAt": FUTURE, "name": "Ember" })).await.data();
    for (license, user) in [(0, "ada"), (0, "grace"), (2, "lin"), (3, "kim")] {
        app.assign(&made[license], user).await.data();
        app.validate(user).await.data();
    }
    app.update(&made[0], json!({ "maxSeats": 1 })).await.data();
    for (query, [licenses, seats, unlimited, held]) in [
        (String::new(), [4, 6, 1, 4]),
        ("trial=false".into(), [3, 5, 1, 3]),
        ("trial=true".into(), [1, 1, 0, 1]),
        (format!("planId={team}"), [2, 5, 0, 2]),
        ("seats=full".into(), [2, 2, 0, 3]),
        ("seats=over".into(), [1, 1, 0, 2]),
        ("seats=over&trial=true".into(), [0, 0, 0, 0]),
        (format!("endsFrom={FUTURE}"), [1, 1, 0, 2]),
        (format!("endsBefore={FUTURE}"), [0, 0, 0, 0]),
        (format!("endsFrom={FUTURE}&seats=over&search=ember"), [1, 1, 0, 2]),
        ("userId=kim".into(), [1, 0, 1, 1]),
        ("search=nothing".into(), [0, 0, 0, 0]),
    ] {
        let totals = app.get(&format!("/api/v1/admin/licenses/totals?{query}")).await;
        let expected = json!({
            "licenses": licenses, "seats": seats, "unlimited": unlimited, "held": held,
            "complete": true,
        });
        assert_eq!(totals.data(), &expected, "{query}");
        let listed = app.get(&format!("/api/v1/admin/licenses?{query}")).await;
        assert_eq!(listed.list().len(), licenses, "{query}");
    }
}

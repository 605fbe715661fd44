//! The allowance of events that a key has for leases and releases. Beyond it, a leased seat gets
//! leases for other devices without events, and first leases and releases are refused.

use serde_json::json;

use super::{EVENTS, LEASE, sold};
use crate::harness::{App, Caller};

async fn recorded(app: &Caller, list: &str) -> usize {
    app.get(&format!("{list}&limit=100")).await.list().len()
}

#[tokio::test]
async fn past_its_allowance_a_key_gets_leases_without_events_and_no_first_one() {
    let app = App::with_few_new_users().await;
    let sold = sold(&app, json!({ "maxSeats": 2, "maxLeaseSeconds": 600 }), &["ada", "bob"]).await;
    app.validate("bob").await.data();
    for device in 0..30 {
        let answer = sold.lease(&app, "ada", json!({ "device": device.to_string() })).await;
        assert!(answer["lease"].is_object(), "for device {device}: {}", answer.body);
    }
    // The allowance refills while the test runs.
    let leases = recorded(&app, EVENTS).await;
    assert!((10..20).contains(&leases), "{leases}");
    let body = json!({ "userId": "bob", "productId": sold.product });
    assert_eq!(app.post(LEASE, body).await.refusal(), "429 rate_limited");
    assert_eq!(recorded(&app, EVENTS).await, leases);
    assert_eq!(app.validate("bob").await.verdict(), "valid");
    let other = app.asker().await;
    assert!(
        sold.lease(&other, "bob", json!({})).await["lease"].is_object(),
        "each key has its own"
    );
}

#[tokio::test]
async fn past_its_allowance_a_key_releases_no_seats() {
    let app = App::with_few_new_users().await;
    let license = app.license(json!({ "maxSeats": 1, "seatIdleMinutes": 60 })).await;
    app.assign(&license, "ada").await.data();
    let mut released = 0;
    let refused = loop {
        app.validate("ada").await.data();
        let answer = app.post("/api/v1/release", json!({ "userId": "ada" })).await;
        if answer.status == 429 {
            break answer;
        }
        released += 1;
    };
    assert!((10..20).contains(&released), "{released}");
    assert_eq!(refused.refusal(), "429 rate_limited");
    assert!((1..=10).contains(&refused.body["retryAfter"].as_u64().unwrap()));
    assert_eq!(app.get_license(&license).await["seats"]["used"], 1, "nothing changed");
    let freed = recorded(&app, "/api/v1/admin/events?type=seat.freed").await;
    assert_eq!(freed, released);
    let seatless = app.post("/api/v1/release", json!({ "userId": "bob" })).await;
    assert_eq!(seatless.status, 200, "nothing is to be recorded");
}

#[tokio::test]
async fn a_device_has_at_most_255_bytes() {
    let app = App::start().await;
    let sold = sold(&app, json!({ "maxSeats": 1, "maxLeaseSeconds": 600 }), &["ada"]).await;
    for (device, outcome) in [("é".repeat(127), 200), ("é".repeat(128), 400)] {
        let body = json!({ "userId": "ada", "productId": sold.product, "device": device });
        let answer = app.post(LEASE, body).await;
        assert_eq!(answer.status, outcome);
        if outcome == 400 {
            assert_eq!(answer.refusal(), "400 invalid_request device");
        }
    }
}

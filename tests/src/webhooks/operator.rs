//! Deliveries by hand, and settings of an operator: addresses, the secret key, and whether webhooks
//! are sent.

use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{WEBHOOKS, record, webhook};
use crate::harness::{App, until};

/// A delivery by hand shows the response, also for a webhook that is disabled.
#[tokio::test]
async fn an_event_is_sent_by_hand_and_its_answer_seen() {
    let app = App::with_webhooks().await;
    let receiver = Receiver::start().await;
    let (id, secret) = webhook(&app, &receiver, json!({ "types": ["user.*"] })).await;
    app.patch(&format!("{WEBHOOKS}/{id}"), json!({ "enabled": false })).await.data();
    let test = async || app.post(&format!("{WEBHOOKS}/{id}/test"), json!({})).await;
    let sent = test().await.data().clone();
    assert_eq!((&sent["delivered"], &sent["status"]), (&json!(true), &json!(200)), "{sent}");
    let received = receiver.received().remove(0);
    assert_eq!(
        (&received.event["type"], &received.event["sequence"]),
        (&json!("webhook.test"), &json!(0))
    );
    assert_eq!(json!(received.id), sent["event"]);
    assert!(received.is_signed_with(&secret));
    receiver.answer(|_| 418);
    let refused = test().await.data().clone();
    assert_eq!(
        (&refused["delivered"], &refused["error"], &refused["status"]),
        (&json!(false), &json!("status"), &json!(418))
    );
    assert_eq!(
        refused["response"],
        Value::Null,
        "an answer from the operator's network stays there"
    );
    receiver.answer(|_| 200);
    app.product("one").await;
    let event = app.get("/api/v1/admin/events?type=product.created").await.list()[0].clone();
    let resend = async |event: &Value| {
        app.post(&format!("{WEBHOOKS}/{id}/resend"), json!({ "event": event })).await
    };
    assert_eq!(resend(&event["id"]).await.data()["delivered"], true);
    assert_eq!(json!(receiver.received().last().unwrap().id), event["id"]);
    let unknown = resend(&json!("evt_01h455vb4pex5vsknk084sn02q")).await;
    assert_eq!(unknown.refusal(), "400 invalid_request event");
}

/// Addresses of the operator's network are refused when they are set, unless they are named.
#[tokio::test]
async fn an_address_that_may_not_be_reached_is_refused() {
    let app = App::with_webhooks().await;
    for (url, taken) in [
        ("http://127.0.0.1/", true),
        ("https://127.0.0.1/", true),
        ("http://127.0.0.2/", false),
        ("https://0x7f.2/", false),
        ("https://10.0.0.1/", false),
        ("https://[::1]/", false),
        ("https://169.254.169.254/latest", false),
        ("http://8.8.8.8/", false),
        ("https://8.8.8.8/", true),
        ("ftp://127.0.0.1/", false),
        ("https://user@example.com/", false),
        ("example.com", false),
    ] {
        let made = app.post(WEBHOOKS, json!({ "url": url })).await;
        assert_eq!(made.status, if taken { 201 } else { 400 }, "{url}");
        if taken {
            let id = made.data()["id"].as_str().unwrap().to_owned();
            app.delete(&format!("{WEBHOOKS}/{id}")).await.data();
        } else {
            assert_eq!(made.refusal(), "400 invalid_request url", "{url}");
        }
    }
    // The operator allows no address.
    let strict = App::start().await;
    let refused = strict.post(WEBHOOKS, json!({ "url": "http://example.com/" })).await;
    assert_eq!(refused.refusal(), "400 invalid_request url");
}

/// A node that cannot open the secret sends nothing, gives nothing up, and says so. Another that can
/// sends all of it.
#[tokio::test]
async fn a_node_without_the_secret_key_sends_nothing() {
    let app = App::with_webhooks().await;
    let receiver = Receiver::start().await;
    let (id, _) = webhook(&app, &receiver, json!({ "types": ["product.*"] })).await;
    let database = app.close().await;
    let app = App::without_secret_key(database).await;
    app.product("one").await;
    let missing = record(&app, &id).await;
    assert_eq!((&missing["secretMissing"], &missing["state"]), (&json!(true), &json!("healthy")));
    let test = app.post(&format!("{WEBHOOKS}/{id}/test"), json!({})).await;
    assert_eq!(test.refusal(), "503 unavailable");
    let made = app.post(WEBHOOKS, json!({ "url": "https://example.com/" })).await;
    assert_eq!(made.refusal(), "409 secret_key_missing");
    assert!(receiver.received().is_empty());
}

/// A node that is not to send sends nothing, also by hand.
#[tokio::test]
async fn a_node_that_is_switched_off_sends_nothing() {
    let app = App::with_webhooks_off().await;
    let receiver = Receiver::start().await;
    let (made, _) = webhook(&app, &receiver, json!({})).await;
    app.product("one").await;
    app.validate("ada").await;
    // A sender would have looked several times until the outcome is written.
    let statistics = "/api/v1/admin/statistics";
    until("the outcome is written", async || {
        let hours = app.get(statistics).await["hours"].clone();
        hours.as_array().unwrap().iter().any(|hour| hour["total"] == 1)
    })
    .await;
    let test = app.post(&format!("{WEBHOOKS}/{made}/test"), json!({})).await;
    assert_eq!(test.refusal(), "409 webhooks_off");
    assert!(record(&app, &made).await["pending"].as_i64() > Some(0));
    assert!(receiver.received().is_empty());
}

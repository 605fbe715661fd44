//! Webhooks: events reach their receivers, in order and signed, whatever these answer.

mod listen;
mod nodes;
mod operator;
pub mod receiver;
mod secrets;

use std::collections::HashMap;
use std::sync::Mutex;

use common::Timestamp;
use serde_json::{Value, json};

use crate::harness::{App, Visitor, until};
use receiver::Receiver;

const WEBHOOKS: &str = "/api/v1/admin/webhooks";

/// A new webhook, with its secret.
async fn webhook(app: &App, receiver: &Receiver, mut body: Value) -> (String, String) {
    body["url"] = receiver.url.clone().into();
    let made = app.post(WEBHOOKS, body).await.data().clone();
    (made["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
}

async fn record(app: &App, id: &str) -> Value {
    app.get(&format!("{WEBHOOKS}/{id}")).await.data().clone()
}

/// Makes waiting attempts due. Like all changes of holds, it locks the webhook first.
async fn hurry(app: &App) {
    let past = Timestamp::now().plus(-chrono::TimeDelta::minutes(1));
    let mut tx = app.db().begin().await.unwrap();
    for sql in [
        "update webhooks set next_attempt_at = case when next_attempt_at is null then null else $1 end",
        "update webhook_holds set next_attempt_at = $1",
    ] {
        tx.query(sql).bind(past).execute().await.unwrap();
    }
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn an_event_reaches_its_receiver_signed_and_as_in_the_list() {
    let app = App::with_webhooks().await;
    let receiver = Receiver::start().await;
    app.product("before").await;
    let (id, secret) = webhook(&app, &receiver, json!({ "types": ["product.*"] })).await;
    app.product("after").await;
    until("the event came", async || !receiver.received().is_empty()).await;
    let received = receiver.received().remove(0);
    let listed = app.get("/api/v1/admin/events?type=product.created").await.list()[1].clone();
    assert_eq!(received.event["data"]["object"]["name"], "after");
    assert_eq!(json!(received.id), listed["id"]);
    let mut sent = received.event.clone();
    let sent = sent.as_object_mut().unwrap();
    assert_eq!(sent.remove("timestamp").unwrap(), listed["time"]);
    assert_eq!(sent.remove("mode").unwrap(), "live");
    assert!(sent.remove("tenantId").unwrap().as_str().unwrap().starts_with("ten_"));
    assert_eq!(json!(sent), listed);
    assert!(received.is_signed_with(&secret));
    assert!(!received.is_signed_with("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
    until("it is settled", async || record(&app, &id).await["pending"] == 0).await;
    let record = record(&app, &id).await;
    assert_eq!((&record["state"], &record["lastStatus"]), (&json!("healthy"), &json!(200)));
    assert_eq!(receiver.received().len(), 1, "others are not for it");
}

/// One event that is refused delays only its subject, is given up after five refusals, and can be
/// sent again.
#[tokio::test]
async fn a_refused_event_delays_its_subject_alone() {
    let app = App::with_webhooks().await;
    let receiver = Receiver::start().await;
    let (id, _) = webhook(&app, &receiver, json!({ "types": ["product.*"] })).await;
    receiver.answer(|event| if event["data"]["object"]["name"] == "bad" { 500 } else { 200 });
    let bad = app.product("bad").await;
    let good = app.product("good").await;
    until("the good one came", async || !receiver.taken().is_empty()).await;
    app.patch(&format!("/api/v1/admin/products/{bad}"), json!({ "description": "later" })).await;
    until("the bad one is held", async || record(&app, &id).await["held"] == 1).await;
    let state = record(&app, &id).await;
    assert_eq!((&state["state"], &state["givenUp"]), (&json!("healthy"), &json!(0)), "{state}");
    // While others get through it is given up with the fifth refusal.
    for number in 2..=5 {
        let name = format!("good {number}");
        app.patch(&format!("/api/v1/admin/products/{good}"), json!({ "name": name })).await;
        until("the good one came", async || {
            receiver.received().iter().any(|it| it.event["data"]["object"]["name"] == *name)
        })
        .await;
        hurry(&app).await;
        until("the bad one was tried", async || refusals(&receiver, &bad) >= number).await;
    }
    until("it is given up", async || record(&app, &id).await["givenUp"] == 1).await;
    let failures = app.get(&format!("{WEBHOOKS}/{id}/failures")).await.list().to_vec();
    let given_up: Vec<_> = failures.iter().filter(|it| it["gaveUp"] == true).collect();
    assert_eq!(given_up.len(), 1, "{failures:?}");
    assert_eq!((&given_up[0]["status"], &given_up[0]["attempt"]), (&json!(500), &json!(5)));
    assert_eq!(record(&app, &id).await["firstGivenUp"], given_up[0]["sequence"]);
    // A mended receiver gets it with what followed on the subject, in order.
    receiver.answer(|_| 200);
    let before = receiver.taken().len();
    let retried = app.post(&format!("{WEBHOOKS}/{id}/retry"), json!({})).await.data().clone();
    assert_eq!(retried["subjects"], 1);
    until("nothing is given up", async || {
        let record = record(&app, &id).await;
        record["givenUp"] == 0 && record["held"] == 0
    })
    .await;
    let after = receiver.received();
    let of_bad = after.iter().skip(before).filter(|it| it.event["subject"]["id"] == bad);
    let taken: Vec<_> = of_bad.filter(|it| it.status == 200).map(|it| &it.event["type"]).collect();
    // The second may also come by itself just before.
    assert!(taken.ends_with(&[&"product.created".into(), &"product.updated".into()]), "{taken:?}");
}

/// However often and whichever events a receiver refuses, each comes in the end, and those of one
/// subject come in order at first.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_refuses_a_third_gets_everything_in_order() {
    const PRODUCTS: usize = 12;
    const CHANGES: usize = 12;
    let app = App::with_webhooks().await;
    let receiver = Receiver::start().await;
    let (id, _) = webhook(&app, &receiver, json!({ "types": ["product.*"] })).await;
    // How many requests there were, and how often each event was refused: less often than it takes
    // to be given up.
    let seen = Mutex::new((0_u64, HashMap::<i64, u32>::new()));
    receiver.answer(move |event| {
        let (number, refused) = &mut *seen.lock().unwrap();
        *number += 1;
        let times = refused.entry(event["sequence"].as_i64().unwrap()).or_default();
        if number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 < 5 && *times < 4 {
            *times += 1;
            500
        } else {
            200
        }
    });
    let mut products = Vec::new();
    for number in 0..PRODUCTS {
        products.push(app.product(&format!("product {number}")).await);
    }
    for change in 1..CHANGES {
        for product in &products {
            let path = format!("/api/v1/admin/products/{product}");
            app.patch(&path, json!({ "description": format!("change {change}") })).await.data();
        }
        hurry(&app).await;
    }
    until("all came", async || {
        hurry(&app).await;
        let record = record(&app, &id).await;
        record["pending"] == 0 && record["held"] == 0
    })
    .await;
    assert_eq!(record(&app, &id).await["givenUp"], 0);
    let all = receiver.received();
    for product in &products {
        let own =
            all.iter().filter(|it| it.status == 200 && it.event["subject"]["id"] == **product);
        let mut first = Vec::new();
        for sequence in own.map(|it| it.event["sequence"].as_i64().unwrap()) {
            if !first.contains(&sequence) {
                first.push(sequence);
            }
        }
        assert_eq!(first.len(), CHANGES, "each change came");
        assert!(first.is_sorted(), "{first:?}");
    }
}

fn refusals(receiver: &Receiver, subject: &str) -> usize {
    let all = receiver.received();
    all.iter().filter(|it| it.status == 500 && it.event["subject"]["id"] == *subject).count()
}

/// While a receiver is down it costs up to three requests at each step, and afterwards it gets all
/// that it missed, in order.
#[tokio::test]
async fn a_receiver_that_was_down_gets_all_that_it_missed() {
    let app = App::with_webhooks().await;
    let receiver = Receiver::start().await;
    receiver.answer(|_| 503);
    let (id, _) = webhook(&app, &receiver, json!({ "types": ["product.*"] })).await;
    let mut products = Vec::new();
    for number in 0..20 {
        products.push(app.product(&format!("product {number}")).await);
    }
    until("it is failing", async || record(&app, &id).await["state"] == "failing").await;
    let first = receiver.received().len();
    assert!(first <= 3, "{first}");
    for step in 1..=3 {
        hurry(&app).await;
        until("it was tried again", async || receiver.received().len() > first + step - 1).await;
        // Before that the attempt is in the past, as `hurry` set it.
        let now = json!(Timestamp::now());
        until("that is settled", async || {
            record(&app, &id).await["nextAttemptAt"].as_str() > now.as_str()
        })
        .await;
    }
    assert!(receiver.received().len() <= first + 9, "{}", receiver.received().len());
    let failing = record(&app, &id).await;
    assert_eq!(failing["lastStatus"], 503);
    receiver.answer(|_| 200);
    hurry(&app).await;
    until("all came", async || receiver.taken().len() == 20).await;
    until("it is healthy", async || record(&app, &id).await["state"] == "healthy").await;
    let mut taken = receiver.taken();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), 20, "each once");
    assert_eq!(record(&app, &id).await["givenUp"], 0);
}

/// Events of the time in which a webhook is disabled are sent when it is enabled again, unless they
/// are skipped.
#[tokio::test]
async fn a_disabled_webhook_misses_nothing() {
    let app = App::with_webhooks().await;
    let receiver = Receiver::start().await;
    let (id, _) = webhook(&app, &receiver, json!({ "types": ["product.*"] })).await;
    let path = format!("{WEBHOOKS}/{id}");
    let disabled = app.patch(&path, json!({ "enabled": false })).await.data().clone();
    assert_eq!(
        (&disabled["state"], &disabled["disabledReason"]),
        (&json!("disabled"), &json!("by_hand"))
    );
    for number in 0..5 {
        app.product(&format!("product {number}")).await;
    }
    assert_eq!(app.patch(&path, json!({ "enabled": true })).await.data()["state"], "healthy");
    until("all came", async || receiver.taken().len() == 5).await;
    // The receiver says that it is gone.
    receiver.answer(|_| 410);
    app.product("gone").await;
    until("it is disabled", async || record(&app, &id).await["state"] == "disabled").await;
    assert_eq!(record(&app, &id).await["disabledReason"], "gone");
    let last = app.get("/api/v1/admin/events?order=newest&limit=1").await.list()[0].clone();
    assert_eq!(
        (&last["type"], &last["actor"]["type"]),
        (&json!("webhook.disabled"), &json!("system"))
    );
    // A replay from the last event skips what was missed.
    let latest = json!({ "after": last["sequence"] });
    app.post(&format!("{path}/replay"), latest).await.data();
    receiver.answer(|_| 200);
    app.patch(&path, json!({ "enabled": true })).await.data();
    app.product("new").await;
    until("the new one came", async || receiver.taken().len() == 6).await;
    let names: Vec<_> =
        receiver.received().iter().map(|it| it.event["data"]["object"]["name"].clone()).collect();
    assert_eq!(names.last().unwrap(), "new");
    assert_eq!(names.iter().filter(|name| *name == "gone").count(), 1, "{names:?}");
}

#[tokio::test]
async fn a_replay_sends_a_range_again_with_the_same_ids() {
    let app = App::with_webhooks().await;
    let receiver = Receiver::start().await;
    let (id, _) = webhook(&app, &receiver, json!({ "types": ["product.*"] })).await;
    for number in 0..3 {
        app.product(&format!("product {number}")).await;
    }
    until("all came", async || receiver.taken().len() == 3).await;
    let first = receiver.received();
    let replay = format!("{WEBHOOKS}/{id}/replay");
    let after = first[1].event["sequence"].as_i64().unwrap() - 1;
    app.post(&replay, json!({ "after": after })).await.data();
    until("two came again", async || receiver.taken().len() == 5).await;
    app.post(&replay, json!({ "since": "2020-01-01T00:00:00Z" })).await.data();
    until("all came again", async || receiver.taken().len() == 8).await;
    let all: Vec<String> = receiver.received().iter().map(|it| it.id.clone()).collect();
    assert_eq!(all[3..5], all[1..3]);
    assert_eq!(all[5..8], all[..3]);
    for (body, field) in [
        (json!({ "after": 9999 }), "after"),
        (json!({ "after": -1 }), "after"),
        (json!({}), "after"),
        (json!({ "after": 1, "since": "2020-01-01T00:00:00Z" }), "after"),
    ] {
        let refused = app.post(&replay, body.clone()).await;
        assert_eq!(refused.refusal(), format!("400 invalid_request {field}"), "{body}");
    }
}

/// A reader that has read past the state of a restored database gets an error.
#[tokio::test]
async fn a_reader_of_events_that_are_not_there_yet_is_told() {
    let app = App::start().await;
    app.product("one").await;
    let last = app.get("/api/v1/admin/events?order=newest&limit=1").await.list()[0].clone();
    let last = last["sequence"].as_i64().unwrap();
    let after =
        async |sequence: i64| app.get(&format!("/api/v1/admin/events?after={sequence}")).await;
    assert!(after(last).await.list().is_empty());
    let ahead = after(last + 1).await;
    assert_eq!(ahead.refusal(), "409 sequence_ahead");
    assert!(ahead.body["error"].as_str().unwrap().contains(&format!("sequence {last}")), "{ahead}");
}

#[tokio::test]
async fn only_admin_keys_see_the_whole_address() {
    let app = App::start().await;
    let url = "https://hooks.example/T0/secret-token";
    let id = app.post(WEBHOOKS, json!({ "url": url })).await["id"].as_str().unwrap().to_owned();
    let reader = app.reader().await;
    for (caller, shown) in [(&*app, url), (&reader, "https://hooks.example/…oken")] {
        assert_eq!(caller.get(&format!("{WEBHOOKS}/{id}")).await["url"], shown);
        assert_eq!(caller.get(WEBHOOKS).await.list()[0]["url"], shown);
        let visitor = Visitor::at(&app.base, caller.key.as_deref().unwrap()).await;
        for page in
            ["/dashboard/live/webhooks".to_owned(), format!("/dashboard/live/webhooks/{id}")]
        {
            let page = visitor.get(&page).await.text().await.unwrap();
            assert!(page.contains(shown), "{page}");
            assert!(shown == url || !page.contains("secret-t"), "{page}");
        }
    }
    let events = reader.get("/api/v1/admin/events").await;
    assert!(!events.body.to_string().contains("secret-t"));
}

/// SQLite has one process, so webhooks that a crashed process had claimed are sent immediately. On
/// PostgreSQL another node may have the claim.
#[tokio::test]
async fn on_sqlite_claims_of_a_process_that_crashed_are_free() {
    let app = App::with_webhooks_off().await;
    let receiver = Receiver::start().await;
    webhook(&app, &receiver, json!({})).await;
    app.product("one").await;
    let later = Timestamp::now().plus(chrono::TimeDelta::hours(1));
    let claim = "update webhooks set claim = 7, claimed_until = $1";
    app.db().write().await.unwrap().query(claim).bind(later).execute().await.unwrap();
    let app = App::with_webhooks_on(app.stop().await).await;
    if app.database.is_postgres() {
        assert_eq!(app.number("select count(*) from webhooks where claim = 7").await, 1);
    } else {
        until("the event came", async || !receiver.received().is_empty()).await;
    }
}

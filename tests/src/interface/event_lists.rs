//! The list of events: filters, pages, and how long events are kept.

use std::collections::BTreeSet;

use chrono::Duration;
use common::Timestamp;
use licd::config::Config;
use serde_json::{Value, json};

use super::events::EVENTS;
use crate::harness::App;

/// `type`, `subject` and `userId`, each and together. No event matches a value that does not exist.
#[tokio::test]
async fn events_can_be_filtered() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    for user in ["ada", "grace"] {
        app.assign(&license, user).await.data();
        assert_eq!(app.validate(user).await.verdict(), "valid");
    }
    let listed = async |query: &str| -> Vec<String> {
        let found = app.get(&format!("{EVENTS}?{query}")).await;
        found.each("type").into_iter().map(str::to_owned).collect()
    };
    assert_eq!(listed("type=license.created").await, ["license.created"]);
    let way = ["license.assigned", "seat.taken"];
    let of_license = [&["license.created"], &way[..], &way[..]].concat();
    assert_eq!(listed(&format!("subject={license}")).await, of_license);
    assert_eq!(listed("userId=ada").await, [&["user.created"], &way[..]].concat());
    assert_eq!(listed(&format!("userId=ada&subject={license}")).await, way);
    assert_eq!(listed("userId=ada&type=seat.taken").await, ["seat.taken"]);
    let several = ["seat.taken", "license.assigned"];
    let found = listed("userId=ada&type=seat.*,license.assigned").await;
    assert!(found.len() >= 2 && found.iter().all(|kind| several.contains(&&**kind)), "{found:?}");
    assert_eq!(listed("type=license.created,seat.taken&limit=1").await.len(), 1);
    let all = format!("userId=ada&type=seat.taken&subject={license}");
    assert_eq!(listed(&all).await, ["seat.taken"]);
    assert_eq!(listed(&format!("type=seat.taken&subject={license}")).await.len(), 2);
    for unknown in ["type=x", "type=%00", "type=license", "type=seat.taken,x", "type="] {
        let refused = app.get(&format!("{EVENTS}?{unknown}")).await;
        assert_eq!(refused.refusal(), "400 invalid_request type", "{unknown}");
    }
    for nothing in ["subject=x", "subject=%00", "userId=x", "userId=%00"] {
        assert_eq!(listed(nothing).await, [] as [String; 0], "{nothing}");
    }
}

/// After a leak, the vendor asks for the changes of a key, and then for those of people.
#[tokio::test]
async fn events_are_found_by_who_caused_them() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    let body = json!({ "name": "CRM sync", "role": "admin" });
    let made = app.post("/api/v1/admin/keys", body).await;
    let crm = app.with_key(made["key"].as_str().unwrap());
    crm.update(&license, json!({ "maxSeats": 999 })).await.data();
    crm.assign(&license, "ada").await.data();
    assert_eq!(crm.validate("ada").await.verdict(), "valid");
    let listed = async |query: &str| -> Vec<String> {
        let found = app.get(&format!("{EVENTS}?{query}")).await;
        found.each("type").into_iter().map(str::to_owned).collect()
    };
    let id = made.id();
    let by_people = ["license.updated", "license.assigned"];
    let all = ["license.updated", "user.created", "license.assigned", "seat.taken"];
    assert_eq!(listed(&format!("actor={id}")).await, all);
    assert_eq!(listed(&format!("actor={id}&by=people")).await, by_people);
    assert_eq!(
        listed(&format!("actor={id}&by=people&order=newest&limit=1")).await,
        ["license.assigned"]
    );
    assert_eq!(listed(&format!("actor={id}&type=seat.taken")).await, ["seat.taken"]);
    assert_eq!(listed("by=people&type=seat.taken").await, [""; 0]);
    assert!(!listed("by=people").await.contains(&"user.created".to_owned()));
    assert_eq!(listed("actor=key_01h455vb4pex5vsknk084sn02q").await, [""; 0]);
    let refused = app.get(&format!("{EVENTS}?by=robots")).await;
    assert_eq!(refused.refusal(), "400 invalid_request by");
}

/// Pages follow each other by `nextCursor`, and their events are those of the whole list.
#[tokio::test]
async fn events_come_in_pages() {
    let app = App::start().await;
    for n in 0..40 {
        app.product(&format!("product {n}")).await;
    }
    let whole = app.get(EVENTS).await;
    assert_eq!(whole.list().len(), 42);
    assert_eq!(whole.body["nextCursor"], json!(null));
    let (mut pages, mut query) = (Vec::new(), "limit=15".to_owned());
    loop {
        let page = app.get(&format!("{EVENTS}?{query}")).await;
        pages.extend(page.list().to_vec());
        let Some(next) = page.body["nextCursor"].as_str() else { break };
        query = format!("limit=15&after={next}");
    }
    assert_eq!(pages, whole.list());
    assert_eq!(app.get(&format!("{EVENTS}?after=42")).await.list(), [] as [Value; 0]);
    for malformed in ["x", "-1", "1.5", "", "99999999999999999999"] {
        let refused = app.get(&format!("{EVENTS}?after={malformed}")).await;
        assert_eq!(refused.refusal(), "400 invalid_request after", "{malformed}");
    }
    let reader = app.reader().await;
    assert_eq!(reader.get(&format!("{EVENTS}?limit=1")).await.status, 200);
    assert_eq!(app.asker().await.get(EVENTS).await.refusal(), "403 forbidden");
}

/// Events older than the retention are deleted, however many they are.
#[tokio::test]
async fn old_events_are_deleted() {
    // The running licd deletes nothing, so that only the calls below do.
    let events_kept = "forever".parse().unwrap();
    let app = App::with(Config { events_kept, ..Config::default() }).await;
    for n in 0..4 {
        app.product(&format!("product {n}")).await;
    }
    let ids: BTreeSet<_> =
        app.get(EVENTS).await.each("id").into_iter().map(str::to_owned).collect();
    assert_eq!(ids.len(), 6, "each has an id of its own");
    // An id begins with its time, which is that of the year 2023 here.
    let mut conn = app.db().write().await.unwrap();
    let old: common::EventId = "evt_01gqw3s8000000000000000001".parse().unwrap();
    let age = conn.query("update events set id = $1 where sequence = 2").bind(old);
    assert_eq!(age.execute().await.unwrap(), 1);
    drop(conn);
    for (retention, left) in [("forever", 6), ("10000d", 6), ("400d", 5), ("1d", 5)] {
        let kept = retention.parse().unwrap();
        licd::ops::events::forget_old(app.db(), kept, Timestamp::now()).await.unwrap();
        assert_eq!(app.get(EVENTS).await.list().len(), left, "{retention}");
    }
}

/// Either end of the events, and those of a time, are found with the same pages.
#[tokio::test]
async fn events_are_read_from_either_end_and_between_two_times() {
    let app = App::start().await;
    for n in 0..60 {
        app.product(&format!("product {n}")).await;
    }
    // Each is a minute after the one before. Two are ordered only by their commit.
    let minute = |n: i64| Timestamp::from_millis(1_800_000_000_000 + n * 60_000).unwrap();
    let mut conn = app.db().write().await.unwrap();
    for sequence in 1..=62 {
        let time = match sequence {
            30 => minute(31),
            31 => minute(30),
            _ => minute(sequence),
        };
        let age = conn.query("update events set time = $1 where sequence = $2");
        assert_eq!(age.bind(time).bind(sequence).execute().await.unwrap(), 1);
    }
    drop(conn);
    let listed = async |query: &str| -> Vec<i64> {
        let found = app.get(&format!("{EVENTS}?{query}")).await;
        found.list().iter().map(|event| event["sequence"].as_i64().unwrap()).collect()
    };
    assert_eq!(listed("order=oldest").await, (1..=62).collect::<Vec<_>>());
    assert_eq!(listed("order=newest").await, (1..=62).rev().collect::<Vec<_>>());
    assert_eq!(listed("order=newest&limit=2").await, [62, 61]);
    assert_eq!(listed("order=newest&limit=2&after=61").await, [60, 59]);
    assert_eq!(listed("order=newest&after=1").await, [] as [i64; 0]);
    let [from, to] = [29, 32].map(minute);
    assert_eq!(listed(&format!("from={from}&to={to}")).await, [29, 30, 31]);
    assert_eq!(listed(&format!("from={from}&to={to}&order=newest")).await, [31, 30, 29]);
    assert_eq!(listed(&format!("from={}&to={to}", minute(31))).await, [30]);
    assert_eq!(listed(&format!("from={}&order=newest&limit=1", minute(31))).await, [62]);
    assert_eq!(listed(&format!("to={from}&order=newest&limit=2")).await, [28, 27]);
    assert_eq!(listed(&format!("from={from}&limit=2&after=40")).await, [41, 42]);
    assert_eq!(listed(&format!("from={from}&type=license.created")).await, [] as [i64; 0]);
    for nothing in [minute(63), Timestamp::now().plus(Duration::days(36_500))] {
        assert_eq!(listed(&format!("from={nothing}")).await, [] as [i64; 0]);
    }
    assert_eq!(listed(&format!("from={to}&to={from}")).await, [] as [i64; 0]);
    for (malformed, field) in [("order=new", "order"), ("from=x", "from"), ("to=1", "to")] {
        let refused = app.get(&format!("{EVENTS}?{malformed}")).await;
        assert_eq!(refused.refusal(), format!("400 invalid_request {field}"), "{malformed}");
    }
    let refused = app.get(&format!("{EVENTS}?order=new")).await;
    assert!(refused.body["error"].as_str().unwrap().contains("oldest"), "{}", refused.body);
}

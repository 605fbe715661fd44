//! Events that tell of the ends of licenses, before and when they come.

use chrono::TimeDelta;
use common::Timestamp;
use futures_util::future::join_all;
use licd::config::Config;
use licd::db::Db;
use licd::ops::notices::{self, ExpiryNotices};
use serde_json::{Value, json};

use crate::harness::{App, Caller, until};

const EVENTS: &str = "/api/v1/admin/events?limit=1000";

async fn give(db: &Db, now: Timestamp) {
    notices::give(db, &ExpiryNotices::default(), now).await.unwrap();
}

/// The notices about a license: `30` days before its end, `expired`, `grace_ended`.
async fn told(caller: &Caller, license: &str) -> Vec<String> {
    let events = caller.get(&format!("{EVENTS}&subject={license}")).await;
    let by_licd = events.list().iter().filter(|event| event["actor"]["type"] == "system");
    let named = by_licd.map(|event| match event["type"].as_str().unwrap() {
        "license.expiring" => event["data"]["object"]["days"].to_string(),
        kind => kind.strip_prefix("license.").unwrap().to_owned(),
    });
    named.collect()
}

async fn license(caller: &Caller, end: Timestamp, grace: Value) -> String {
    let license = caller.license(json!({ "graceDays": grace })).await;
    caller.update(&license, json!({ "expiresAt": end })).await.data();
    license
}

/// Two nodes record each notice once, in the world of the license, and only for active licenses.
#[tokio::test]
async fn each_end_is_told_once() {
    let app = App::start().await;
    let other = app.database.open().await;
    let (start, test_mode) = (Timestamp::now(), app.test_mode().await);
    let day = |days: i64| start.plus(TimeDelta::days(days));
    let plain = license(&app, day(40), Value::Null).await;
    let graced = license(&app, day(40), json!(5)).await;
    let suspended = license(&app, day(40), json!(5)).await;
    app.set_status(&suspended, "suspended").await.data();
    let renewed = license(&app, day(40), Value::Null).await;
    let short = license(&app, day(30).plus(-TimeDelta::hours(1)), Value::Null).await;
    let elsewhere = license(&test_mode, day(40), Value::Null).await;
    let endless = app.license(json!({})).await;
    give(app.db(), start.plus(-TimeDelta::days(1))).await;
    for days in 0..50 {
        let now = day(days).plus(TimeDelta::minutes(1));
        tokio::join!(give(app.db(), now), give(&other, now));
        if days == 35 {
            app.update(&renewed, json!({ "expiresAt": day(400) })).await.data();
        }
    }
    assert_eq!(told(&app, &plain).await, ["30", "7", "1", "expired"]);
    assert_eq!(told(&app, &graced).await, ["30", "7", "1", "expired", "grace_ended"]);
    assert_eq!(told(&app, &renewed).await, ["30", "7"]);
    assert_eq!(told(&app, &short).await, ["7", "1", "expired"], "30 days were no news");
    assert_eq!(told(&test_mode, &elsewhere).await, ["30", "7", "1", "expired"]);
    assert_eq!(told(&app, &suspended).await, [""; 0]);
    assert_eq!(told(&app, &endless).await, [""; 0]);
    let expired = app.get(&format!("{EVENTS}&subject={graced}&type=license.expired")).await;
    let event = &expired.list()[0];
    assert_eq!(event["data"]["object"]["graceEndsAt"], json!(day(45)));
    assert_eq!(event["data"]["object"]["expiresAt"], json!(day(40)));
    assert_eq!(event["data"]["previous"], Value::Null);
    assert_eq!(
        event["actor"],
        json!({ "type": "system", "id": null, "name": null, "keyId": null })
    );
    other.close().await;
}

/// A node whose clock is behind tells nothing again, nor makes another one do it.
#[tokio::test]
async fn clocks_that_differ_tell_nothing_twice() {
    let app = App::start().await;
    let start = Timestamp::now();
    let at = |seconds: i64| start.plus(TimeDelta::seconds(seconds));
    let license = license(&app, at(100), Value::Null).await;
    for seconds in [0, 110, 90, 95, 120, 60, 130] {
        give(app.db(), at(seconds)).await;
    }
    assert_eq!(told(&app, &license).await, ["expired"]);
}

/// After a time without notices, those of the last seven days are recorded late, however long the
/// time was. The first time there are none.
#[tokio::test]
async fn the_past_is_told_for_a_week() {
    let app = App::start().await;
    let start = Timestamp::now();
    let at = |hours: i64| start.plus(TimeDelta::hours(hours));
    let licenses =
        join_all([1, 30, 160, 300].map(|hours| license(&app, at(hours), Value::Null))).await;
    give(app.db(), at(10)).await;
    assert_eq!(told(&app, &licenses[0]).await, [""; 0], "it ended before the first time");
    give(app.db(), at(10 + 6 * 24)).await;
    assert_eq!(told(&app, &licenses[1]).await, ["expired"]);
    give(app.db(), at(10 + 14 * 24)).await;
    assert_eq!(told(&app, &licenses[2]).await, ["1"], "its end was more than a week ago");
    assert_eq!(told(&app, &licenses[3]).await, ["7", "1", "expired"]);
}

/// More than a transaction takes, with one and the same end.
#[tokio::test]
async fn many_ends_at_once_are_told_once_each() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    for _ in 0..11 {
        join_all((0..100).map(|_| app.license_of(&plan))).await;
    }
    let start = Timestamp::now();
    give(app.db(), start).await;
    let mut conn = app.db().write().await.unwrap();
    let end = conn.query("update licenses set expires_at = $1");
    end.bind(start.plus(TimeDelta::hours(1))).execute().await.unwrap();
    drop(conn);
    let other = app.database.open().await;
    let later = start.plus(TimeDelta::hours(2));
    tokio::join!(give(app.db(), later), give(&other, later));
    let each = app
        .number(
            "select count(distinct subject_id) * 10000 + count(*) from events
             where event_type = 'license.expired'",
        )
        .await;
    assert_eq!(each, 1100 * 10_000 + 1100);
    other.close().await;
}

/// Notices need no request.
#[tokio::test]
async fn licd_tells_by_itself() {
    let app = App::with(Config::default()).await;
    let license = license(&app, Timestamp::now().plus(TimeDelta::seconds(1)), Value::Null).await;
    until("the end is recorded", async || told(&app, &license).await == ["expired"]).await;
}

//! Refusals: GET /api/v1/admin/refusals, the refusals in an explanation, and the counts of GET
//! /api/v1/admin/statistics. Outcomes are written after the responses, and a clean stop writes the
//! last of them.

mod filters;

use std::time::Duration;

use chrono::TimeDelta;
use common::{Timestamp, hour_of};
use serde_json::{Value, json};

use crate::harness::{App, Caller, until_within};
use crate::nodes::Pair;

const REFUSALS: &str = "/api/v1/admin/refusals";
const STATISTICS: &str = "/api/v1/admin/statistics";
/// "At most some seconds late", on a machine that is busy.
const DELAY: Duration = Duration::from_secs(20);

/// A service, early enough in an hour that the test ends in the same one: what is refused in two
/// hours has two records.
async fn start() -> App {
    let room = TimeDelta::seconds(15);
    let has_room = || hour_of(Timestamp::now().plus(room)) == hour_of(Timestamp::now());
    eventually("the hour has room", async || has_room()).await;
    App::start().await
}

/// Returns the service after a clean stop, with all earlier responses counted.
async fn restart(app: App) -> App {
    App::on(app.stop().await).await
}

/// Waits until `is_so`, within the delay.
async fn eventually(what: &str, is_so: impl AsyncFnMut() -> bool) {
    until_within(DELAY, what, is_so).await;
}

async fn refusals_of(caller: &Caller, user: &str) -> Vec<Value> {
    caller.get(&format!("{REFUSALS}?userId={user}")).await.list().to_vec()
}

/// Returns the number of refusals of the user for the reason.
async fn times_refused(caller: &Caller, user: &str, reason: &str) -> i64 {
    let refusals = refusals_of(caller, user).await;
    let counts = refusals.iter().filter(|refusal| refusal["reason"] == reason);
    counts.map(|refusal| refusal["count"].as_i64().unwrap()).sum()
}

/// Returns the count of the outcome in the last 24 hours.
async fn counted(caller: &Caller, outcome: &str) -> i64 {
    let statistics = caller.get(STATISTICS).await;
    let hours = statistics["hours"].as_array().unwrap().iter();
    hours.map(|hour| hour[outcome].as_i64().unwrap()).sum()
}

/// One user for each reason, named like it, and the license that gives it.
async fn one_of_each(app: &App) -> Vec<(&'static str, Option<String>)> {
    let plan = app.plan(json!({ "maxSeats": 1 })).await;
    let mut users = vec![("no_license", None)];
    for reason in ["expired", "revoked", "suspended", "exceeded_seats"] {
        let license = app.license_of(&plan).await;
        match reason {
            "exceeded_seats" => {
                app.assign(&license, "holder").await.data();
                app.validate("holder").await.data();
            }
            status => drop(app.set_status(&license, status).await),
        }
        app.assign(&license, reason).await.data();
        users.push((reason, Some(license)));
    }
    users
}

/// For each user and reason: how often, the first and the last time, and which license.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_tells_who_why_when_and_how_often() {
    let app = start().await;
    let users = one_of_each(&app).await;
    let began = Timestamp::now();
    for _ in 0..3 {
        for (user, _) in &users {
            assert_eq!(app.validate(user).await.verdict(), *user);
        }
    }
    let ended = Timestamp::now();
    let app = restart(app).await;
    for (user, license) in &users {
        assert_eq!(times_refused(&app, user, user).await, 3, "{user}");
        for refusal in refusals_of(&app, user).await {
            let time =
                |member: &str| -> Timestamp { refusal[member].as_str().unwrap().parse().unwrap() };
            assert_eq!(refusal["userId"], *user);
            assert_eq!(refusal["reason"], *user);
            assert_eq!(refusal["licenseId"], json!(license), "{user}");
            assert!(began <= time("firstAt") && time("lastAt") <= ended, "{refusal}");
            assert!(time("firstAt") < time("lastAt") || refusal["count"] != 3, "{refusal}");
            assert_eq!(hour_of(time("lastAt")), time("hour"), "{refusal}");
        }
    }
    assert_eq!(refusals_of(&app, "holder").await, Vec::<Value>::new());
}

/// The license is that of the last refusal, and each reason has a record of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_license_that_gave_the_reason() {
    let app = start().await;
    let plan = app.plan(json!({})).await;
    let (first, second) = (app.license_of(&plan).await, app.license_of(&plan).await);
    for license in [&first, &second] {
        app.set_status(license, "revoked").await.data();
        app.assign(license, "ada").await.data();
    }
    assert_eq!(app.validate("ada").await.verdict(), "revoked");
    app.set_status(&second, "suspended").await.data();
    assert_eq!(app.validate("ada").await.verdict(), "suspended");
    let app = restart(app).await;
    let found = |refusals: Vec<Value>| -> Vec<(Value, Value)> {
        let pair = |it: &Value| (it["reason"].clone(), it["licenseId"].clone());
        refusals.iter().map(pair).collect()
    };
    let newest_first = [(json!("suspended"), json!(second)), (json!("revoked"), json!(first))];
    assert_eq!(found(refusals_of(&app, "ada").await), newest_first);
    app.unassign(&first, "ada").await.data();
    app.set_status(&second, "revoked").await.data();
    assert_eq!(app.validate("ada").await.verdict(), "revoked");
    let app = restart(app).await;
    let refusals = refusals_of(&app, "ada").await;
    let revoked: Vec<_> = refusals.iter().filter(|it| it["reason"] == "revoked").collect();
    assert_eq!(revoked[0]["licenseId"], json!(second), "of the last refusal");
}

/// Valid and refused answers are counted; requests that were not decided are not.
#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_counted_by_outcome() {
    let app = start().await;
    let users = one_of_each(&app).await;
    for (times, (user, _)) in users.iter().enumerate() {
        for _ in 0..=times {
            app.validate(user).await.data();
        }
    }
    app.validate("holder").await.data();
    let unknown = json!({ "userId": "ada", "productId": "prd_01h455vb4pex5vsknk084sn02q" });
    assert_eq!(app.post("/api/v1/validate", unknown).await.status, 400);
    app.explain("no_license").await.data();
    let app = restart(app).await;
    for (outcome, count) in [
        ("valid", 2),
        ("noLicense", 1),
        ("expired", 2),
        ("revoked", 3),
        ("suspended", 4),
        ("exceededSeats", 5),
        ("userNotFound", 0),
        ("total", 17),
    ] {
        assert_eq!(counted(&app, outcome).await, count, "{outcome}");
    }
}

/// The record is there while the service goes on, and grows.
#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_known_some_seconds_later() {
    let app = start().await;
    for times in 1..=2 {
        app.validate("ada").await.data();
        let refused = async || times_refused(&app, "ada", "no_license").await == times;
        eventually("the refusal is listed", refused).await;
        let counted = async || counted(&app, "noLicense").await == times;
        eventually("the refusal is counted", counted).await;
    }
}

/// Pages follow each other newest first, even while refusals are counted.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_come_in_pages_newest_first() {
    let app = start().await;
    let users = ["u1", "u2", "u3", "u4", "u5"];
    for user in users {
        app.validate(user).await.data();
    }
    let app = restart(app).await;
    let first = app.get(&format!("{REFUSALS}?limit=2")).await;
    assert_eq!(first.each("userId"), ["u5", "u4"]);
    for user in ["u1", "u4", "u6"] {
        app.validate(user).await.data();
    }
    let app = restart(app).await;
    let next = async |page: &crate::harness::Answer| {
        let cursor = page.body["nextCursor"].as_str().unwrap();
        app.get(&format!("{REFUSALS}?limit=2&after={cursor}")).await
    };
    let second = next(&first).await;
    assert_eq!(second.each("userId"), ["u3", "u2"]);
    let third = next(&second).await;
    assert_eq!(third.each("userId"), ["u1"]);
    assert_eq!(third.body["nextCursor"], json!(null));
    let whole = app.get(REFUSALS).await;
    assert_eq!(whole.each("userId"), ["u6", "u5", "u4", "u3", "u2", "u1"]);
    assert_eq!(whole.body["nextCursor"], json!(null));
    assert!(whole.each("id").is_sorted_by(|newer, older| newer > older));
    assert_eq!(
        app.get(&format!("{REFUSALS}?limit=0")).await.refusal(),
        "400 invalid_request limit"
    );
    let other = app.get(&format!("{REFUSALS}?after=usr_01h455vb4pex5vsknk084sn02q")).await;
    assert_eq!(other.refusal(), "400 invalid_request after");
}

/// Without a limit a page has 100 records: the list is never answered whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_has_100_refusals_by_default() {
    let app = start().await;
    for number in 0..101 {
        app.validate(&format!("user-{number}")).await.data();
    }
    let app = restart(app).await;
    let page = app.get(REFUSALS).await;
    assert_eq!(page.list().len(), 100);
    let cursor = page.body["nextCursor"].as_str().unwrap();
    let rest = app.get(&format!("{REFUSALS}?after={cursor}")).await;
    assert_eq!(rest.each("userId"), ["user-0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_narrowed_by_user() {
    let app = start().await;
    for user in ["ada", "grace", "Ada"] {
        app.validate(user).await.data();
    }
    let app = restart(app).await;
    let narrowed = async |query: &str| {
        let found = app.get(&format!("{REFUSALS}?{query}")).await;
        found.each("userId").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(narrowed("userId=ada").await, ["ada"]);
    assert_eq!(narrowed("userId=ada&limit=1").await, ["ada"]);
    for nothing in ["userId=nobody", "userId=", "userId=a%00b"] {
        assert!(narrowed(nothing).await.is_empty(), "{nothing}");
    }
}

/// Modes and tenants are worlds of their own, and a key for validations sees nothing.
#[tokio::test(flavor = "multi_thread")]
async fn another_world_sees_no_outcomes() {
    let app = start().await;
    app.validate("ada").await.data();
    app.test_mode().await.validate("grace").await.data();
    let app = restart(app).await;
    let (test, other) = (app.test_mode().await, app.other_tenant().await);
    for (caller, users) in [(&*app, vec!["ada"]), (&test, vec!["grace"]), (&other, vec![])] {
        assert_eq!(caller.get(REFUSALS).await.each("userId"), users);
        assert_eq!(refusals_of(caller, "ada").await.len(), usize::from(users == ["ada"]));
        assert_eq!(counted(caller, "total").await, users.len() as i64);
        let explained = caller.explain("ada").await;
        let refusals = explained["refusals"].as_array().unwrap();
        assert_eq!(refusals.len(), usize::from(users == ["ada"]));
    }
    assert_eq!(app.reader().await.get(REFUSALS).await.status, 200);
    for path in [REFUSALS, STATISTICS] {
        assert_eq!(app.asker().await.get(path).await.refusal(), "403 forbidden");
    }
}

/// Moves what is counted of a user into another hour, as if it had been then.
async fn move_refusals(app: &App, user: &str, new_user: &str, hour: Timestamp) {
    let mut conn = app.db().write().await.unwrap();
    let moved = conn
        .query("update refusals set external_id = $2, hour = $3 where external_id = $1")
        .bind(user)
        .bind(new_user)
        .bind(hour);
    assert_eq!(moved.execute().await.unwrap(), 1);
}

fn days_ago(days: i64) -> Timestamp {
    hour_of(Timestamp::now()).plus(-TimeDelta::days(days))
}

/// The last ten, also of a user who does not exist any more.
#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_carries_the_last_refusals() {
    let app = start().await;
    let users: Vec<String> = (0..12).map(|number| format!("user-{number}")).collect();
    for user in &users {
        app.validate(user).await.data();
    }
    let app = restart(app).await;
    for (days, user) in users.iter().rev().enumerate() {
        move_refusals(&app, user, "ada", days_ago(days as i64)).await;
    }
    for user in ["unknown", "known", "deleted"] {
        match user {
            "unknown" => {}
            "known" => drop(app.assign(&app.license(json!({})).await, "ada").await),
            _ => drop(app.delete_user("ada").await),
        }
        let explained = app.explain("ada").await;
        let hours: Vec<&Value> =
            explained["refusals"].as_array().unwrap().iter().map(|it| &it["hour"]).collect();
        let last_ten: Vec<Value> = (0..10).map(|days| json!(days_ago(days))).collect();
        assert_eq!(hours, last_ten.iter().collect::<Vec<_>>(), "{user}");
        assert_eq!(explained["refusals"][0], refusals_of(&app, "ada").await[0], "{user}");
    }
}

/// "Kept 30 days."
#[tokio::test(flavor = "multi_thread")]
async fn old_outcomes_are_forgotten() {
    let app = start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "grace").await.data();
    for user in ["grace", "ada", "bob"] {
        app.validate(user).await.data();
    }
    let app = restart(app).await;
    let move_counts = async |outcome: &str, hour: Timestamp| {
        let mut conn = app.db().write().await.unwrap();
        let moved = "update outcomes set hour = $2 where outcome = $1";
        let moved = conn.query(moved).bind(outcome).bind(hour);
        assert_eq!(moved.execute().await.unwrap(), 1);
    };
    move_counts("valid", days_ago(29)).await;
    move_counts("no_license", days_ago(31)).await;
    move_refusals(&app, "bob", "bob", days_ago(29)).await;
    move_refusals(&app, "ada", "ada", days_ago(31)).await;
    eventually("the old refusal is forgotten", async || {
        app.number("select count(*) from refusals where external_id = 'ada'").await == 0
    })
    .await;
    // Counts are forgotten before refusals.
    assert_eq!(app.number("select count(*) from outcomes where outcome = 'no_license'").await, 0);
    assert_eq!(app.number("select count(*) from outcomes where outcome = 'valid'").await, 1);
    assert_eq!(times_refused(&app, "bob", "no_license").await, 1);
    let (from, to) = (days_ago(30), days_ago(28));
    let statistics = app.get(&format!("{STATISTICS}?from={from}&to={to}")).await;
    assert_eq!(statistics["hours"][24]["valid"], 1);
}

/// Several nodes add to the same rows at the same time, in one order, so that no cycle of locks
/// arises.
#[tokio::test(flavor = "multi_thread")]
async fn the_outcomes_of_several_nodes_add_up() {
    let pair = Pair::start().await;
    let users: Vec<String> = (0..50).map(|number| format!("user-{number}")).collect();
    for _ in 0..10 {
        for user in &users {
            let [here, there] = &pair.callers;
            let both = futures_util::future::join(here.validate(user), there.validate(user)).await;
            assert_eq!([both.0.verdict(), both.1.verdict()], ["no_license"; 2]);
        }
    }
    let [here, there] = &pair.callers;
    eventually("both nodes' validations are counted", async || {
        counted(here, "noLicense").await == 1000
    })
    .await;
    for user in [&users[0], &users[49]] {
        eventually("both nodes' refusals are listed", async || {
            times_refused(there, user, "no_license").await == 20
        })
        .await;
    }
    pair.end().await;
}

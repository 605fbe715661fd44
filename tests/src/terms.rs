//! Terms: floating seats that come free, grace past the end, and days that start with the first seat.

mod release;
mod storm;

use chrono::TimeDelta;
use common::{ActivationId, Timestamp};
use licd::db::Db;
use serde_json::{Value, json};

use crate::harness::App;

/// Creates a floating license with this many seats and five minutes, and its users.
async fn floating(app: &App, seats: i32, users: &[&str]) -> String {
    let license = app.license(json!({ "maxSeats": seats, "seatIdleMinutes": 5 })).await;
    for user in users {
        app.assign(&license, user).await.data();
    }
    license
}

fn ago(minutes: i64) -> Timestamp {
    Timestamp::now().plus(-TimeDelta::minutes(minutes))
}

/// Moves the check of a seat into the past, as if the user had been away.
async fn away(db: &Db, user: &str, minutes: i64) {
    move_check(db, user, minutes, None).await;
}

/// Makes a user's seat idle that a node may have checked without having written it. That check is
/// dropped, because the seat gets another id.
pub async fn long_away(db: &Db, user: &str, minutes: i64) {
    move_check(db, user, minutes, Some(ActivationId::new(Timestamp::now()))).await;
}

async fn move_check(db: &Db, user: &str, minutes: i64, id: Option<ActivationId>) {
    let mut conn = db.write().await.unwrap();
    conn.query(
        "update assignments
         set last_checked_at = $2, activation_id = coalesce($3, activation_id)
         where activation_id is not null
             and user_id in (select id from users where external_id = $1)",
    )
    .bind(user)
    .bind(ago(minutes))
    .bind(id)
    .execute()
    .await
    .unwrap();
    conn.query("update licenses set seats_idle_at = null").execute().await.unwrap();
}

async fn set(db: &Db, sql: &'static str, time: Timestamp) {
    db.write().await.unwrap().query(sql).bind(time).execute().await.unwrap();
}

async fn seats_used(app: &App, license: &str) -> Value {
    app.get_license(license).await["seats"]["used"].clone()
}

/// A new user gets the seat of one who is gone, and both are in the events.
#[tokio::test]
async fn an_idle_seat_is_taken_over() {
    let app = App::start().await;
    let license = floating(&app, 1, &["ada", "bob"]).await;
    let first = app.validate("ada").await;
    assert_eq!(first["checkAfterSeconds"], 100, "{first}");
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats");
    away(app.db(), "ada", 5).await;
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats", "a margin for clocks");
    away(app.db(), "ada", 6).await;
    let taken = app.validate("bob").await;
    assert_eq!((taken.verdict(), seats_used(&app, &license).await), ("valid", json!(1)));
    assert_eq!(app.validate("ada").await.verdict(), "exceeded_seats");
    let explained = app.explain("ada").await;
    let sentence = explained["licenses"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("This user's seat, idle since"), "{sentence}");
    assert!(sentence.contains("was taken over at"), "{sentence}");
    let events = app.get("/api/v1/admin/events?order=newest").await;
    assert_eq!(events.each("type")[..2], ["seat.taken", "seat.freed"]);
    let freed = &events.list()[1]["data"];
    assert_eq!(
        (&freed["reason"], &freed["object"]["id"]),
        (&json!("idle"), &first["activation"]["id"])
    );
    away(app.db(), "bob", 6).await;
    assert_eq!(app.validate("ada").await.verdict(), "valid", "who lost a seat may take another");
}

/// An answer on a floating seat is good for half of the idle time, whatever crashes after it.
#[tokio::test]
async fn the_check_of_a_holder_is_written_before_it_is_old() {
    let app = App::start().await;
    floating(&app, 1, &["ada", "bob"]).await;
    app.validate("ada").await.data();
    away(app.db(), "ada", 3).await;
    let answered = app.validate("ada").await["activation"]["lastCheckedAt"].clone();
    let stored: Vec<(Timestamp,)> =
        app.rows("select last_checked_at from assignments where activation_id is not null").await;
    assert_eq!(json!(stored[0].0), answered);
    away(app.db(), "ada", 6).await;
    assert_eq!(app.validate("ada").await.verdict(), "valid", "idle, but not taken");
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats");
}

/// Refusals of a full license look at its holders once, until one of them can be idle.
#[tokio::test]
async fn a_full_license_knows_when_a_seat_can_become_idle() {
    let app = App::start().await;
    floating(&app, 1, &["ada", "bob"]).await;
    app.validate("ada").await.data();
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats");
    let noted: Vec<(Timestamp,)> = app.rows("select seats_idle_at from licenses").await;
    assert!(noted[0].0 > ago(-5) && noted[0].0 < ago(-6), "{noted:?}");
    let moved = "update assignments set last_checked_at = $1 where activation_id is not null";
    set(app.db(), moved, ago(60)).await;
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats", "not looked at before");
    let explained = app.explain("bob").await;
    let sentence = explained["licenses"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("a seat can come free at"), "{sentence}");
    set(app.db(), "update licenses set seats_idle_at = $1", ago(1)).await;
    let explained = app.explain("bob").await;
    let sentence = explained["licenses"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("the seat of ada, idle since"), "{sentence}");
    assert_eq!(app.validate("bob").await.verdict(), "valid");
}

/// After an outage all holders have the whole idle time to return.
#[tokio::test]
async fn no_seat_is_idle_because_licd_was_away() {
    let app = App::start().await;
    floating(&app, 1, &["ada", "bob"]).await;
    app.validate("ada").await.data();
    away(app.db(), "ada", 60).await;
    set(app.db(), "update uptime set seen_at = $1", ago(2)).await;
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats", "checks may be unwritten");
    set(app.db(), "update uptime set seen_at = $1", ago(50)).await;
    let database = app.stop().await;
    let app = App::on(database).await;
    app.get("/api/v1/admin/licenses").await.data();
    let noted: Vec<(Option<i64>,)> = app.rows("select away_seconds from uptime").await;
    assert!(noted[0].0.is_some_and(|away| (3000..3060).contains(&away)), "{noted:?}");
    away(app.db(), "ada", 60).await;
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats");
    set(app.db(), "update uptime set resumed_at = $1", ago(6)).await;
    away(app.db(), "ada", 60).await;
    assert_eq!(app.validate("bob").await.verdict(), "valid");
}

/// With fewer seats than holders, no holder is evicted without need.
#[tokio::test]
async fn idle_seats_above_the_limit_are_freed_if_that_makes_one_free() {
    let app = App::start().await;
    let license = floating(&app, 3, &["a", "b", "c", "d"]).await;
    for user in ["a", "b", "c"] {
        app.validate(user).await.data();
    }
    app.update(&license, json!({ "maxSeats": 1 })).await.data();
    for user in ["a", "b"] {
        away(app.db(), user, 10).await;
    }
    assert_eq!(app.validate("d").await.verdict(), "exceeded_seats");
    assert_eq!(seats_used(&app, &license).await, 3);
    away(app.db(), "c", 10).await;
    assert_eq!(app.validate("d").await.verdict(), "valid");
    assert_eq!(seats_used(&app, &license).await, 1);
}

/// A license without the term keeps its seats, and a change of the term gives all holders the new
/// time.
#[tokio::test]
async fn the_idle_time_of_a_license_is_set_and_cleared() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "bob"] {
        app.assign(&license, user).await.data();
    }
    let plain = app.validate("ada").await;
    assert!(
        plain["checkAfterSeconds"].is_null() && app.get_license(&license).await["terms"].is_null()
    );
    away(app.db(), "ada", 60).await;
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats");
    app.update(&license, json!({ "seatIdleMinutes": 5 })).await.data();
    assert_eq!(app.get_license(&license).await["terms"]["seatIdleMinutes"], 5);
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats", "a whole idle time to ask");
    set(app.db(), "update licenses set seats_idle_at = $1", ago(1)).await;
    assert_eq!(app.validate("bob").await.verdict(), "valid");
    let many = app.update(&license, json!({ "maxSeats": 10_001 })).await;
    assert_eq!(many.refusal(), "400 invalid_request seatIdleMinutes");
    app.update(&license, json!({ "clear": ["seatIdleMinutes"] })).await.data();
    away(app.db(), "bob", 60).await;
    assert_eq!(app.validate("ada").await.verdict(), "exceeded_seats");
}

/// A license in grace does all that it did, and one that is in force comes before it.
#[tokio::test]
async fn a_license_in_grace_is_valid() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1, "graceDays": 7 })).await;
    for user in ["ada", "bob"] {
        app.assign(&license, user).await.data();
    }
    app.update(&license, json!({ "expiresAt": ago(60) })).await.data();
    let graced = app.validate("ada").await;
    assert_eq!((graced.verdict(), &graced["license"]["status"]), ("valid", &json!("active")));
    assert_eq!(app.validate("bob").await.verdict(), "expired", "its seat is taken");
    let explained = app.explain("ada").await;
    let sentence = explained["licenses"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("in grace until"), "{sentence}");
    let second = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&second, "ada").await.data();
    assert_eq!(app.validate("ada").await["license"]["id"], *second);
    app.update(&license, json!({ "expiresAt": ago(60 * 24 * 7 + 1) })).await.data();
    app.unassign(&second, "ada").await.data();
    assert_eq!(app.validate("ada").await.verdict(), "expired");
    app.update(&license, json!({ "expiresAt": ago(60) })).await.data();
    app.set_status(&license, "suspended").await.data();
    assert_eq!(app.validate("ada").await.verdict(), "suspended");
}

/// The days of a trial start with its first use.
#[tokio::test]
async fn days_start_with_the_first_validation() {
    let app = App::start().await;
    let terms = json!({ "maxSeats": 2, "expiresInDays": 14, "expiresFrom": "firstValidation" });
    let license = app.license(terms).await;
    for user in ["ada", "bob"] {
        app.assign(&license, user).await.data();
    }
    let waiting = app.get_license(&license).await;
    assert_eq!(
        (&waiting["expiresAt"], &waiting["terms"]["startsWithDays"]),
        (&json!(null), &json!(14))
    );
    let first = app.validate("ada").await;
    let taken: Timestamp = first["activation"]["activatedAt"].as_str().unwrap().parse().unwrap();
    let end = json!(taken.plus(TimeDelta::days(14)));
    assert_eq!(first["license"]["expiresAt"], end);
    let begun = app.get_license(&license).await;
    assert_eq!((&begun["expiresAt"], begun["terms"].is_null()), (&end, true));
    assert_eq!(begun["updatedAt"], first["license"]["updatedAt"]);
    let events = app.get("/api/v1/admin/events?order=newest").await;
    assert_eq!(events.each("type")[..2], ["seat.taken", "license.updated"]);
    assert_eq!(events.list()[1]["data"]["previous"]["terms"]["startsWithDays"], 14);
    assert_eq!(app.validate("bob").await["license"]["expiresAt"], end);
    let again = app.update(&license, json!({ "startsWithDays": 7 })).await;
    assert_eq!(again.refusal(), "409 conflict");
    for user in ["ada", "bob"] {
        app.unassign(&license, user).await.data();
    }
    app.update(&license, json!({ "startsWithDays": 7 })).await.data();
    let both = app.update(&license, json!({ "startsWithDays": 7, "clear": ["expiresAt"] })).await;
    assert_eq!(both.refusal(), "400 invalid_request startsWithDays");
    app.update(&license, json!({ "expiresAt": ago(-60) })).await.data();
    assert!(app.get_license(&license).await["terms"].is_null());
}

/// A buyer who pays for a year gets a year.
#[tokio::test]
async fn a_waiting_license_takes_the_days_of_its_new_plan() {
    let app = App::start().await;
    let days = |days: i64| json!({ "expiresInDays": days, "expiresFrom": "firstValidation" });
    let license = app.license(days(20)).await;
    for (plan, expected) in [(days(365), 365), (json!({}), 365), (days(30), 30)] {
        let plan = app.plan(plan).await;
        app.update(&license, json!({ "planId": plan })).await.data();
        let waiting = app.get_license(&license).await;
        assert_eq!(waiting["terms"]["startsWithDays"], expected, "{plan}");
    }
    let plan = app.plan(days(60)).await;
    app.update(&license, json!({ "planId": plan, "startsWithDays": 7 })).await.data();
    assert_eq!(app.get_license(&license).await["terms"]["startsWithDays"], 7, "what is given");
}

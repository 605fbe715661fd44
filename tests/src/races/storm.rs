//! All calls at the same time: assign, unassign, validate, suspend and delete.

use std::collections::BTreeMap;

use serde_json::json;

use super::{at_once, check_books};
use crate::harness::{App, Caller};

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

const USERS: u64 = 12;
const LIMIT: i64 = 4;

/// One of the things that happen, and whether its answer is one that it may have.
async fn step(app: &Caller, dice: &mut Dice, licenses: &[String]) {
    let user = format!("user-{}", dice.roll(USERS));
    let license = &licenses[dice.roll(licenses.len() as u64) as usize];
    let (answer, allowed): (_, &[u16]) = match dice.roll(11) {
        0..5 => (app.validate(&user).await, &[200]),
        5 | 6 => (app.assign(license, &user).await, &[200, 201]),
        7 => (app.unassign(license, &user).await, &[200, 404]),
        8 => {
            let status = ["active", "active", "suspended", "revoked"][dice.roll(4) as usize];
            (app.set_status(license, status).await, &[200])
        }
        9 => (app.delete_user(&user).await, &[200, 404]),
        _ => (app.usage(license).await, &[200]),
    };
    assert!(allowed.contains(&answer.status), "{answer}");
    if answer.body["data"]["valid"] == true {
        assert_eq!(answer["license"]["status"], "active", "{answer}");
    }
    if let Some(seats) = answer.body["data"]["activeSeats"].as_i64() {
        assert!(seats <= LIMIT, "{answer}");
        let shown = answer["activations"].as_array().unwrap().len() as i64;
        assert_eq!((shown, &answer["totalActivations"]), (seats, &json!(seats)));
    }
}

/// Through a storm of all calls none fails, no license has more holders than seats, and in the end
/// the books are right.
#[tokio::test(flavor = "multi_thread")]
async fn through_a_storm_the_books_stay_right() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": LIMIT })).await;
    let mut licenses = Vec::new();
    for _ in 0..3 {
        licenses.push(app.license_of(&plan).await);
    }
    for seed in 1..4u64 {
        let callers = (0..32).map(|n| {
            let (app, licenses) = ((*app).clone(), licenses.clone());
            async move {
                let mut dice = Dice(seed * 1_000 + n);
                for _ in 0..20 {
                    step(&app, &mut dice, &licenses).await;
                }
            }
        });
        at_once(callers).await;
        check_books(&app).await;
        let over = "select count(*) from licenses where seats_used > max_seats";
        assert_eq!(app.number(over).await, 0);
    }
    let twice = "select count(*) - count(distinct external_id) from users";
    assert_eq!(app.number(twice).await, 0, "each was made once");
    let database = app.stop().await;
    assert_eq!(database.deadlocks().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_holds_for_the_next_request_under_load() {
    answers_hold(App::start().await, 16).await;
}

/// With this many callers several batches are handled at a time, as on a machine with many cores.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_holds_for_the_next_request_of_another_batch() {
    answers_hold(App::reading_in_batches(4).await, 400).await;
}

/// Successive answers agree under load: after an answer "suspended", the next one is not "valid", and
/// a key that was revoked is refused.
async fn answers_hold(app: App, callers: usize) {
    let license = app.license(json!({})).await;
    for n in 0..16 {
        app.assign(&license, &format!("user-{n}")).await;
    }
    let noise: Vec<_> = (0..callers)
        .map(|n| {
            let app = (*app).clone();
            tokio::spawn(async move {
                for _ in 0..60 {
                    app.validate(&format!("user-{}", n % 16)).await.verdict();
                }
            })
        })
        .collect();
    let mut told = BTreeMap::new();
    for (status, verdict) in [("suspended", "suspended"), ("active", "valid")].repeat(10) {
        app.set_status(&license, status).await.data();
        let answer = app.validate("user-0").await.verdict().to_owned();
        assert_eq!(answer, verdict);
        let other = app.asker().await;
        let key = other.get("/api/v1/key").await.id();
        assert_eq!(other.validate("user-1").await.status, 200);
        app.post(&format!("/api/v1/admin/keys/{key}/revoke"), json!({})).await.data();
        assert_eq!(other.validate("user-1").await.status, 401);
        *told.entry(answer).or_insert(0) += 1;
    }
    assert_eq!(told.len(), 2);
    for caller in noise {
        caller.await.unwrap();
    }
    check_books(&app).await;
}

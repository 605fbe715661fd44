//! Many users on few floating seats, at two nodes: seats are exact, and no live user loses one.

use std::collections::BTreeSet;

use futures_util::future::{join, join_all};
use serde_json::json;

use super::{ago, long_away};
use crate::harness::Caller;
use crate::nodes::Pair;

const USERS: usize = 1000;
const SEATS: usize = 10;

fn name(n: usize) -> String {
    format!("user-{n}")
}

/// Asks for all these users at the same time, each at one of the nodes, and some at both. Returns
/// the users who are valid.
async fn ask(callers: &[Caller; 2], users: &[usize]) -> BTreeSet<usize> {
    let again = users.iter().step_by(9);
    let asked = users.iter().chain(again).enumerate().map(|(n, user)| async move {
        (*user, callers[n % 2].validate(&name(*user)).await.verdict() == "valid")
    });
    let mut answers = join_all(asked).await;
    answers.retain(|(_, valid)| *valid);
    answers.into_iter().map(|(user, _)| user).collect()
}

/// In each round half of the holders stop, and the others ask again together with all who wait.
#[tokio::test(flavor = "multi_thread")]
async fn seats_are_exact_and_no_live_user_loses_one() {
    let pair = Pair::start().await;
    let [here, there] = &pair.callers;
    let db = pair.database.open().await;
    let license = here.license(json!({ "maxSeats": SEATS, "seatIdleMinutes": 60 })).await;
    for users in (0..USERS).collect::<Vec<_>>().chunks(50) {
        let assigned = users.iter().map(async |user| here.assign(&license, &name(*user)).await);
        for answer in join_all(assigned).await {
            answer.data();
        }
    }
    let mut holders = ask(&pair.callers, &(0..USERS).collect::<Vec<_>>()).await;
    assert_eq!(holders.len(), SEATS);
    for round in 0..4 {
        let dead: BTreeSet<usize> = holders.iter().copied().skip(round % 2).step_by(2).collect();
        let live = &holders - &dead;
        for user in &dead {
            long_away(&db, &name(*user), 62).await;
        }
        // Those who are alive asked half an hour ago, so that their checks are written too.
        for user in &live {
            long_away(&db, &name(*user), 35).await;
        }
        let asking: Vec<usize> = (0..USERS).filter(|user| !dead.contains(user)).collect();
        let valid = ask(&pair.callers, &asking).await;
        assert!(live.is_subset(&valid), "{live:?} were alive, {valid:?} are valid");
        let usage = there.usage(&license).await;
        assert_eq!((&usage["activeSeats"], valid.len()), (&json!(SEATS), SEATS), "{valid:?}");
        holders = valid;
    }
    let freed = here.get("/api/v1/admin/events?type=seat.freed").await;
    assert_eq!(freed.list().len(), 4 * SEATS / 2);
    assert!(freed.list().iter().all(|event| event["data"]["reason"] == "idle"));
    db.close().await;
    pair.end().await;
}

/// A node that is killed right after its responses loses no check: at the other node all waiting
/// users ask at the same time, and no holder who got a response loses the seat.
#[tokio::test(flavor = "multi_thread")]
async fn the_seats_that_a_killed_node_answered_are_kept() {
    let mut pair = Pair::start().await;
    let db = pair.database.open().await;
    let license =
        pair.callers[0].license(json!({ "maxSeats": SEATS, "seatIdleMinutes": 60 })).await;
    let users: Vec<usize> = (0..3 * SEATS).collect();
    for user in &users {
        pair.callers[0].assign(&license, &name(*user)).await.data();
    }
    let holders = ask(&pair.callers, &users).await;
    assert_eq!(holders.len(), SEATS);
    let others: Vec<usize> = users.iter().copied().filter(|user| !holders.contains(user)).collect();
    for _ in 0..3 {
        for user in &holders {
            long_away(&db, &name(*user), 62).await;
        }
        let verdicts = async |caller: &Caller, users: Vec<usize>| {
            let asked = users.into_iter().map(async |user| caller.validate(&name(user)).await);
            let answers = join_all(asked).await;
            answers.iter().map(|it| it.verdict().to_owned()).collect::<BTreeSet<_>>()
        };
        let answered = verdicts(&pair.callers[0], holders.iter().copied().collect()).await;
        assert_eq!(answered, BTreeSet::from(["valid".to_owned()]));
        pair.kill_first();
        let refused = verdicts(&pair.callers[1], others.clone()).await;
        assert_eq!(refused, BTreeSet::from(["exceeded_seats".to_owned()]));
        pair.start_first();
    }
    db.close().await;
    pair.end().await;
}

/// The check of a response is in the database, whatever happens to the node.
#[tokio::test(flavor = "multi_thread")]
async fn the_seat_of_who_was_answered_is_not_taken_at_another_node() {
    let pair = Pair::start().await;
    let [here, there] = &pair.callers;
    let db = pair.database.open().await;
    let license = here.license(json!({ "maxSeats": 1, "seatIdleMinutes": 60 })).await;
    for user in ["ada", "bob"] {
        here.assign(&license, user).await.data();
    }
    here.validate("ada").await.data();
    for _ in 0..5 {
        long_away(&db, "ada", 90).await;
        let (ada, bob) = join(here.validate("ada"), there.validate("bob")).await;
        let valid = [&ada, &bob].into_iter().filter(|it| it.verdict() == "valid").count();
        assert_eq!(valid, 1, "{ada} {bob}");
        // A user who was valid does not hold the seat at both nodes.
        let holder = if ada.verdict() == "valid" { "ada" } else { "bob" };
        for caller in &pair.callers {
            assert_eq!(caller.validate(holder).await.verdict(), "valid");
        }
        long_away(&db, holder, 90).await;
        there.validate("ada").await.data();
        if holder == "bob" {
            assert_eq!(here.validate("ada").await.verdict(), "valid");
        }
    }
    let stored: Vec<(common::Timestamp,)> = {
        let mut conn = db.read().await.unwrap();
        let sql = "select last_checked_at from assignments where activation_id is not null";
        conn.query(sql).fetch_all().await.unwrap()
    };
    assert!(stored.len() == 1 && stored[0].0 > ago(1), "{stored:?}");
    db.close().await;
    pair.end().await;
}

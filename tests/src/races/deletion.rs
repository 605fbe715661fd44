//! Users who are deleted while others use them.

use reqwest::Method;
use serde_json::json;

use super::{at_once, check_books};
use crate::harness::{App, Caller};
use crate::nodes::Pair;

const ROUNDS: usize = 12;

/// One of the requests about a user. None of them may fail because the user comes or goes.
async fn step(app: &Caller, n: usize, license: &str, user: &str) {
    let answer = match n % 6 {
        0 | 1 => app.delete_user(user).await,
        2 => app.assign(license, user).await,
        3 => app.unassign(license, user).await,
        4 => app.post("/api/v1/admin/users", json!({ "externalId": user, "name": "A" })).await,
        _ => app.validate(user).await,
    };
    assert!(matches!(answer.status, 200 | 201 | 404), "{answer}");
    assert!(n % 6 < 4 || answer.status != 404, "{answer}");
}

/// Deleting, assigning, taking off, creating and validating one user at once: each is answered as if
/// it were alone, and the seats are counted right.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_comes_and_goes_fails_nobody() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 2 })).await;
    for round in 0..ROUNDS {
        app.assign(&license, "ada").await.data();
        let steps = (0..36).map(|n| {
            let (app, license) = ((*app).clone(), license.clone());
            async move { step(&app, n + round, &license, "ada").await }
        });
        at_once(steps).await;
        check_books(&app).await;
    }
    let database = app.stop().await;
    assert_eq!(database.deadlocks().await, 0);
}

/// The same at two nodes, where a batch of the one meets the deletion of the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_comes_and_goes_fails_nobody_at_two_nodes() {
    let pair = Pair::start().await;
    let license = pair.callers[0].license(json!({ "maxSeats": 2 })).await;
    for round in 0..ROUNDS {
        pair.callers[0].assign(&license, "ada").await.data();
        let steps = (0..36).map(|n| {
            let (app, license) = (pair.callers[n / 6 % 2].clone(), license.clone());
            async move { step(&app, n + round, &license, "ada").await }
        });
        at_once(steps).await;
    }
    let usage = pair.callers[0].usage(&license).await;
    let held = usage["activations"].as_array().unwrap().len();
    assert_eq!(usage["totalActivations"], held);
    pair.end().await;
}

/// A validation that takes a seat while its user is deleted leaves no seat behind, and no license
/// with a counter that nobody can lower.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_keeps_the_seat_of_a_deleted_user() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 60 })).await;
    for n in 0..60 {
        app.assign(&license, &format!("user-{n}")).await.data();
    }
    let calls = (0..120).map(|n| {
        let (app, user) = ((*app).clone(), format!("user-{}", n / 2));
        async move {
            match n % 2 {
                0 => drop(app.validate(&user).await.data()),
                _ => drop(app.delete_user(&user).await.data()),
            }
        }
    });
    at_once(calls).await;
    check_books(&app).await;
    assert_eq!(app.usage(&license).await["totalActivations"], 0);
    assert_eq!(app.number("select count(*) from assignments").await, 0);
}

/// A batch notes when several seats of one user were seen, in the order of their ids; a deletion
/// takes the same seats. Neither waits for the other in a circle.
#[tokio::test(flavor = "multi_thread")]
async fn seats_that_are_seen_while_their_user_is_deleted_are_no_deadlock() {
    let pair = Pair::start().await;
    let here = &pair.callers[0];
    let mut offers = Vec::new();
    for n in 0..6 {
        let product = here.product(&format!("product {n}")).await;
        let plan = here.plan_of(&product, json!({})).await;
        offers.push((product, here.license_of(&plan).await));
    }
    for _ in 0..6 {
        // Seats are taken in the reverse order of their licenses.
        for (product, license) in offers.iter().rev() {
            here.assign(license, "ada").await.data();
            let body = json!({ "userId": "ada", "productId": product });
            here.post("/api/v1/validate", body).await.data();
        }
        let calls = (0..37).map(|n| {
            let (caller, product) = (pair.callers[n % 2].clone(), offers[n % 6].0.clone());
            async move {
                match n {
                    18 => caller.delete_user("ada").await.status,
                    _ => {
                        let body = json!({ "userId": "ada", "productId": product });
                        caller.post("/api/v1/validate", body).await.status
                    }
                }
            }
        });
        assert_eq!(at_once(calls).await, [200; 37]);
    }
    pair.end().await;
}

/// Of many deletions of one user exactly one is done; with one Idempotency-Key all are answered
/// alike, or hear that it is still running.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_deletions_is_done() {
    let app = App::start().await;
    for key in [None, Some("k")] {
        app.validate("ada").await.data();
        let path = format!("/api/v1/admin/users/{}", app.user("ada").await["id"].as_str().unwrap());
        let deletions = (0..20).map(|_| {
            let (app, path) = ((*app).clone(), path.clone());
            async move {
                let keyed = |request: reqwest::RequestBuilder| match key {
                    Some(key) => request.header("Idempotency-Key", key),
                    None => request,
                };
                let answer = app.send(Method::DELETE, &path, keyed).await;
                (answer.status, answer.header("idempotency-replayed").is_some())
            }
        });
        let told = at_once(deletions).await;
        assert_eq!(told.iter().filter(|told| **told == (200, false)).count(), 1, "{told:?}");
        let other = if key.is_some() { 409 } else { 404 };
        assert!(told.iter().all(|&(status, again)| status == other || status == 200 || again));
    }
}

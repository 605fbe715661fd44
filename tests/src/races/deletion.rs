//! Users, plans and products that are deleted while other requests use them.

use licd::db::Tx;
use reqwest::Method;
use serde_json::json;

use super::{at_once, check_books};
use crate::harness::{App, Caller, until};
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

/// Deleting, assigning, unassigning, creating and validating one user at the same time: each result
/// is right, and the seats are counted right.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_comes_and_goes_fails_no_request() {
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

/// Deletes at two nodes, where a batch of one meets the deletion of the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_comes_and_goes_fails_no_request_at_two_nodes() {
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

/// A validation that takes a seat while its user is deleted leaves no seat and no wrong counter.
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_frees_the_seat_for_good() {
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

/// Waits until PostgreSQL lets a request of licd wait for a row that the test has locked. SQLite has
/// one writer, for which the request waits sooner or later; there is nothing to see of it.
async fn until_a_request_waits(app: &App) {
    let waiting = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    if app.database.is_postgres() {
        until("a request waits", async || app.number(waiting).await > 0).await;
    }
}

async fn run(tx: &mut Tx, sql: &'static str) {
    assert!(tx.query(sql).execute().await.unwrap() > 0, "{sql}");
}

/// A validation has read the user's license, and the user is deleted before it can take the seat:
/// it then creates the user again, as for any unknown user.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_deleted_in_the_middle_of_a_validation_is_made_anew() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await.data();
    let mut deletion = app.db().begin().await.unwrap();
    run(&mut deletion, "update licenses set updated_at = updated_at").await;
    let caller = (*app).clone();
    let validation = tokio::spawn(async move { caller.validate("ada").await });
    until_a_request_waits(&app).await;
    run(&mut deletion, "delete from assignments").await;
    run(&mut deletion, "delete from users").await;
    deletion.commit().await.unwrap();
    assert_eq!(validation.await.unwrap().verdict(), "no_license");
    assert_eq!(app.user("ada").await["externalId"], "ada");
    check_books(&app).await;
}

/// A batch that notes when several seats of one user were seen locks them in the order of their
/// ids. So does a deletion, or the two would wait for each other.
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_takes_seats_in_the_order_in_which_batches_do() {
    let app = App::start().await;
    let mut offers = Vec::new();
    for name in ["first", "second"] {
        let product = app.product(name).await;
        let plan = app.plan_of(&product, json!({})).await;
        offers.push((product, app.license_of(&plan).await));
    }
    // The order of assignment is not that of the licenses, in which they are locked.
    for (product, license) in offers.iter().rev() {
        app.assign(license, "ada").await.data();
        let body = json!({ "userId": "ada", "productId": product });
        assert_eq!(app.post("/api/v1/validate", body).await.verdict(), "valid");
    }
    let mut batch = app.db().begin().await.unwrap();
    let oldest = "update assignments set last_checked_at = last_checked_at
        where license_id = (select license_id from assignments order by license_id limit 1)";
    run(&mut batch, oldest).await;
    let caller = (*app).clone();
    let deletion = tokio::spawn(async move { caller.delete_user("ada").await });
    until_a_request_waits(&app).await;
    let newest = "update assignments set last_checked_at = last_checked_at
        where license_id = (select license_id from assignments order by license_id desc limit 1)";
    run(&mut batch, newest).await;
    batch.commit().await.unwrap();
    assert_eq!(deletion.await.unwrap().status, 200);
    check_books(&app).await;
    let database = app.stop().await;
    assert_eq!(database.deadlocks().await, 0);
}

/// Of many deletions of one user exactly one succeeds. With one Idempotency-Key all get the same
/// response, or a refusal because the first still runs.
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

/// Plans and products are deleted while records are created in them: a late request gets the error
/// that the plan or the product is unknown, and no record is left without its plan or product.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_comes_and_goes_fails_no_request() {
    let app = App::start().await;
    for _ in 0..ROUNDS {
        let product = app.product("Studio").await;
        let plan = app.plan_of(&product, json!({})).await;
        let steps = (0..24).map(|n| {
            let (app, product, plan) = ((*app).clone(), product.clone(), plan.clone());
            async move {
                let answer = match n % 4 {
                    0 => app.post("/api/v1/admin/licenses", json!({ "planId": plan })).await,
                    1 => {
                        let body = json!({ "productId": product, "name": "Team" });
                        app.post("/api/v1/admin/plans", body).await
                    }
                    2 => app.delete(&format!("/api/v1/admin/plans/{plan}")).await,
                    _ => app.delete(&format!("/api/v1/admin/products/{product}")).await,
                };
                assert!(matches!(answer.status, 200 | 201 | 400 | 404 | 409), "{answer}");
            }
        });
        at_once(steps).await;
    }
    let database = app.stop().await;
    assert_eq!(database.deadlocks().await, 0);
}

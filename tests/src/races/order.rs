//! Limits and cursors under concurrency: a user's number of licenses, and the records a cursor sees.

use std::collections::BTreeSet;

use serde_json::json;
use tokio::sync::watch;

use super::at_once;
use crate::harness::{App, Caller};

/// Of more assignments than a user may have, as many succeed as there is room for.
#[tokio::test(flavor = "multi_thread")]
async fn the_bound_of_licenses_is_exact() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let mut licenses = Vec::new();
    for _ in 0..130 {
        licenses.push(app.license_of(&plan).await);
    }
    let assigning = licenses.into_iter().map(|license| {
        let app = (*app).clone();
        async move { app.assign(&license, "ada").await.status }
    });
    let statuses = at_once(assigning).await;
    let count = |wanted| statuses.iter().filter(|&&status| status == wanted).count();
    assert_eq!((count(201), count(409)), (100, 30));
    assert_eq!(app.number("select count(*) from assignments").await, 100);
}

/// Reads a list as it grows, page after page, until all is made.
async fn follow(caller: Caller, list: &str, mut made: watch::Receiver<bool>) -> Vec<String> {
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let last = *made.borrow_and_update();
        let page = caller.get(&format!("/api/v1/admin/{list}?limit=1000{after}")).await;
        seen.extend(page.each("id").into_iter().map(str::to_owned));
        if let Some(newest) = seen.last() {
            after = format!("&after={newest}");
        }
        if last {
            return seen;
        }
    }
}

/// On SQLite the order of ids is the order of commits for every node: a reader that continues after
/// the last record it read misses none. On PostgreSQL records are committed side by side, and
/// a later one may be seen first.
#[tokio::test(flavor = "multi_thread")]
async fn following_a_list_returns_every_record_once() {
    let app = App::start().await;
    let (all_made, made) = watch::channel(false);
    let following = ["users", "products"].map(|list| {
        let (caller, made) = ((*app).clone(), made.clone());
        tokio::spawn(async move { follow(caller, list, made).await })
    });
    let making = (0..24).map(|n| {
        let app = (*app).clone();
        async move {
            for round in 0..12 {
                let user = format!("user-{n}-{round}");
                match n % 3 {
                    0 => drop(app.validate(&user).await.data()),
                    1 => {
                        let body = json!({ "externalId": user });
                        app.post("/api/v1/admin/users", body).await.data();
                    }
                    _ => drop(app.product(&user).await),
                }
            }
        }
    });
    at_once(making).await;
    all_made.send(true).unwrap();
    for (list, following) in ["users", "products"].into_iter().zip(following) {
        let seen = following.await.unwrap();
        let distinct: BTreeSet<&String> = seen.iter().collect();
        assert_eq!(distinct.len(), seen.len(), "a record was seen twice");
        if !app.database.is_postgres() {
            let all = app.get(&format!("/api/v1/admin/{list}")).await;
            assert_eq!(seen, all.each("id"), "{list}");
        }
    }
}

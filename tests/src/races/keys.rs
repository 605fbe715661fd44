//! Keys that are taken away by each other.

use common::{KeyId, Timestamp};
use licd::store::keys;
use serde_json::json;

use super::at_once;
use crate::harness::App;

/// Admin keys that all revoke each other at once leave one: a tenant never locks itself out.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_revoke_each_other_leave_one() {
    for _ in 0..3 {
        let app = App::start().await;
        let mut callers = vec![(*app).clone()];
        for _ in 0..5 {
            callers.push(app.caller(common::Role::Admin, common::Mode::Live).await);
        }
        let ids: Vec<String> =
            app.get("/api/v1/admin/keys").await.each("id").into_iter().map(str::to_owned).collect();
        let revoking = callers.iter().flat_map(|caller| {
            ids.iter().map(|id| {
                let (caller, path) = (caller.clone(), format!("/api/v1/admin/keys/{id}/revoke"));
                async move { caller.post(&path, json!({})).await.status }
            })
        });
        let statuses = at_once(revoking).await;
        let expected = |status: &u16| matches!(status, 200 | 401 | 409);
        assert!(statuses.iter().all(expected), "{statuses:?}");
        let left = "select count(*) from keys where revoked_at is null";
        assert_eq!(app.number(left).await, 1);
    }
}

/// The times of last use are written while keys are revoked: neither waits for the other in a
/// circle. The revoked key is older than an admin key, so that both meet the two in either order.
#[tokio::test(flavor = "multi_thread")]
async fn revoking_while_last_use_is_written_fails_nobody() {
    let app = App::start().await;
    let mut asking = Vec::new();
    for _ in 0..6 {
        asking.push(app.asker().await);
        asking.push(app.caller(common::Role::Admin, common::Mode::Live).await);
    }
    for caller in &asking {
        caller.get("/api/v1/key").await.data();
    }
    let keys = app.get("/api/v1/admin/keys").await;
    let askers = keys.list().iter().filter(|key| key["role"] == "validate");
    let ids: Vec<String> = askers.map(|key| key["id"].as_str().unwrap().to_owned()).collect();
    let revoking = ids.into_iter().map(|id| {
        let app = app.clone();
        async move { app.post(&format!("/api/v1/admin/keys/{id}/revoke"), json!({})).await.status }
    });
    assert_eq!(at_once(revoking).await, [200; 6]);
    let database = app.stop().await;
    assert_eq!(database.deadlocks().await, 0);
}

/// A revocation, and the times of last use being written: whichever key each begins with, they
/// take turns.
#[tokio::test(flavor = "multi_thread")]
async fn revoking_and_noting_the_last_use_take_turns() {
    let app = App::start().await;
    let asker = app.asker().await.get("/api/v1/key").await.id();
    let admin = app.caller(common::Role::Admin, common::Mode::Live).await;
    let admin = admin.get("/api/v1/key").await.id();
    let (first, second): (KeyId, KeyId) = (asker.parse().unwrap(), admin.parse().unwrap());
    let now = Timestamp::now();
    let mut tx = app.db().begin().await.unwrap();
    keys::touch(&mut tx, first, now).await.unwrap();
    let revoking = tokio::spawn({
        let app = (*app).clone();
        async move { app.post(&format!("/api/v1/admin/keys/{asker}/revoke"), json!({})).await }
    });
    // On SQLite the revocation waits for its turn to write, which cannot be seen.
    while app.database.is_postgres()
        && app.number("select count(*) from pg_locks where not granted").await == 0
    {
        tokio::task::yield_now().await;
    }
    keys::touch(&mut tx, second, now).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(revoking.await.unwrap().status, 200);
}

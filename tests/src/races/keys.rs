//! Keys that are taken away by each other.

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

//! Keys that are taken away by each other.

use common::{Key, KeyId, Mode, Role, Timestamp};
use licd::auth::Usage;
use licd::db::Tx;
use serde_json::{from_value, json};

use super::at_once;
use crate::harness::{App, Caller};

/// Admin keys that all revoke each other at once leave one: a tenant never locks itself out.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_revoke_each_other_leave_one() {
    for _ in 0..3 {
        let app = App::start().await;
        let mut callers = vec![(*app).clone()];
        for _ in 0..5 {
            callers.push(app.caller(Role::Admin, Mode::Live).await);
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
        asking.push(app.caller(Role::Admin, Mode::Live).await);
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

/// The last uses of four keys are written while somebody else holds the third. A revocation of the
/// second, which locks the first, is answered meanwhile: the writer waits for a key with no other
/// in its hands. One of the third waits its turn, and in the end neither has undone the other.
#[tokio::test(flavor = "multi_thread")]
async fn noting_the_last_use_and_revoking_take_turns() {
    let app = App::start().await;
    let mut keys = vec![app.get("/api/v1/key").await.id()];
    for n in 0..3 {
        let new = json!({ "name": format!("key {n}"), "role": "validate" });
        keys.push(app.post("/api/v1/admin/keys", new).await.id());
    }
    let used = Timestamp::now();
    let usage = Usage::default();
    for key in &keys {
        usage.note(key.parse().unwrap(), used);
    }

    let elsewhere = app.database.open().await;
    let mut holder = elsewhere.begin().await.unwrap();
    if app.database.is_postgres() {
        let third: KeyId = keys[2].parse().unwrap();
        let hold = "select id from keys where id = $1 for update";
        holder.query(hold).bind(third).execute().await.unwrap();
    }
    let db = app.db().clone();
    let writing = tokio::spawn(async move { usage.write(&db).await });
    let (second, third) = (revoke(&app, &keys[1]), revoke(&app, &keys[2]));
    let revoking = if app.database.is_postgres() {
        let writer = wait_for(1, &mut holder).await;
        second.await;
        assert_eq!(waiting(&mut holder).await, writer, "the writer let nobody by while it waited");
        let revoking = tokio::spawn(third);
        wait_for(2, &mut holder).await;
        revoking
    } else {
        // SQLite has one writer at a time, and whom that keeps waiting cannot be seen.
        tokio::spawn(async move {
            second.await;
            third.await;
        })
    };
    holder.commit().await.unwrap();
    writing.await.unwrap().unwrap();
    revoking.await.unwrap();

    let records: Vec<Key> = from_value(app.get("/api/v1/admin/keys").await.data().clone()).unwrap();
    let revoked: Vec<bool> = records.iter().map(|key| key.revoked_at.is_some()).collect();
    assert_eq!(revoked, [false, true, true, false]);
    // The first is the key that asks, so it was used since.
    assert!(records[0].last_used_at >= Some(used));
    assert!(records[1..].iter().all(|key| key.last_used_at == Some(used)), "{records:?}");
    elsewhere.close().await;
}

fn revoke(admin: &Caller, key: &str) -> impl Future<Output = ()> + Send + use<> {
    let (admin, path) = (admin.clone(), format!("/api/v1/admin/keys/{key}/revoke"));
    async move {
        admin.post(&path, json!({})).await.data();
    }
}

/// The sessions that wait for a row in this database, on PostgreSQL: each queues for the row with
/// a lock, and other tests' databases are on the same server.
async fn waiting(tx: &mut Tx) -> Vec<(i32,)> {
    let waiting = "select pid from pg_locks
         where locktype = 'tuple'
             and database = (select oid from pg_database where datname = current_database())
         order by pid";
    tx.query(waiting).fetch_all().await.unwrap()
}

/// Looks until so many wait.
async fn wait_for(count: usize, tx: &mut Tx) -> Vec<(i32,)> {
    loop {
        let waiting = waiting(tx).await;
        if waiting.len() == count {
            return waiting;
        }
        tokio::task::yield_now().await;
    }
}

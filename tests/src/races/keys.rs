//! Keys that revoke and roll each other.

use common::{Key, KeyId, Mode, Role, Timestamp};
use licd::auth::last_uses::LastUses;
use serde_json::{from_value, json};

use super::at_once;
use crate::harness::{App, Caller};

/// Admin keys that all revoke each other at the same time leave one, so a tenant never locks itself
/// out.
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

/// Admin keys that roll and revoke each other at the same time leave one that is valid.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_roll_and_revoke_each_other_leave_one() {
    let app = App::start().await;
    let mut callers = vec![(*app).clone()];
    for _ in 0..3 {
        callers.push(app.caller(Role::Admin, Mode::Live).await);
    }
    let ids: Vec<String> =
        app.get("/api/v1/admin/keys").await.each("id").into_iter().map(str::to_owned).collect();
    let (now, later) = (json!({ "overlapSeconds": 0 }), json!({ "overlapSeconds": 60 }));
    let changes = [("roll", now), ("roll", later), ("revoke", json!({}))];
    let changing = callers.iter().flat_map(|caller| {
        ids.iter().zip(changes.iter().cycle()).map(|(id, (verb, body))| {
            let (caller, path) = (caller.clone(), format!("/api/v1/admin/keys/{id}/{verb}"));
            let body = body.clone();
            async move { caller.post(&path, body).await.status }
        })
    });
    let statuses = at_once(changing).await;
    let expected = |status: &u16| matches!(status, 200 | 201 | 401 | 409);
    assert!(statuses.iter().all(expected), "{statuses:?}");
    let keys: Vec<(Option<Timestamp>, Option<Timestamp>)> =
        app.rows("select expires_at, revoked_at from keys").await;
    let is_valid = |end: &Option<Timestamp>| end.is_none_or(|end| Timestamp::now() < end);
    assert!(keys.iter().any(|(end, revoked)| revoked.is_none() && is_valid(end)), "{keys:?}");
    let rolled = statuses.iter().filter(|status| **status == 201).count();
    assert_eq!(keys.len(), ids.len() + rolled);
    let database = app.stop().await;
    assert_eq!(database.deadlocks().await, 0);
}

/// The times of last use are written while keys are revoked: neither waits for the other in a
/// circle. The revoked key is older than an admin key, so that both meet the two in either order.
#[tokio::test(flavor = "multi_thread")]
async fn revoking_while_last_use_is_written_fails_no_request() {
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

/// The last uses of four keys are written while another transaction locks the third: it is skipped
/// until the next time, and neither the writer nor a revocation waits.
#[tokio::test(flavor = "multi_thread")]
async fn writing_the_last_use_waits_for_no_lock() {
    let app = App::start().await;
    let mut keys = vec![app.get("/api/v1/key").await.id()];
    for n in 0..3 {
        let new = json!({ "name": format!("key {n}"), "role": "validate" });
        keys.push(app.post("/api/v1/admin/keys", new).await.id());
    }
    let used = Timestamp::now();
    let usage = LastUses::default();
    for key in &keys {
        usage.note(key.parse().unwrap(), None, used);
    }
    let records = async || -> Vec<Key> {
        from_value(app.get("/api/v1/admin/keys").await.data().clone()).unwrap()
    };

    // SQLite has one writer at a time, so no transaction can lock a single key.
    let mut holder = None;
    if app.database.is_postgres() {
        let mut tx = app.db().begin().await.unwrap();
        let third: KeyId = keys[2].parse().unwrap();
        let hold = "select id from keys where id = $1 for update";
        tx.query(hold).bind(third).execute().await.unwrap();
        holder = Some(tx);
    }
    usage.write(app.db()).await.unwrap();
    let expected = [Some(used), holder.is_none().then_some(used), Some(used)];
    assert_eq!(
        records().await[1..].iter().map(|key| key.last_used_at).collect::<Vec<_>>(),
        expected
    );
    revoke(&app, &keys[1]).await;
    drop(holder);
    // If both write a row at the same time, the revocation waits, and the other writer skips it.
    revoke(&app, &keys[2]).await;
    usage.write(app.db()).await.unwrap();

    let records = records().await;
    let revoked: Vec<bool> = records.iter().map(|key| key.revoked_at.is_some()).collect();
    assert_eq!(revoked, [false, true, true, false]);
    // The first is the key that asks, so it was used since.
    assert!(records[0].last_used_at >= Some(used));
    assert!(records[1..].iter().all(|key| key.last_used_at == Some(used)), "{records:?}");
}

/// Thousands of keys are written in batches, each in one statement, and a later use that came in
/// between is kept.
#[tokio::test]
async fn the_last_uses_of_many_keys_are_written_together() {
    let app = App::start().await;
    let mut conn = app.db().write().await.unwrap();
    let ids: Vec<KeyId> = (0..1200).map(|_| KeyId::new(Timestamp::now())).collect();
    for id in &ids {
        let insert = "insert into keys (id, world, name, prefix, hash, role, created_at)
             values ($1, 1, 'many', 'sk_live_', $2, 'validate', $3)";
        let hash = id.uuid().as_bytes().to_vec();
        let query = conn.query(insert).bind(*id).bind(hash);
        query.bind(Timestamp::now()).execute().await.unwrap();
    }
    drop(conn);
    let (usage, used) = (LastUses::default(), Timestamp::now());
    ids.iter().for_each(|id| usage.note(*id, None, used));
    usage.write(app.db()).await.unwrap();
    let late = used.plus(-chrono::Duration::hours(1));
    usage.note(ids[0], None, late);
    usage.write(app.db()).await.unwrap();
    let written = "select count(*) from keys where last_used_at is not null and name = 'many'";
    assert_eq!(app.number(written).await, 1200);
    let times: Vec<(Timestamp,)> =
        app.rows("select distinct last_used_at from keys where name = 'many'").await;
    assert_eq!(times, [(used,)]);
}

async fn revoke(admin: &Caller, key: &str) {
    admin.post(&format!("/api/v1/admin/keys/{key}/revoke"), json!({})).await.data();
}

/// A thief who makes keys with keys while the leaked one is revoked keeps none.
#[tokio::test(flavor = "multi_thread")]
async fn no_key_that_a_leaked_key_makes_survives_its_revocation() {
    for _ in 0..3 {
        let app = App::start().await;
        let thief = app.caller(Role::Admin, Mode::Live).await;
        let leaked = thief.get("/api/v1/key").await.id();
        let making = (0..8).map(|_| {
            let thief = thief.clone();
            async move {
                let body = json!({ "name": "stolen", "role": "admin" });
                let first = thief.post("/api/v1/admin/keys", body.clone()).await;
                if first.status == 201 {
                    let second = thief.with_key(first["key"].as_str().unwrap());
                    second.post("/api/v1/admin/keys", body).await;
                }
            }
        });
        let revoking = async {
            let body = json!({ "made": true });
            app.post(&format!("/api/v1/admin/keys/{leaked}/revoke"), body).await.data();
        };
        tokio::join!(at_once(making), revoking);
        let left = "select count(*) from keys where name = 'stolen' and revoked_at is null";
        assert_eq!(app.number(left).await, 0);
    }
}

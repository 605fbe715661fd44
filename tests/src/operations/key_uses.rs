//! The uses of keys: how many, when the last one was, and from where. Each is counted once.

use std::net::IpAddr;

use chrono::TimeDelta;
use common::{KeyId, Role, Timestamp};
use licd::auth::gate::{CallerInfo, KeyGate};
use licd::auth::last_uses::{self, LastUses};
use licd::auth::limit::{NewUserLimit, RateLimit};
use licd::ops::keys::{self, KeyUses};
use licd::store::keys::KeyAuth;

use super::{scope_of, view_of};
use crate::harness::App;

const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

/// A key that was never used.
async fn unused_key(app: &App) -> KeyId {
    let new = serde_json::json!({ "name": "app", "role": "validate" });
    app.post("/api/v1/admin/keys", new).await.id().parse().unwrap()
}

async fn uses(app: &App, key: KeyId) -> KeyUses {
    keys::uses(view_of(app, app).await, key).await.unwrap()
}

async fn run(app: &App, sql: &'static str) {
    app.db().write().await.unwrap().query(sql).execute().await.unwrap();
}

/// Requests of every kind are counted, one that was refused for its rate is not, and the last ones
/// before a stop are counted as well.
#[tokio::test]
async fn requests_are_counted_with_the_address_they_came_from() {
    let app = App::with_limit("4/m").await;
    let caller = app.asker().await;
    let id: KeyId = caller.get("/api/v1/key").await.id().parse().unwrap();
    for _ in 0..2 {
        caller.validate("ada").await.data();
    }
    assert_eq!(caller.get("/api/v1/admin/users").await.status, 403);
    assert_eq!(caller.validate("ada").await.status, 429);
    let app = App::on(app.stop().await).await;
    let uses = uses(&app, id).await;
    assert_eq!((uses.last_24_hours, uses.last_7_days), (4, 4));
    assert_eq!(uses.last_used_address.as_deref(), Some("127.0.0.1"));
    let minute = TimeDelta::minutes(1);
    assert!(uses.last_used_at.is_some_and(|at| Timestamp::now().since(at) < minute), "{uses:?}");
}

#[tokio::test]
async fn a_key_that_was_never_used_has_no_uses() {
    let app = App::start().await;
    let key = unused_key(&app).await;
    let none =
        KeyUses { last_used_at: None, last_used_address: None, last_24_hours: 0, last_7_days: 0 };
    assert_eq!(uses(&app, key).await, none);
}

/// A batch that breaks off is decided again, request by request.
#[tokio::test]
async fn a_request_that_is_decided_twice_is_one_use() {
    let app = App::start().await;
    let (key_id, scope) = (unused_key(&app).await, scope_of(&app, &app).await);
    let auth = KeyAuth { key_id, scope, role: Role::Validate, expires_at: None, revoked_at: None };
    let gate = KeyGate::new(RateLimit::default(), NewUserLimit::default(), 1);
    let (call, now) = (CallerInfo::at(Some(ADDRESS)), Timestamp::now());
    for _ in 0..2 {
        gate.admit(Some(auth), &call, now).unwrap();
    }
    gate.last_uses.write(app.db()).await.unwrap();
    let found = uses(&app, key_id).await;
    assert_eq!((found.last_24_hours, found.last_used_at), (1, Some(now)));
    assert_eq!(found.last_used_address, Some(ADDRESS.to_string()));
}

/// Uses add up by the hour, also when several nodes count; old ones are forgotten.
#[tokio::test]
async fn uses_are_counted_by_the_hour_for_thirty_days() {
    let app = App::start().await;
    let (key, other) = (unused_key(&app).await, unused_key(&app).await);
    let (now, nodes) = (Timestamp::now(), [LastUses::default(), LastUses::default()]);
    let days = TimeDelta::days;
    let hours = TimeDelta::hours;
    for ago in [days(31), days(29), days(8), days(6), hours(25), hours(23), hours(0)] {
        for node in &nodes {
            node.note(key, Some(ADDRESS), now.plus(-ago));
        }
    }
    nodes[0].note(other, None, now);
    for node in &nodes {
        node.write(app.db()).await.unwrap();
        // What was written is not written again.
        node.write(app.db()).await.unwrap();
    }
    let found = uses(&app, key).await;
    assert_eq!((found.last_24_hours, found.last_7_days), (4, 8));
    assert_eq!(uses(&app, other).await.last_24_hours, 1);
    last_uses::forget_old(app.db(), now).await.unwrap();
    let kept = "select cast(sum(count) as bigint) from key_uses
         where key_id in (select id from keys where name = 'app')";
    assert_eq!(app.number(kept).await, 13);
}

/// The address stays with the later of two uses, whichever is written first.
#[tokio::test]
async fn an_earlier_use_that_is_written_late_leaves_the_address() {
    let app = App::start().await;
    let (key, now) = (unused_key(&app).await, Timestamp::now());
    let earlier = now.plus(-TimeDelta::minutes(5));
    for (at, address) in [(now, ADDRESS), (earlier, IpAddr::from([192, 0, 2, 8]))] {
        let node = LastUses::default();
        node.note(key, Some(address), at);
        node.write(app.db()).await.unwrap();
    }
    let found = uses(&app, key).await;
    assert_eq!(found.last_used_at, Some(now));
    assert_eq!(found.last_used_address, Some(ADDRESS.to_string()));
}

/// Uses that could not be written are kept. They are written later, once, together with further
/// ones.
#[tokio::test]
async fn uses_that_could_not_be_written_are_counted_later_and_once() {
    let app = App::start().await;
    let (key, node) = (unused_key(&app).await, LastUses::default());
    run(&app, "alter table key_uses rename to elsewhere").await;
    for _ in 0..3 {
        node.note(key, Some(ADDRESS), Timestamp::now());
        node.write(app.db()).await.unwrap_err();
    }
    run(&app, "alter table elsewhere rename to key_uses").await;
    assert_eq!(uses(&app, key).await.last_used_at, None, "half of it was written");
    node.write(app.db()).await.unwrap();
    node.write(app.db()).await.unwrap();
    let found = uses(&app, key).await;
    assert_eq!(found.last_24_hours, 3);
    assert!(found.last_used_at.is_some());
}

/// A commit that was not confirmed may have happened: the uses are rather lost than counted twice,
/// and the time of the last one is written again.
#[tokio::test]
#[ignore = "needs PostgreSQL, whose connections can be cut"]
async fn a_use_whose_commit_was_not_confirmed_is_not_counted_again() {
    let app = App::start().await;
    let (key, node, now) = (unused_key(&app).await, LastUses::default(), Timestamp::now());
    run(
        &app,
        "create function cut() returns trigger language plpgsql as
         'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'",
    )
    .await;
    run(
        &app,
        "create constraint trigger cut after insert on key_uses deferrable initially deferred
         for each row execute function cut()",
    )
    .await;
    node.note(key, Some(ADDRESS), now);
    node.write(app.db()).await.unwrap_err();
    run(&app, "drop trigger cut on key_uses").await;
    node.write(app.db()).await.unwrap();
    let found = uses(&app, key).await;
    assert_eq!((found.last_24_hours, found.last_used_at), (0, Some(now)));
}

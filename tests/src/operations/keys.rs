//! Keys that need attention: those about to expire, and those that seem unused.

use common::{KeyId, Mode, Timestamp};
use licd::error::Error;
use licd::ops::keys;
use serde_json::json;

use super::view_of;
use crate::harness::{App, Caller};

/// Creates an unused key with these times, in days from now.
async fn key(
    app: &App,
    now: Timestamp,
    mode: Mode,
    [created, used, expires]: [Option<i64>; 3],
) -> KeyId {
    let new = json!({ "name": "app", "role": "validate", "mode": mode });
    let id: KeyId = app.post("/api/v1/admin/keys", new).await.id().parse().unwrap();
    let time = |days: i64| now.plus(chrono::Duration::days(days));
    let mut conn = app.db().write().await.unwrap();
    let set = "update keys set created_at = $2, last_used_at = $3, expires_at = $4 where id = $1";
    let set = conn.query(set).bind(id).bind(created.map_or(now, time));
    assert_eq!(set.bind(used.map(time)).bind(expires.map(time)).execute().await.unwrap(), 1);
    id
}

async fn attention(app: &App, caller: &Caller, now: Timestamp, limit: i64) -> Vec<KeyId> {
    let view = view_of(app, caller).await;
    let found = keys::needing_attention(view, now, limit).await.unwrap();
    found.iter().map(|key| key.id).collect()
}

#[tokio::test]
async fn keys_that_end_soon_or_are_long_unused_need_attention() {
    let app = App::start().await;
    let now = Timestamp::now();
    let make = async |mode, times| key(&app, now, mode, times).await;
    let live = Mode::Live;
    let mut wanted = vec![
        make(live, [None, Some(-1), Some(14)]).await,
        make(live, [None, None, Some(1)]).await,
        make(live, [Some(-91), None, None]).await,
        make(live, [Some(-200), Some(-91), Some(300)]).await,
        make(Mode::Test, [Some(-91), None, None]).await,
    ];
    for quiet in [
        [None, Some(-1), Some(15)],
        [Some(-200), Some(-1), None],
        [Some(-89), None, None],
        [Some(-200), Some(-89), None],
        [Some(-200), None, Some(0)],
    ] {
        make(live, quiet).await;
    }
    let revoked = make(live, [Some(-200), None, Some(3)]).await;
    app.post(&format!("/api/v1/admin/keys/{revoked}/revoke"), json!({})).await.data();
    let (test, other) = (app.test_mode().await, app.other_tenant().await);
    wanted.reverse();
    assert_eq!(attention(&app, &app, now, 100).await, wanted);
    assert_eq!(attention(&app, &test, now, 100).await, wanted[..1]);
    assert_eq!(attention(&app, &other, now, 100).await, []);
    assert_eq!(attention(&app, &app, now, 2).await, wanted[..2]);
}

/// A live key sees the keys of both modes, a test key those of its own.
#[tokio::test]
async fn a_key_is_shown_to_those_who_may_see_it() {
    let app = App::start().await;
    let (test, other) = (app.test_mode().await, app.other_tenant().await);
    let get = async |caller: &Caller, id: &str| {
        let view = view_of(&app, caller).await;
        let id: KeyId = id.parse().unwrap();
        let uses = keys::uses(view.clone(), id).await;
        let got = keys::get(view, id).await;
        assert_eq!(got.is_ok(), uses.is_ok());
        match (got, uses) {
            (Ok(key), _) => Some(key.id.to_string()),
            (Err(Error::NotFound("key")), Err(Error::NotFound("key"))) => None,
            (Err(error), _) => panic!("{error:?}"),
        }
    };
    let [live_key, test_key, other_key] = [
        app.get("/api/v1/key").await.id(),
        test.get("/api/v1/key").await.id(),
        other.get("/api/v1/key").await.id(),
    ];
    for id in [&live_key, &test_key] {
        assert_eq!(get(&app, id).await.as_ref(), Some(id));
    }
    assert_eq!(get(&test, &test_key).await, Some(test_key));
    assert_eq!(get(&test, &live_key).await, None);
    assert_eq!(get(&app, &other_key).await, None);
    assert_eq!(get(&other, &live_key).await, None);
    assert_eq!(get(&app, &KeyId::new(Timestamp::now()).to_string()).await, None);
}

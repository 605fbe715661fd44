//! Signing keys: creation, rotation, and the cost of a lost secret.

use common::{Jwk, Mode, Role};
use serde_json::{Value, json};

use crate::harness::App;
use crate::nodes::Pair;
use crate::races::at_once;

const SET: &str = "/api/v1/signing-keys";
const KEYS: &str = "/api/v1/admin/signing-keys";
const ROTATE: &str = "/api/v1/admin/signing-keys/rotate";

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The ids and states of the set that applications embed.
async fn set(app: &App) -> Vec<(String, String)> {
    let set = app.get(SET).await;
    set.list().iter().map(|key| (text(&key["id"]), text(&key["state"]))).collect()
}

#[tokio::test]
async fn two_keys_are_made_by_hand_and_public_to_every_role() {
    let app = App::start().await;
    assert!(set(&app).await.is_empty());
    let rotated = app.post(ROTATE, json!({ "abandon": true })).await;
    assert_eq!(rotated.refusal(), "409 conflict");
    let made = app.post(KEYS, json!(null)).await;
    assert_eq!(made.status, 201);
    let (active, standby) = (&made["active"], &made["standby"]);
    assert_eq!((&active["state"], &standby["state"]), (&json!("active"), &json!("standby")));
    for role in [Role::Validate, Role::Read, Role::Admin] {
        let seen = app.caller(role, Mode::Live).await.get(SET).await;
        assert_eq!(seen.list(), [active.clone(), standby.clone()], "{role}");
    }
    let jwk: Jwk = serde_json::from_value(active["jwk"].clone()).unwrap();
    assert!(jwk.public_key().is_some(), "{jwk:?}");
    assert!(app.test_mode().await.get(SET).await.list().is_empty(), "each mode has its own");
    assert!(app.other_tenant().await.get(SET).await.list().is_empty());
    assert_eq!(app.post(KEYS, json!(null)).await.refusal(), "409 conflict");
    let sealed = "select count(*) as number from signing_keys where length(private_key) > 150";
    assert_eq!(app.number(sealed).await, 2, "a seal is longer than what it seals");
}

/// A request that names a key that is no longer on standby was late.
#[tokio::test]
async fn a_rotation_happens_once_and_keeps_what_verifies() {
    let app = App::start().await;
    let made = app.post(KEYS, json!(null)).await.data().clone();
    let (first, second) = (text(&made["active"]["id"]), text(&made["standby"]["id"]));
    let wrong = app.post(ROTATE, json!({ "standby": first })).await;
    assert_eq!(wrong.refusal(), "409 conflict");
    for body in [json!({}), json!({ "standby": second, "abandon": true })] {
        let unclear = app.post(ROTATE, body).await;
        assert_eq!(unclear.refusal(), "400 invalid_request standby");
    }
    let abandoned = app.post(ROTATE, json!({ "abandon": true })).await;
    assert_eq!(abandoned.refusal(), "409 conflict", "it can be opened");
    let rotations = (0..8).map(|_| {
        let (caller, body) = (app.clone(), json!({ "standby": second }));
        async move { caller.post(ROTATE, body).await.status }
    });
    let mut statuses = at_once(rotations).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
    let after = set(&app).await;
    assert_eq!(after.len(), 3);
    assert_eq!(after[0], (first.clone(), "retired".to_owned()));
    assert_eq!(after[1], (second.clone(), "active".to_owned()));
    assert_eq!(after[2].1, "standby");
    let kept = "select count(*) as number from signing_keys where private_key is null";
    assert_eq!(app.number(kept).await, 1, "the private key of a retired one is gone");
    let events = app.get("/api/v1/admin/events?type=signing_key.updated").await;
    assert_eq!(events.list()[1]["data"]["previous"], json!({ "state": "standby" }));
    assert_eq!(app.delete(&format!("{KEYS}/{second}")).await.refusal(), "409 conflict");
    assert_eq!(app.delete(&format!("{KEYS}/{first}")).await.id(), first);
    assert_eq!(set(&app).await, after[1..]);
}

/// Two nodes that are asked at the same moment make one pair.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_made_once_by_two_nodes() {
    let pair = Pair::start().await;
    let callers = (0..8).map(|at| pair.callers[at % 2].clone());
    let creations = callers.map(|it| async move { it.post(KEYS, json!(null)).await.status });
    let mut statuses = at_once(creations).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(pair.callers[0].get(SET).await.list().len(), 2);
    pair.end().await;
}

/// A key that this node cannot open is not given up by mistake: only who says so makes new ones.
#[tokio::test]
async fn a_lost_secret_costs_both_keys_and_only_on_demand() {
    let app = App::start().await;
    let made = app.post(KEYS, json!(null)).await.data().clone();
    let standby = json!({ "standby": made["standby"]["id"] });
    let database = app.close().await;
    let app = App::without_secret_key(database).await;
    assert_eq!(app.post(ROTATE, standby.clone()).await.refusal(), "503 unavailable");
    let none = app.post(ROTATE, json!({ "abandon": true })).await;
    assert_eq!(none.refusal(), "409 secret_key_missing");
    assert_eq!(
        app.test_mode().await.post(KEYS, json!(null)).await.refusal(),
        "409 secret_key_missing"
    );
    assert_eq!(app.get(SET).await.list().len(), 2, "public keys outlive the secret");
    let database = app.close().await;
    let app = App::with_new_secret_key(database).await;
    assert_eq!(app.post(ROTATE, standby).await.refusal(), "503 unavailable");
    let abandoned = app.post(ROTATE, json!({ "abandon": true })).await.data().clone();
    let states: Vec<_> = set(&app).await.into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, ["retired", "retired", "active", "standby"]);
    let next = json!({ "standby": abandoned["standby"]["id"] });
    assert_eq!(app.post(ROTATE, next).await.status, 200);
}

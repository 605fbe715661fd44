//! Leases together with all operations that move seats, on two nodes.

use std::collections::BTreeMap;

use common::{Jwk, LeaseClaims};
use futures_util::future::join_all;
use serde_json::json;

use super::{Sold, embedded, noted, sold, text};
use crate::harness::{Answer, App, Caller, until};
use crate::nodes::Pair;
use crate::races::at_once;

const SEATS: usize = 8;
const USERS: usize = 32;

/// One user's restless day at a node: the last lease that was got, if it was not dropped since.
async fn live(caller: Caller, sold: Sold, user: String, keys: Vec<Jwk>) -> Option<LeaseClaims> {
    let mut last = None;
    let license = format!("/api/v1/admin/licenses/{}", sold.license);
    for round in 0..6 {
        let answer = sold.lease(&caller, &user, json!({ "ttlSeconds": 600 })).await;
        if let Some(token) = answer["lease"]["token"].as_str() {
            last = Some(LeaseClaims::verify(token, &keys).unwrap());
        }
        let path = format!("{license}/assign/{user}");
        match (round + user.len()) % 3 {
            0 => {
                let unassigned = caller.delete(&path).await;
                let is_held = unassigned.status == 409;
                assert_eq!(is_held, last.is_some(), "{unassigned}");
                caller.assign(&sold.license, &user).await.data();
            }
            1 => {
                caller.delete(&format!("{path}?leases=drop")).await.data();
                last = None;
                caller.assign(&sold.license, &user).await.data();
            }
            _ => drop(caller.post("/api/v1/release", json!({ "userId": user })).await),
        }
    }
    last
}

/// Under take-overs, releases and removals: users with a lease that was not dropped are at most as
/// many as there are seats, and all of them hold one.
#[tokio::test(flavor = "multi_thread")]
async fn leases_and_seats_agree_on_two_nodes() {
    let pair = Pair::start().await;
    let names: Vec<String> =
        (0..USERS).map(|n| format!("user{}", "x".repeat(n % 3) + &n.to_string())).collect();
    let users: Vec<&str> = names.iter().map(String::as_str).collect();
    let terms = json!({ "maxSeats": SEATS, "seatIdleMinutes": 5, "maxLeaseSeconds": 3600 });
    let Sold { license, product } = sold(&pair.callers[0], terms, &users).await;
    let keys = embedded(&pair.callers[0]).await;
    let days = names.iter().enumerate().map(|(at, user)| {
        let sold = Sold { license: license.clone(), product: product.clone() };
        live(pair.callers[at % 2].clone(), sold, user.clone(), keys.clone())
    });
    let leased: BTreeMap<String, LeaseClaims> = at_once(days.collect::<Vec<_>>())
        .await
        .into_iter()
        .flatten()
        .map(|claims| (claims.sub.to_string(), claims))
        .collect();
    assert!(!leased.is_empty() && leased.len() <= SEATS, "{}", leased.len());
    let usage = pair.callers[1].usage(&license).await;
    let held: BTreeMap<_, _> = usage["activations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|seat| (text(&seat["externalId"]), &seat["leasedUntil"]))
        .collect();
    assert!(held.len() <= SEATS);
    for (user, claims) in &leased {
        let until = held.get(user.as_str()).and_then(|until| until.as_str());
        let until: common::Timestamp = until.unwrap_or_else(|| panic!("{user}")).parse().unwrap();
        assert_eq!(super::seconds(until), claims.exp + LeaseClaims::TOLERANCE, "{user}");
    }
    let running = held.values().filter(|until| until.is_string()).count();
    assert_eq!(running, leased.len());
    pair.end().await;
}

/// Whatever two nodes sign around a rotation, the set from before verifies it.
#[tokio::test(flavor = "multi_thread")]
async fn leases_verify_while_the_keys_are_rotated() {
    let pair = Pair::start().await;
    let users = ["ada", "bob", "cyd", "dan"];
    let Sold { license, product } =
        sold(&pair.callers[0], json!({ "maxLeaseSeconds": 3600 }), &users).await;
    let keys = embedded(&pair.callers[0]).await;
    let asking = users.into_iter().enumerate().map(|(at, user)| {
        let sold = Sold { license: license.clone(), product: product.clone() };
        let (caller, keys) = (&pair.callers[at % 2], &keys);
        until("the key on standby signs", async move || {
            let answer = sold.lease(caller, user, json!({})).await;
            let token = text(&answer["lease"]["token"]);
            LeaseClaims::verify(token, keys).unwrap();
            LeaseClaims::verify(token, &keys[1..]).is_ok()
        })
    });
    let set = pair.callers[0].get("/api/v1/signing-keys").await;
    assert_eq!(set.list()[1]["state"], "standby");
    let next = json!({ "standby": set.list()[1]["id"] });
    let rotated = pair.callers[0].post("/api/v1/admin/signing-keys/rotate", next);
    let (_, rotated) = tokio::join!(join_all(asking), rotated);
    rotated.data();
    pair.end().await;
}

/// The answer to who asks for a lease while a change of the license is under way.
async fn changed_meanwhile(app: &App, sold: &Sold, change: &'static str) -> Answer {
    app.validate("ada").await.data();
    let last_check =
        async || app.usage(&sold.license).await["activations"][0]["lastCheckedAt"].clone();
    let before = last_check().await;
    // The change is invisible until its commit, and no other request writes.
    let mut tx = app.db().begin().await.unwrap();
    tx.query(change).execute().await.unwrap();
    let (caller, body) = ((**app).clone(), json!({ "userId": "ada", "productId": sold.product }));
    let asked = tokio::spawn(async move { caller.post(super::LEASE, body).await });
    until("ada is validated", async || last_check().await != before).await;
    tx.commit().await.unwrap();
    asked.await.unwrap()
}

/// The decision is made again under the lock of the license.
#[tokio::test(flavor = "multi_thread")]
async fn a_license_that_is_suspended_meanwhile_gives_no_lease() {
    let app = App::start().await;
    let sold = sold(&app, json!({ "maxLeaseSeconds": 600 }), &["ada"]).await;
    let suspend = "update licenses set status = 'suspended'";
    assert_eq!(changed_meanwhile(&app, &sold, suspend).await.verdict(), "suspended");
    assert_eq!(noted(&app).await, 0);
}

/// Answer and lease are of one moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_license_that_is_changed_meanwhile_is_told_alike_in_both() {
    let app = App::start().await;
    let sold = sold(&app, json!({ "maxLeaseSeconds": 600, "features": ["old"] }), &["ada"]).await;
    let change = r#"update licenses set features = '["new"]'"#;
    let answer = changed_meanwhile(&app, &sold, change).await;
    let token = text(&answer["lease"]["token"]);
    let claims = LeaseClaims::verify(token, &embedded(&app).await).unwrap();
    assert_eq!(answer["features"], json!(["new"]));
    assert_eq!(json!(claims.features), answer["features"]);
}

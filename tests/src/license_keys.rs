//! License keys: the result of a claim, the response to a wrong key, and what support does with a
//! key.

use common::{LicenseKeyId, Mode, Role};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{App, Caller};
use crate::races::at_once;
use crate::terms::long_away;

/// An unknown key with a valid checksum.
const UNKNOWN: &str = "7KQ4M-0A1B1-C2D3E-4F5G6-7J8KX";

async fn new_key(app: &Caller, license: &str, terms: Value) -> (String, String) {
    let made = app.post(&format!("/api/v1/admin/licenses/{license}/keys"), terms).await;
    (made.id(), made.data()["key"].as_str().unwrap().to_owned())
}

async fn claim(app: &Caller, user: &str, key: &str) -> Value {
    let answer = app.post("/api/v1/claim", json!({ "userId": user, "key": key })).await;
    if answer.status == 200 { answer.data().clone() } else { answer.body["code"].clone() }
}

async fn record(app: &Caller, license: &str) -> Value {
    app.get(&format!("/api/v1/admin/licenses/{license}/keys")).await.list()[0].clone()
}

#[tokio::test]
async fn a_key_opens_its_license_however_it_is_typed() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 10 })).await;
    let (id, key) = new_key(&app, &license, json!({})).await;
    let validator = app.with_key(&app.new_key("default", Role::Validate, Mode::Live).await);
    let en_dashes = key.replace('-', "–").to_lowercase();
    let looks_alike = key.replace('0', "o").replace('1', "l");
    for (at, typed) in
        [key.clone(), en_dashes, looks_alike, key.replace('-', " "), format!(" {key}\r\n")]
            .iter()
            .enumerate()
    {
        let answer = claim(&validator, &format!("user-{at}"), typed).await;
        assert_eq!(answer["license"]["id"], *license, "{typed:?}");
        let validated = app.validate(&format!("user-{at}")).await;
        assert_eq!(validated.data()["activation"]["id"], answer["activation"]["id"]);
        assert_eq!(answer.as_object().unwrap().len(), validated.data().as_object().unwrap().len());
    }
    assert_eq!(app.usage(&license).await["activeSeats"], 5);
    let record = record(&app, &license).await;
    assert_eq!((record["id"].clone(), record["uses"].clone()), (json!(id), json!(5)));
    assert!(key.replace('-', "").ends_with(record["suffix"].as_str().unwrap()));
    let claimed = app.get(&format!("/api/v1/admin/licenses/{license}/assignments?key={id}")).await;
    assert_eq!(claimed.list().len(), 5);
    app.assign(&license, "assigned").await.data();
    let claimed = app.get(&format!("/api/v1/admin/licenses/{license}/assignments?key={id}")).await;
    assert_eq!(claimed.list().len(), 5, "and not who was assigned");
    let events = app.get(&format!("/api/v1/admin/events?subject={license}")).await;
    assert!(!events.body.to_string().contains(&key), "no event has the key");
    let of_first: Vec<_> =
        events.list().iter().filter(|it| it["related"]["externalId"] == "user-0").collect();
    let types: Vec<_> = of_first.iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["license.assigned", "license_key.claimed", "seat.taken"]);
}

/// An application may claim at each start: it costs what a validation costs, and changes nothing.
#[tokio::test]
async fn who_has_the_license_gets_the_answer_of_a_validation() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    let (id, key) = new_key(&app, &license, json!({ "maxUses": 1 })).await;
    let first = claim(&app, "ada", &key).await;
    let events = app.number("select count(*) from events").await;
    for _ in 0..2 {
        let again = claim(&app, "ada", &key).await;
        assert_eq!(again["activation"]["id"], first["activation"]["id"], "though it is used up");
        app.post(&format!("/api/v1/admin/license-keys/{id}/revoke"), json!(null)).await.data();
    }
    assert_eq!(claim(&app, "ada", &key).await["valid"], true, "though it is revoked");
    assert_eq!(claim(&app, "bob", &key).await, "license_key_revoked");
    app.set_status(&license, "suspended").await.data();
    assert_eq!(claim(&app, "ada", &key).await["reason"], "suspended");
    // The revocation and the suspension.
    assert_eq!(app.number("select count(*) from events").await, events + 2);
    assert_eq!(app.user("bob").await, json!(null), "a wrong key creates no user");
}

#[tokio::test]
async fn a_wrong_key_is_told_what_is_wrong() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 5 })).await;
    let license = app.license_of(&plan).await;
    let (_, key) = new_key(&app, &license, json!({ "maxUses": 1 })).await;
    assert_eq!(claim(&app, "ada", &key).await["valid"], true);
    assert_eq!(claim(&app, "bob", &key).await, "license_key_used_up");
    let explained = app.explain("ada").await;
    assert_eq!(explained["licenses"][0]["claimedWith"], record(&app, &license).await["id"]);
    assert_eq!(claim(&app, "bob", UNKNOWN).await, "license_key_not_found");
    let mistyped = UNKNOWN.replace("7KQ", "7QK");
    assert_eq!(claim(&app, "bob", &mistyped).await, "license_key_mistyped");
    assert_eq!(claim(&app, "bob", "no key of this kind").await, "license_key_not_found");
    assert_eq!(claim(&app, "bob", "short").await, "invalid_request");
    let other = app.product("Other").await;
    let body = json!({ "userId": "bob", "key": key, "productId": other });
    let answer = app.post("/api/v1/claim", body).await;
    assert_eq!(answer.body["code"], "license_key_of_another_product");
    assert_eq!(answer.status, 409);
    assert_eq!(app.user("bob").await, json!(null), "none of them creates a user");
}

/// A buyer is served by the bought license, whatever was there before.
#[tokio::test]
async fn a_claimed_license_comes_first() {
    let app = App::start().await;
    let trial = app.license(json!({ "features": ["trial"] })).await;
    app.assign(&trial, "ada").await.data();
    assert_eq!(app.validate("ada").await.data()["license"]["id"], *trial);
    for bought in ["basic", "pro"] {
        let license = app.license(json!({ "features": [bought] })).await;
        let (_, key) = new_key(&app, &license, json!({})).await;
        assert_eq!(claim(&app, "ada", &key).await["features"], json!([bought]));
        assert_eq!(app.validate("ada").await.data()["features"], json!([bought]));
        assert_eq!(app.explain("ada").await.data()["licenses"][0]["license"]["id"], *license);
    }
    // One that is not in force is assigned, behind the others, and gives its own reason.
    let license = app.license(json!({})).await;
    let (_, key) = new_key(&app, &license, json!({})).await;
    app.set_status(&license, "suspended").await.data();
    assert_eq!(claim(&app, "ada", &key).await["reason"], "suspended");
    assert_eq!(app.validate("ada").await.data()["features"], json!(["pro"]));
    assert_eq!(app.explain("ada").await.data()["licenses"][3]["license"]["id"], *license);
}

#[tokio::test]
async fn a_full_license_is_left_alone_and_a_use_comes_back() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&license, "holder").await.data();
    assert_eq!(app.validate("holder").await.verdict(), "valid");
    let (_, key) = new_key(&app, &license, json!({})).await;
    assert_eq!(record(&app, &license).await["usesLimit"], 1, "as many as the license has seats");
    assert_eq!(claim(&app, "ada", &key).await["reason"], "exceeded_seats");
    assert_eq!(app.user("ada").await, json!(null), "nothing was changed");
    app.unassign(&license, "holder").await.data();
    assert_eq!(claim(&app, "ada", &key).await["valid"], true);
    assert_eq!(claim(&app, "bob", &key).await, "license_key_used_up");
    app.delete_user("ada").await.data();
    assert_eq!(record(&app, &license).await["uses"], 0);
    assert_eq!(claim(&app, "bob", &key).await["valid"], true);
}

/// After the idle time was shortened, no seat is idle before the new time has passed, not for
/// claims either, because shipped applications still ask by the former time.
#[tokio::test]
async fn a_claim_takes_no_seat_over_before_its_time() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1, "seatIdleMinutes": 60 })).await;
    let (_, key) = new_key(&app, &license, json!({})).await;
    assert_eq!(claim(&app, "ada", &key).await["valid"], true);
    long_away(app.db(), "ada", 40).await;
    app.update(&license, json!({ "seatIdleMinutes": 30 })).await.data();
    assert_eq!(claim(&app, "bob", &key).await["reason"], "exceeded_seats");
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    long_away(app.db(), "ada", 40).await;
    assert_eq!(claim(&app, "eve", &key).await["valid"], true, "by now she is idle");
}

/// Of any number of concurrent claims for the last use of a key, one gets it.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_use_is_one() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 64 })).await;
    let (_, key) = new_key(&app, &license, json!({ "maxUses": 1 })).await;
    let claims = (0..64).map(|n| {
        let (app, key) = (app.clone(), key.clone());
        async move { claim(&app, &format!("user-{n}"), &key).await["valid"] == true }
    });
    let valid = at_once(claims).await.into_iter().filter(|it| *it).count();
    assert_eq!(valid, 1);
    assert_eq!(app.number("select count(*) from assignments").await, 1);
    assert_eq!(app.number("select count(*) from users").await, 1);
}

/// Concurrent claims of one user count as one.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_claims_once() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    let (_, key) = new_key(&app, &license, json!({ "maxUses": 1 })).await;
    let claims = (0..32).map(|_| {
        let (app, key) = (app.clone(), key.clone());
        async move { claim(&app, "ada", &key).await["valid"] == true }
    });
    assert!(at_once(claims).await.into_iter().all(|it| it));
    assert_eq!(app.usage(&license).await["activeSeats"], 1);
}

#[tokio::test]
async fn a_brought_key_belongs_to_one_license() {
    let app = App::start().await;
    let (license, other) = (app.license(json!({})).await, app.license(json!({})).await);
    let keys = |license: &str| format!("/api/v1/admin/licenses/{license}/keys");
    let brought = json!({ "key": "C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3" });
    let made = app.post(&keys(&license), brought.clone()).await;
    assert_eq!((made.status, made.data()["suffix"].clone()), (201, json!("4AF593")));
    let again = app.post(&keys(&license), brought.clone()).await;
    assert_eq!((again.status, again.id()), (200, made.id()));
    let differs = json!({ "key": brought["key"], "maxUses": 3 });
    assert_eq!(app.post(&keys(&license), differs).await.status, 409);
    let refused = app.post(&keys(&other), brought.clone()).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body["error"].as_str().unwrap().contains(&license), "{refused}");
    let short = json!({ "key": "ABCD-1234" });
    assert_eq!(app.post(&keys(&other), short).await.body["field"], "key");
    let short = json!({ "key": "ABCD-1234", "allowShort": true });
    assert_eq!(app.post(&keys(&other), short).await.status, 201);
    assert_eq!(claim(&app, "ada", "abcd1234").await["license"]["id"], *other);
    assert_eq!(claim(&app, "ada", "c1b6de39a6e3de15298559a04af593v3").await["valid"], true);
}

/// Lost or leaked: the record stays, and its text is another.
#[tokio::test]
async fn a_reissued_key_replaces_its_text() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let (id, key) = new_key(&app, &license, json!({ "maxUses": 2 })).await;
    assert_eq!(claim(&app, "ada", &key).await["valid"], true);
    let reissue = format!("/api/v1/admin/license-keys/{id}/reissue");
    let reissued = app.post(&reissue, json!(null)).await;
    assert_eq!((reissued.id(), reissued.data()["uses"].clone()), (id.clone(), json!(1)));
    let new = reissued.data()["key"].as_str().unwrap();
    assert_eq!(claim(&app, "bob", &key).await, "license_key_revoked");
    assert_eq!(claim(&app, "ada", &key).await["valid"], true, "who has it keeps it");
    assert_eq!(claim(&app, "bob", new).await["valid"], true);
    assert_eq!(claim(&app, "eve", new).await, "license_key_used_up", "the uses are counted on");
    let list = app.get(&format!("/api/v1/admin/licenses/{license}/keys")).await;
    assert_eq!(list.list().len(), 1);
    app.post(&format!("/api/v1/admin/license-keys/{id}/revoke"), json!(null)).await.data();
    assert_eq!(app.post(&reissue, json!(null)).await.status, 409);
}

#[tokio::test]
async fn support_finds_a_key_by_its_end_and_by_the_whole() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let (id, key) = new_key(&app, &license, json!({})).await;
    let end = &key[key.len() - 7..];
    let (group, four) = (&key[key.len() - 5..], &key[key.len() - 4..]);
    let long = &key[key.len() - 11..];
    for typed in [end, &end.to_lowercase(), &end.replace('-', ""), group, four, long] {
        let found = app.get(&format!("/api/v1/admin/license-keys?search={typed}")).await;
        assert_eq!(found.each("id"), [&*id], "{typed}");
    }
    let other = app.get("/api/v1/admin/license-keys?search=000000").await;
    assert!(other.list().is_empty());
    let few = app.get("/api/v1/admin/license-keys?search=7J-8").await;
    assert_eq!(few.refusal(), "400 invalid_request search");
    let brought = |key: &str| json!({ "key": key, "allowShort": true });
    let keys = format!("/api/v1/admin/licenses/{license}/keys");
    assert_eq!(app.post(&keys, brought("SHORT-123")).await["suffix"], json!(null));
    app.post(&keys, brought("TWELVE-WXYZ12")).await.data();
    for (end, found) in [("T-123", 0), ("XYZ12", 1), ("XAZ13", 0)] {
        let search = format!("/api/v1/admin/license-keys?search={end}");
        assert_eq!(app.get(&search).await.list().len(), found, "{end}");
    }
    assert_eq!(app.get("/api/v1/admin/license-keys").await.body["field"], "search");
    let reader = app.with_key(&app.new_key("default", Role::Read, Mode::Live).await);
    let find = |key: &str| json!({ "key": key });
    let found = reader.post("/api/v1/admin/license-keys/find", find(&key.to_lowercase())).await;
    assert_eq!((found.id(), found.data()["key"].clone()), (id, json!(null)));
    let unknown = reader.post("/api/v1/admin/license-keys/find", find(UNKNOWN)).await;
    assert_eq!((unknown.status, &unknown.body["code"]), (404, &json!("license_key_not_found")));
}

/// Only failures count, of claims and of support's look-ups alike; keys that licd makes are always
/// looked up.
#[tokio::test]
async fn guesses_are_held_up_and_keys_of_licd_are_not() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let (_, key) = new_key(&app, &license, json!({})).await;
    let brought = json!({ "key": "ABCD-1234", "allowShort": true });
    new_key(&app, &license, brought).await;
    let reader = app.with_key(&app.new_key("default", Role::Read, Mode::Live).await);
    let find = async |guess: String| {
        let found = reader.post("/api/v1/admin/license-keys/find", json!({ "key": guess })).await;
        found.body["code"].clone()
    };
    assert_eq!(claim(&app, "bob", "ABCD-1234").await["valid"], true);
    let mut told = Vec::new();
    for guess in 0..20 {
        told.push(claim(&app, "eve", &format!("ABCD-{guess:04}")).await);
        told.push(find(format!("ABCD-{:04}", 9000 + guess)).await);
    }
    assert_eq!(told[..10], vec![json!("license_key_not_found"); 10]);
    assert!(told[12..].iter().filter(|it| **it == "rate_limited").count() > 20, "{told:?}");
    let limited = app.post("/api/v1/claim", json!({ "userId": "eve", "key": "ABCD-1234" })).await;
    if limited.status == 429 {
        assert!(limited.number("retry-after") <= 6);
    }
    assert_eq!(claim(&app, "ada", &key).await["valid"], true, "a made key is always looked up");
    let typo = claim(&app, "eve", UNKNOWN).await;
    assert_eq!(typo, "license_key_not_found");
}

/// Users behind one address who start at the same moment, each with a right key.
#[tokio::test(flavor = "multi_thread")]
async fn right_keys_at_once_are_not_held_up() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let brought = json!({ "key": "OFFICE-KEY-2024", "maxUses": 100 });
    new_key(&app, &license, brought).await;
    let claims = (0..60).map(|user| {
        let app = (*app).clone();
        async move { claim(&app, &format!("user-{user}"), "office key 2024").await }
    });
    let answers = at_once(claims).await;
    assert!(answers.iter().all(|answer| answer["valid"] == true), "{answers:?}");
}

/// A key is shown once, also to who repeats the request.
#[tokio::test]
async fn a_lost_answer_is_not_shown_again() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}/keys");
    let send = async || {
        let with = |request: reqwest::RequestBuilder| {
            request.header("Idempotency-Key", "order-7").json(&json!({}))
        };
        app.send(Method::POST, &path, with).await
    };
    assert_eq!(send().await.status, 201);
    let again = send().await;
    assert_eq!((again.status, &again.body["code"]), (409, &json!("conflict")));
    assert_eq!(app.get(&path).await.list().len(), 1);
}

/// The key may be sold, and its buyer has not typed it yet.
#[tokio::test]
async fn a_license_that_could_still_be_claimed_is_not_deleted() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}");
    let (id, key) = new_key(&app, &license, json!({})).await;
    let refused = app.delete(&path).await;
    assert_eq!(refused.refusal(), "409 conflict");
    let end = key.replace('-', "");
    let said = refused.body["error"].as_str().unwrap();
    assert!(said.contains(&end[end.len() - 6..]), "{said}");
    assert_eq!(app.delete(&format!("{path}?keys=keep")).await.status, 400);

    // A license without claimable keys is deleted.
    for change in [
        "update license_keys set revoked_at = created_at where id = $1",
        "update license_keys set expires_at = created_at where id = $1",
    ] {
        let other = app.license(json!({})).await;
        let (id, _) = new_key(&app, &other, json!({})).await;
        let id = id.parse::<LicenseKeyId>().unwrap();
        app.db().write().await.unwrap().query(change).bind(id).execute().await.unwrap();
        app.delete(&format!("/api/v1/admin/licenses/{other}")).await.data();
    }

    let deleted = app.delete(&format!("{path}?keys=revoke")).await;
    assert_eq!(deleted.id(), license);
    assert_eq!(claim(&app, "ada", &key).await, "license_key_not_found");
    assert_eq!(app.number("select count(*) from license_keys").await, 0);
    let events = app.get("/api/v1/admin/events?limit=1000").await;
    let events: Vec<_> = events.each("type").into_iter().rev().take(2).map(str::to_owned).collect();
    assert_eq!(events, ["license.deleted", "license_key.revoked"], "{id}");
}

//! Leases: their content, their conditions, and the seats that they hold.

mod allowance;
mod races;
mod seats;

use common::{Jwk, LeaseClaims, Mode, Role, Timestamp};
use serde_json::{Value, json};

use crate::harness::{Answer, App, Caller};

const LEASE: &str = "/api/v1/lease";
const EVENTS: &str = "/api/v1/admin/events?type=lease.issued";

/// An application's view of a license: its product.
struct Sold {
    license: String,
    product: Value,
}

/// A license on these terms, its users, and signing keys.
async fn sold(app: &Caller, terms: Value, users: &[&str]) -> Sold {
    app.post("/api/v1/admin/signing-keys", json!(null)).await;
    let license = app.license(terms).await;
    for user in users {
        app.assign(&license, user).await.data();
    }
    let product = app.get_license(&license).await["productId"].clone();
    Sold { license, product }
}

impl Sold {
    async fn lease(&self, caller: &Caller, user: &str, wish: Value) -> Answer {
        let mut body = json!({ "userId": user, "productId": self.product });
        body.as_object_mut().unwrap().extend(wish.as_object().unwrap().clone());
        caller.post(LEASE, body).await
    }
}

/// The keys that an application embeds.
async fn embedded(caller: &Caller) -> Vec<Jwk> {
    let set = caller.get("/api/v1/signing-keys").await;
    set.list().iter().map(|key| serde_json::from_value(key["jwk"].clone()).unwrap()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn time(value: &Value) -> Timestamp {
    text(value).parse().unwrap()
}

fn seconds(time: Timestamp) -> i64 {
    time.millis() as i64 / 1000
}

async fn noted(app: &App) -> i64 {
    app.number("select count(*) from assignments where leased_until is not null").await
}

#[tokio::test]
async fn a_lease_says_what_the_validation_said_and_its_seat_shows_it() {
    let app = App::start().await;
    let terms = json!({ "maxSeats": 1, "maxLeaseSeconds": 86400, "features": ["export"] });
    let sold = sold(&app, terms, &["ada"]).await;
    let asker = app.asker().await;
    let answer = sold.lease(&asker, "ada", json!({ "device": "desk" })).await;
    let validated = asker.validate("ada").await;
    for member in ["valid", "license", "features"] {
        assert_eq!(answer[member], validated[member], "{member}");
    }
    assert_eq!(answer["activation"]["id"], validated["activation"]["id"]);
    let lease = &answer["lease"];
    let keys = embedded(&asker).await;
    let claims = LeaseClaims::verify(text(&lease["token"]), &keys).unwrap();
    let (issued, end) = (time(&lease["issuedAt"]), time(&lease["expiresAt"]));
    assert_eq!((claims.iat, claims.exp), (seconds(issued), seconds(end)));
    assert_eq!(claims.exp - claims.iat, 86400);
    assert_eq!(seconds(time(&lease["renewAfter"])) - claims.iat, 43200);
    let said = serde_json::to_value(&claims).unwrap();
    assert_eq!(said["jti"], lease["id"]);
    assert_eq!((&said["sub"], &said["aud"]), (&json!("ada"), &sold.product));
    assert_eq!((&said["mode"], &said["device"]), (&json!("live"), &json!("desk")));
    assert_eq!(said["licenseId"], json!(sold.license));
    assert_eq!(said["planId"], answer["license"]["planId"]);
    assert_eq!(said["features"], json!(["export"]));
    assert_eq!(said["licenseExpiresAt"], answer["license"]["expiresAt"]);
    let held = json!(end.plus(chrono::TimeDelta::seconds(300)));
    let path = format!("/api/v1/admin/licenses/{}/assignments", sold.license);
    assert_eq!(app.get(&path).await.list()[0]["activation"]["leasedUntil"], held);
    assert_eq!(app.usage(&sold.license).await["activations"][0]["leasedUntil"], held);
    assert_eq!(answer["activation"].get("leasedUntil"), None);
}

/// Renewals are silent, as checks are; another machine is news.
#[tokio::test]
async fn an_event_tells_of_a_lease_on_a_machine_once() {
    let app = App::start().await;
    let sold = sold(&app, json!({ "maxLeaseSeconds": 600 }), &["ada"]).await;
    for device in ["desk", "desk", "laptop"] {
        let answer = sold.lease(&app, "ada", json!({ "device": device })).await;
        assert!(answer["lease"].is_object(), "{answer}");
    }
    let events = app.get(EVENTS).await;
    let told: Vec<_> = events.list().iter().map(|it| &it["data"]["object"]["device"]).collect();
    assert_eq!(told, ["desk", "laptop"]);
    assert!(!events.body.to_string().contains("eyJ"), "no token is in an event");
}

/// Each with what it is about, what is asked, and as whom.
#[tokio::test]
async fn who_gets_a_lease_and_for_how_long() {
    let app = App::start().await;
    let offering = json!({ "maxLeaseSeconds": 600 });
    let floating = json!({ "maxLeaseSeconds": 600, "seatIdleMinutes": 5, "maxSeats": 9 });
    let (day, short) = (json!({ "ttlSeconds": 86400 }), json!({ "ttlSeconds": 60 }));
    let cases = [
        (json!({}), &json!({}), "not_offered", "not_offered"),
        (json!({}), &day, "not_offered", "86400"),
        (offering.clone(), &json!({}), "600", "600"),
        (offering.clone(), &day, "600", "86400"),
        (offering, &short, "60", "60"),
        (floating.clone(), &json!({}), "not_offered", "not_offered"),
        (floating.clone(), &day, "600", "86400"),
        (floating, &short, "60", "60"),
    ];
    let asker = app.asker().await;
    for (terms, wish, shipped, admin) in cases {
        let sold = sold(&app, terms.clone(), &["ada"]).await;
        for (caller, expected) in [(&asker, shipped), (&app, admin)] {
            let answer = sold.lease(caller, "ada", wish.clone()).await;
            let lease = &answer["lease"];
            let got = match lease.is_null() {
                true => text(&answer["leaseReason"]).to_owned(),
                false => (time(&lease["expiresAt"]).since(time(&lease["issuedAt"])))
                    .num_seconds()
                    .to_string(),
            };
            assert_eq!(got, expected, "{terms} {wish}");
            assert_eq!(lease.is_null(), answer.data().get("leaseReason").is_some());
        }
        app.unassign_dropping(&sold.license, "ada").await.data();
    }
    let wrong = json!({ "userId": "ada" });
    assert_eq!(asker.post(LEASE, wrong).await.refusal(), "400 invalid_request productId");
    let reader = app.reader().await;
    let body = json!({ "userId": "ada", "productId": app.product("Other").await });
    assert_eq!(reader.post(LEASE, body.clone()).await.status, 403);
    assert_eq!(asker.post(LEASE, body).await.verdict(), "no_license");
}

#[tokio::test]
async fn a_lease_ends_with_the_license_and_its_grace() {
    let app = App::start().await;
    let offering = json!({ "maxLeaseSeconds": 86400, "graceDays": 1 });
    let sold = sold(&app, offering, &["ada"]).await;
    let end = |seconds| json!(Timestamp::now().plus(chrono::TimeDelta::seconds(seconds)));
    app.update(&sold.license, json!({ "expiresAt": end(-60) })).await.data();
    let in_grace = sold.lease(&app, "ada", json!({})).await;
    let last = app.get_license(&sold.license).await["expiresAt"].clone();
    let last = time(&last).plus(chrono::TimeDelta::days(1));
    assert_eq!(seconds(time(&in_grace["lease"]["expiresAt"])), seconds(last));
    let ending = json!({ "expiresAt": end(30), "clear": ["graceDays"] });
    app.update(&sold.license, ending).await.data();
    let ending = sold.lease(&app, "ada", json!({})).await;
    assert_eq!((&ending["valid"], &ending["leaseReason"]), (&json!(true), &json!("ends_soon")));
}

/// Nothing is noted on a seat whose lease cannot be signed.
#[tokio::test]
async fn a_lease_that_cannot_be_signed_changes_nothing() {
    let app = App::start().await;
    let sold = sold(&app, json!({ "maxLeaseSeconds": 600 }), &["ada"]).await;
    let test = app.caller(Role::Admin, Mode::Test).await;
    let unsigned = test.license(json!({ "maxLeaseSeconds": 600 })).await;
    test.assign(&unsigned, "ada").await.data();
    let product = test.get_license(&unsigned).await["productId"].clone();
    let body = json!({ "userId": "ada", "productId": product });
    let answer = test.post(LEASE, body).await;
    assert_eq!((answer.verdict(), text(&answer["leaseReason"])), ("valid", "no_signing_key"));
    let long: Vec<_> = (0..100).map(|n| format!("{n:02}{}", "\u{10ffff}".repeat(98))).collect();
    app.update(&sold.license, json!({ "features": long })).await.data();
    let answer = sold.lease(&app, "ada", json!({})).await;
    assert_eq!(answer["leaseReason"], "too_large");
    assert_eq!(noted(&app).await, 0);
    let app = App::without_secret_key(app.close().await).await;
    app.update(&sold.license, json!({ "features": [] })).await.data();
    let answer = sold.lease(&app, "ada", json!({})).await;
    assert_eq!(answer["leaseReason"], "no_signing_key");
    assert_eq!((noted(&app).await, app.get(EVENTS).await.list().len()), (0, 0));
}

/// An application that embedded the set before a rotation still verifies leases that are signed
/// after it.
#[tokio::test]
async fn a_lease_after_a_rotation_verifies_with_the_keys_of_before() {
    let app = App::start().await;
    let sold = sold(&app, json!({ "maxLeaseSeconds": 600 }), &["ada"]).await;
    let keys = embedded(&app).await;
    let mut signers = Vec::new();
    for _ in 0..2 {
        let answer = sold.lease(&app, "ada", json!({})).await;
        let token = text(&answer["lease"]["token"]).to_owned();
        LeaseClaims::verify(&token, &keys).unwrap();
        signers.push(token.split('.').next().unwrap().to_owned());
        let set = app.get("/api/v1/signing-keys").await;
        let standby = set.list().iter().find(|key| key["state"] == "standby").unwrap();
        let next = json!({ "standby": standby["id"] });
        app.post("/api/v1/admin/signing-keys/rotate", next).await.data();
    }
    assert_ne!(signers[0], signers[1]);
    let answer = sold.lease(&app, "ada", json!({})).await;
    assert!(LeaseClaims::verify(text(&answer["lease"]["token"]), &keys).is_err(), "two rotations");
}

/// A refused user gets what a validation answers, to the letter.
#[tokio::test]
async fn a_refused_user_gets_no_lease() {
    let app = App::start().await;
    let sold = sold(&app, json!({ "maxLeaseSeconds": 600 }), &["ada"]).await;
    app.set_status(&sold.license, "suspended").await.data();
    let answer = sold.lease(&app, "ada", json!({})).await;
    assert_eq!(*answer.data(), json!({ "valid": false, "reason": "suspended" }));
    assert_eq!(noted(&app).await, 0);
}

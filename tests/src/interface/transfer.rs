//! `POST /api/v1/admin/licenses/{id}/transfer`: a license goes to a colleague, with its seat.

use futures_util::future::join;
use serde_json::{Value, json};

use crate::harness::{Answer, App, Caller};
use crate::nodes::Pair;

async fn transfer(caller: &Caller, license: &str, from: &str, to: &str) -> Answer {
    let body = json!({ "fromUserId": from, "toUserId": to });
    caller.post(&format!("/api/v1/admin/licenses/{license}/transfer"), body).await
}

/// A license of one seat, which ada holds, and for which bob waits.
async fn one_seat(app: &App) -> String {
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "bob"] {
        app.assign(&license, user).await.data();
        app.validate(user).await;
    }
    license
}

#[tokio::test]
async fn a_license_goes_over_with_its_seat() {
    let app = App::start().await;
    let license = one_seat(&app).await;
    let metadata = json!({ "userId": "ada", "metadata": { "desk": 7 } });
    app.post(&format!("/api/v1/admin/licenses/{license}/assign"), metadata).await.data();
    let handed = transfer(&app, &license, "ada", "eve").await;
    let eve = app.user("eve").await;
    assert_eq!((&handed["externalId"], &handed["userId"]), (&json!("eve"), &eve["id"]));
    assert_eq!(handed["metadata"], json!({ "desk": 7 }));
    assert_eq!(handed["activation"]["userId"], eve["id"]);
    for (user, verdict) in [("ada", "no_license"), ("bob", "exceeded_seats"), ("eve", "valid")] {
        assert_eq!(app.validate(user).await.verdict(), verdict, "{user}");
    }
    let usage = app.usage(&license).await;
    assert_eq!(usage["activeSeats"], 1);
    assert_eq!(usage["activations"][0]["id"], handed["activation"]["id"]);
    let events = app.get("/api/v1/admin/events?order=newest&limit=5").await;
    let kinds: Vec<&Value> = events.list().iter().map(|event| &event["type"]).collect();
    let order =
        ["seat.taken", "license.assigned", "license.unassigned", "seat.freed", "user.created"];
    assert_eq!(kinds, order);
    assert_eq!(events.list()[3]["data"]["reason"], "transferred");
}

/// A waiting user gets the seat. A user who has one, or would get none, cannot receive it.
#[tokio::test]
async fn who_is_assigned_already_gets_the_seat_alone() {
    let app = App::start().await;
    let license = one_seat(&app).await;
    for (from, to, refusal) in [
        ("ada", "ada", "409 conflict"),
        ("bob", "ada", "409 conflict"),
        ("eve", "ada", "404 not_found"),
        ("eve", "mia", "404 not_found"),
    ] {
        let refused = transfer(&app, &license, from, to).await;
        assert_eq!(refused.refusal(), refusal, "{from} {to}");
    }
    assert!(app.user("mia").await.is_null(), "a refused transfer creates no user");
    let before = app.get(&format!("/api/v1/admin/licenses/{license}/assignments")).await;
    let handed = transfer(&app, &license, "ada", "bob").await;
    assert_eq!(handed["id"], before.list()[1]["id"]);
    assert_eq!(app.validate("bob").await.verdict(), "valid");
    assert_eq!(app.usage(&license).await["activeSeats"], 1);
    let unknown = "lic_01h455vb4pex5vsknk084sn02q";
    assert_eq!(transfer(&app, unknown, "bob", "ada").await.refusal(), "404 not_found");
}

/// Without a seat the assignment goes over, in its place among those of the user, and with the use
/// of the key that it was claimed with.
#[tokio::test]
async fn a_claimed_license_without_a_seat_goes_over() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    let keys = format!("/api/v1/admin/licenses/{license}/keys");
    let key = app.post(&keys, json!({ "maxUses": 1 })).await["key"].clone();
    let trial = app.license(json!({})).await;
    for user in ["ada", "eve"] {
        app.assign(&trial, user).await.data();
    }
    app.post("/api/v1/claim", json!({ "userId": "ada", "key": key })).await.data();
    let release = format!("/api/v1/admin/licenses/{license}/release");
    app.post(&release, json!({ "userId": "ada" })).await.data();
    assert_eq!(transfer(&app, &license, "ada", "eve").await["activation"], json!(null));
    assert_eq!(app.validate("eve").await["license"]["id"], *license, "claimed ones come first");
    let claim = app.post("/api/v1/claim", json!({ "userId": "mia", "key": key })).await;
    assert_eq!(claim.body["code"], "license_key_used_up");
}

/// The seat goes to and fro over two nodes, while others ask for it all the time.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_a_seat_that_is_handed_over() {
    let pair = Pair::start().await;
    let [here, there] = &pair.callers;
    let license = here.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "bob"] {
        here.assign(&license, user).await.data();
    }
    assert_eq!(here.validate("ada").await.verdict(), "valid");
    let handing = async {
        for round in 0..20 {
            let (from, to) = if round % 2 == 0 { ("ada", "eve") } else { ("eve", "ada") };
            transfer(here, &license, from, to).await.data();
            let meanwhile = join(here.validate(to), there.validate(from)).await;
            assert_eq!(meanwhile.0.verdict(), "valid", "{to}");
            assert_eq!(meanwhile.1.verdict(), "no_license", "{from}");
        }
    };
    let asking = async {
        for _ in 0..60 {
            assert_eq!(there.validate("bob").await.verdict(), "exceeded_seats");
        }
    };
    join(handing, asking).await;
    assert_eq!(there.usage(&license).await["activeSeats"], 1);
    assert_eq!(there.get_license(&license).await["seats"]["used"], 1);
}

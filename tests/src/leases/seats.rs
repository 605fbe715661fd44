//! The seats that leases hold: no other user gets them before the end, unless a request drops the
//! lease.

use chrono::TimeDelta;
use common::Timestamp;
use reqwest::Method;
use serde_json::json;

use super::{Sold, noted, seconds, sold, text, time};
use crate::harness::{Answer, App, Caller};
use crate::terms::long_away;

/// The requests that take ada's seat away, each with `query`; and then whether she has it still.
async fn taken_away(app: &Caller, sold: &Sold, which: &str, query: &str) -> Answer {
    let license = format!("/api/v1/admin/licenses/{}", sold.license);
    let user = app.user("ada").await["id"].as_str().unwrap_or_default().to_owned();
    let (ada, user) = (json!({ "userId": "ada" }), format!("/api/v1/admin/users/{user}{query}"));
    match which {
        "unassign" => app.delete(&format!("{license}/assign/ada{query}")).await,
        "by query" => {
            let query = query.replace('?', "&");
            app.delete(&format!("{license}/assign?userId=ada{query}")).await
        }
        "release" => app.post(&format!("{license}/release{query}"), ada).await,
        "transfer" => {
            let body = json!({ "fromUserId": "ada", "toUserId": "bob" });
            app.post(&format!("{license}/transfer{query}"), body).await
        }
        "delete" => app.delete(&user).await,
        "rename" => app.patch(&user, json!({ "externalId": "ada2" })).await,
        which => panic!("{which}"),
    }
}

const ALL: [&str; 6] = ["unassign", "by query", "release", "transfer", "delete", "rename"];

#[tokio::test]
async fn a_seat_with_a_lease_is_taken_away_only_by_who_says_so() {
    for which in ALL {
        let app = App::start().await;
        let sold = sold(&app, json!({ "maxSeats": 1, "maxLeaseSeconds": 600 }), &["ada"]).await;
        let answer = sold.lease(&app, "ada", json!({})).await;
        let until = time(&answer["lease"]["expiresAt"]).plus(TimeDelta::seconds(300));
        let before = app.get("/api/v1/admin/events").await.list().len();
        let refused = taken_away(&app, &sold, which, "").await;
        assert_eq!(refused.refusal(), "409 lease_running", "{which}");
        let said = refused.body["error"].as_str().unwrap();
        assert!(said.contains(&until.to_string()), "{which}: {said}");
        assert_eq!(app.get("/api/v1/admin/events").await.list().len(), before, "{which}");
        assert_eq!(noted(&app).await, 1, "{which}");
        let wrong = taken_away(&app, &sold, which, "?leases=keep").await;
        assert_eq!(wrong.refusal(), "400 invalid_request leases", "{which}");
        taken_away(&app, &sold, which, "?leases=drop").await.data();
        assert_eq!(noted(&app).await, 0, "{which}");
        let events = app.get("/api/v1/admin/events?type=lease.dropped").await;
        let dropped = &events.list()[0]["data"]["object"];
        assert_eq!(seconds(time(&dropped["leasedUntil"])), seconds(until), "{which}");
        let held = i64::from(matches!(which, "transfer" | "rename"));
        assert_eq!(app.get_license(&sold.license).await["seats"]["used"], held, "{which}");
    }
}

/// A lease that has ended holds nothing, and neither does the query.
#[tokio::test]
async fn without_a_running_lease_nothing_is_dropped() {
    for (which, query) in ALL.into_iter().flat_map(|it| [(it, ""), (it, "?leases=drop")]) {
        let app = App::start().await;
        let sold = sold(&app, json!({ "maxSeats": 1, "maxLeaseSeconds": 600 }), &["ada"]).await;
        sold.lease(&app, "ada", json!({})).await.data();
        end_leases(&app, 1).await;
        taken_away(&app, &sold, which, query).await.data();
        assert!(app.get("/api/v1/admin/events?type=lease.dropped").await.list().is_empty());
    }
}

/// Ends all leases this many seconds ago, including their tolerance.
async fn end_leases(app: &App, seconds: i64) {
    let ended = Timestamp::now().plus(-TimeDelta::seconds(seconds));
    let mut conn = app.db().write().await.unwrap();
    let sql = "update assignments set leased_until = $1 where leased_until is not null";
    conn.query(sql).bind(ended).execute().await.unwrap();
    conn.query("update licenses set seats_idle_at = null").execute().await.unwrap();
}

/// The longer lease is still out there.
#[tokio::test]
async fn a_shorter_lease_frees_no_seat_earlier() {
    let app = App::start().await;
    let sold = sold(&app, json!({ "maxLeaseSeconds": 86400 }), &["ada"]).await;
    let until = async || app.usage(&sold.license).await["activations"][0]["leasedUntil"].clone();
    sold.lease(&app, "ada", json!({ "device": "desk" })).await.data();
    let longer = until().await;
    let short = sold.lease(&app, "ada", json!({ "ttlSeconds": 60, "device": "desk" })).await;
    assert!(short["lease"].is_object(), "{short}");
    assert_eq!(until().await, longer);
}

const OFFLINE: &str = r#"{ "ttlSeconds": 3600 }"#;

/// Creates a floating license with this many seats, whose first user is offline.
async fn with_one_offline(app: &App, seats: i32, users: &[&str]) -> Sold {
    let terms = json!({ "maxSeats": seats, "seatIdleMinutes": 5, "maxLeaseSeconds": 86400 });
    let sold = sold(app, terms, users).await;
    let wish = serde_json::from_str(OFFLINE).unwrap();
    let answer = sold.lease(app, users[0], wish).await;
    assert!(answer["lease"].is_object(), "{answer}");
    sold
}

/// A user who is offline does not check, but the seat is in use.
#[tokio::test]
async fn nobody_takes_the_seat_of_who_is_offline() {
    let app = App::start().await;
    let sold = with_one_offline(&app, 1, &["ada", "bob"]).await;
    long_away(app.db(), "ada", 60).await;
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats");
    let explained = app.explain("bob").await;
    assert_eq!(explained["licenses"][0]["verdict"], "exceeded_seats", "{explained}");
    let own = app.explain("ada").await["licenses"][0].clone();
    let until = &app.usage(&sold.license).await["activations"][0]["leasedUntil"];
    assert_eq!(&own["activation"]["leasedUntil"], until);
    let offline = format!("Offline a lease licenses the user until {}.", text(until));
    assert!(text(&own["sentence"]).ends_with(&offline), "{own}");
    end_leases(&app, 10).await;
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats", "a margin for clocks");
    end_leases(&app, 31).await;
    assert_eq!(app.validate("bob").await.verdict(), "valid");
    assert_eq!((noted(&app).await, app.validate("ada").await.verdict()), (0, "exceeded_seats"));
    assert_eq!(app.get_license(&sold.license).await["seats"]["used"], 1);
}

/// The next seat is one that is both idle and without a lease, whichever comes first.
#[tokio::test]
async fn a_full_license_knows_when_a_lease_ends() {
    let app = App::start().await;
    let sold = with_one_offline(&app, 2, &["ada", "bob", "cyd"]).await;
    long_away(app.db(), "ada", 60).await;
    app.validate("bob").await.data();
    assert_eq!(app.validate("cyd").await.verdict(), "exceeded_seats");
    let holders = app.explain("cyd").await["licenses"][0]["remedies"][0]["holders"].clone();
    assert_eq!([&holders[0]["externalId"], &holders[1]["externalId"]], ["bob", "ada"]);
    let next: Vec<(Timestamp,)> = app.rows("select seats_idle_at from licenses").await;
    let waits = next[0].0.since(Timestamp::now());
    assert!(waits > TimeDelta::minutes(4) && waits < TimeDelta::minutes(6), "{waits}: bob's");
    long_away(app.db(), "bob", 6).await;
    assert_eq!(app.validate("cyd").await.verdict(), "valid", "bob's seat, though ada's is older");
    assert_eq!(app.validate("ada").await.verdict(), "valid");
    let wish = serde_json::from_str(OFFLINE).unwrap();
    sold.lease(&app, "cyd", wish).await.data();
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats");
    let next: Vec<(Timestamp,)> = app.rows("select seats_idle_at from licenses").await;
    let waits = next[0].0.since(Timestamp::now());
    assert!(waits > TimeDelta::minutes(60) && waits < TimeDelta::minutes(67), "{waits}");
}

/// Without the lease of a former id, a seat is idle as any other is.
#[tokio::test]
async fn the_seat_of_a_renamed_user_comes_free() {
    let app = App::start().await;
    let sold = with_one_offline(&app, 1, &["ada", "bob"]).await;
    assert_eq!(app.validate("bob").await.verdict(), "exceeded_seats", "until the lease ends");
    taken_away(&app, &sold, "rename", "?leases=drop").await.data();
    let next: Vec<(Timestamp,)> = app.rows("select seats_idle_at from licenses").await;
    let waits = next[0].0.since(Timestamp::now());
    assert!(waits <= TimeDelta::minutes(5), "{waits}");
}

#[tokio::test]
async fn an_application_that_ends_keeps_a_seat_that_is_leased() {
    let app = App::start().await;
    let sold = with_one_offline(&app, 1, &["ada", "bob"]).await;
    let answer = app.asker().await.post("/api/v1/release", json!({ "userId": "ada" })).await;
    assert_eq!(answer["released"], json!([]));
    assert_eq!(answer["leased"][0]["licenseId"], json!(sold.license));
    assert_eq!(app.get_license(&sold.license).await["seats"]["used"], 1);
    end_leases(&app, 1).await;
    let answer = app.post("/api/v1/release", json!({ "userId": "ada" })).await;
    assert_eq!(*answer.data(), json!({ "released": [{ "licenseId": sold.license }] }));
}

/// A request without the query and one with the query are two requests.
#[tokio::test]
async fn an_idempotency_key_covers_the_query() {
    let app = App::start().await;
    let sold = sold(&app, json!({ "maxLeaseSeconds": 600 }), &["ada"]).await;
    let path = format!("/api/v1/admin/licenses/{}/assign/ada", sold.license);
    let send = async |path: &str| {
        app.send(Method::DELETE, path, |request| request.header("Idempotency-Key", "k")).await
    };
    let dropped = format!("{path}?leases=drop");
    send(&dropped).await.data();
    assert_eq!(send(&path).await.refusal(), "422 idempotency_key_reused");
    send(&dropped).await.data();
}

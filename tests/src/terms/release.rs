//! Seats that are given back: by the application, and by an administrator.

use serde_json::{Value, json};

use super::{floating, seats_used};
use crate::harness::{Answer, App};

const RELEASE: &str = "/api/v1/release";

fn released(answer: &Answer) -> Vec<Value> {
    let released = answer["released"].as_array().unwrap();
    released.iter().map(|seat| seat["licenseId"].clone()).collect()
}

#[tokio::test]
async fn an_application_gives_back_floating_seats_alone() {
    let app = App::start().await;
    let license = floating(&app, 1, &["ada", "bob"]).await;
    let named = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&named, "ada").await.data();
    app.validate("ada").await.data();
    let product = app.get_license(&named).await["productId"].clone();
    app.validate_for("ada", &product).await.data();
    let asker = app.asker().await;
    let body = json!({ "userId": "ada", "productId": product, "later": 1 });
    assert_eq!(released(&asker.post(RELEASE, body).await), Vec::<Value>::new());
    let answer = asker.post(RELEASE, json!({ "userId": "ada" })).await;
    assert_eq!(released(&answer), [json!(license)]);
    assert_eq!(seats_used(&app, &license).await, 0);
    assert_eq!(seats_used(&app, &named).await, 1, "a named seat could be rotated through a team");
    let events = app.get("/api/v1/admin/events?order=newest&type=seat.freed").await;
    assert_eq!(events.list()[0]["data"]["reason"], "released");
    assert_eq!(app.validate("bob").await.verdict(), "valid");
    for user in ["ada", "nobody"] {
        let again = asker.post(RELEASE, json!({ "userId": user })).await;
        assert_eq!(released(&again), Vec::<Value>::new());
    }
    assert!(app.user("nobody").await.is_null());
    let unknown = json!({ "userId": "ada", "productId": "prd_01h455vb4pex5vsknk084sn02q" });
    assert_eq!(asker.post(RELEASE, unknown).await.refusal(), "400 invalid_request productId");
    let reader = app.reader().await;
    assert_eq!(reader.post(RELEASE, json!({ "userId": "ada" })).await.status, 403);
}

/// One who starts on another computer before the first one's release arrives keeps the seat.
#[tokio::test]
async fn a_seat_that_was_checked_later_stays() {
    let app = App::start().await;
    let license = floating(&app, 1, &["ada"]).await;
    let first = app.validate("ada").await["activation"]["lastCheckedAt"].clone();
    let second = loop {
        let checked = app.validate("ada").await["activation"]["lastCheckedAt"].clone();
        if checked != first {
            break checked;
        }
    };
    let body = json!({ "userId": "ada", "checkedAt": first });
    assert_eq!(released(&app.post(RELEASE, body).await), Vec::<Value>::new());
    let body = json!({ "userId": "ada", "checkedAt": second });
    assert_eq!(released(&app.post(RELEASE, body).await), [json!(license)]);
}

#[tokio::test]
async fn an_administrator_frees_any_seat_and_the_user_stays_assigned() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "bob"] {
        app.assign(&license, user).await.data();
    }
    app.validate("ada").await.data();
    let path = format!("/api/v1/admin/licenses/{license}/release");
    assert_eq!(released(&app.post(&path, json!({ "userId": "bob" })).await), Vec::<Value>::new());
    let freed = app.post(&path, json!({ "userId": "ada" })).await;
    assert_eq!(released(&freed), [json!(license)]);
    assert_eq!(app.validate("bob").await.verdict(), "valid");
    assert_eq!(app.validate("ada").await.verdict(), "exceeded_seats");
    assert_eq!(app.post(&path, json!({ "userId": "eve" })).await.refusal(), "404 not_found");
    let gone = app.post(
        "/api/v1/admin/licenses/lic_01h455vb4pex5vsknk084sn02q/release",
        json!({ "userId": "ada" }),
    );
    assert_eq!(gone.await.refusal(), "404 not_found");
}

//! A user who gets another external id keeps the history, and the former id is explained.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::App;

async fn rename(app: &App, from: &str, to: &str) -> Value {
    let user = app.user(from).await;
    let path = format!("/api/v1/admin/users/{}", user["id"].as_str().unwrap());
    app.patch(&path, json!({ "externalId": to })).await.data();
    user["id"].clone()
}

/// The types of the user's events.
async fn history(app: &App, user: &str, order: &str) -> Vec<String> {
    let query = [("userId", user), ("order", order)];
    let events = |request: reqwest::RequestBuilder| request.query(&query);
    let found = app.send(Method::GET, "/api/v1/admin/events", events).await;
    found.each("type").into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_history_follows_the_user_and_not_the_external_id() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "kim@old").await.data();
    app.validate("kim@old").await.data();
    let kim = rename(&app, "kim@old", "kim@new").await;
    app.validate("kim@new").await.data();
    let of_kim = ["user.created", "license.assigned", "seat.taken", "user.updated"];
    for name in ["kim@old", "kim@new", kim.as_str().unwrap()] {
        assert_eq!(history(&app, name, "oldest").await, of_kim, "{name}");
    }

    // An application sends the former id: it is another user from now on.
    assert_eq!(app.validate("kim@old").await.verdict(), "no_license");
    assert_eq!(history(&app, "kim@old", "oldest").await, ["user.created"]);
    assert_eq!(history(&app, "kim@new", "oldest").await, of_kim);
    rename(&app, "kim@old", "pat").await;
    rename(&app, "kim@new", "kim@old").await;
    let newest: Vec<&str> = ["user.updated"].into_iter().chain(of_kim.into_iter().rev()).collect();
    assert_eq!(history(&app, "kim@old", "newest").await, newest);
    assert_eq!(history(&app, "pat", "newest").await, ["user.updated", "user.created"]);
    for limit in 1..4 {
        let path = format!("/api/v1/admin/events?userId=kim%40old&order=newest&limit={limit}");
        assert_eq!(app.get(&path).await.each("type"), newest[..limit]);
    }
}

#[tokio::test]
async fn a_former_external_id_is_explained() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "kim@old").await.data();
    let explain = async |user: &str| {
        let answer = app.post("/api/v1/admin/explain", json!({ "userId": user })).await;
        let explained = answer.data();
        (explained["renamedTo"].clone(), explained["summary"].as_str().unwrap().to_owned())
    };
    assert_eq!(explain("kim@old").await, (Value::Null, "kim@old is licensed.".to_owned()));
    let kim = rename(&app, "kim@old", "kim@new").await;
    for _ in 0..2 {
        let (renamed_to, summary) = explain("kim@old").await;
        assert_eq!((&renamed_to["userId"], &renamed_to["externalId"]), (&kim, &json!("kim@new")));
        let expected = " The user who was kim@old before has been kim@new since ";
        assert!(summary.contains(expected), "{summary}");
        // The same for the user that a validation creates.
        app.validate("kim@old").await.data();
    }
    assert_eq!(explain("kim@new").await.0, Value::Null);
    assert_eq!(explain("nobody").await.0, Value::Null);
}

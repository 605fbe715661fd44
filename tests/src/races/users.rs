//! Users that concurrent requests create.

use std::collections::BTreeSet;

use serde_json::json;

use super::at_once;
use crate::harness::App;

/// However many first calls of one unknown user arrive together, by whichever way, they make one.
#[tokio::test(flavor = "multi_thread")]
async fn first_calls_of_one_user_make_one_user() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    for round in 0..4 {
        let calls = (0..60).map(|n| {
            let (app, license, name) = (app.clone(), license.clone(), format!("user-{round}"));
            async move {
                match n % 3 {
                    0 => app.validate(&name).await.status,
                    1 => {
                        app.post("/api/v1/admin/users", json!({ "externalId": name })).await.status
                    }
                    _ => app.assign(&license, &name).await.status,
                }
            }
        });
        let statuses = at_once(calls).await;
        assert!(statuses.iter().all(|status| matches!(status, 200 | 201)), "{statuses:?}");
    }
    assert_eq!(app.number("select count(*) from users").await, 4);
    assert_eq!(app.number("select count(*) from assignments").await, 4);
}

/// Of many requests for one record exactly one creates it, and all answer it.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_requests_makes_the_record() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let plan = app.plan(json!({})).await;
    for (path, body) in [
        ("/api/v1/admin/users".to_owned(), json!({ "externalId": "ada" })),
        (format!("/api/v1/admin/licenses/{license}/assign"), json!({ "userId": "bob" })),
        (
            "/api/v1/admin/licenses".to_owned(),
            json!({ "planId": plan, "assignTo": { "userId": "eve" }, "unlessHeld": true }),
        ),
    ] {
        let posts = (0..40).map(|_| {
            let (app, path, body) = (app.clone(), path.clone(), body.clone());
            async move {
                let made = app.post(&path, body).await;
                (made.status, made.id())
            }
        });
        let made = at_once(posts).await;
        assert_eq!(made.iter().filter(|(status, _)| *status == 201).count(), 1, "{path}");
        assert_eq!(made.iter().map(|(_, id)| id).collect::<BTreeSet<_>>().len(), 1, "{path}");
    }
}

/// Changes of different members of one user at the same time: none is lost.
#[tokio::test(flavor = "multi_thread")]
async fn changes_of_one_user_at_once_are_all_kept() {
    let app = App::start().await;
    for round in 0..10 {
        let name = format!("user-{round}");
        app.validate(&name).await;
        let id = app.user(&name).await["id"].as_str().unwrap().to_owned();
        let changes =
            [json!({ "email": "a@b" }), json!({ "name": "A" }), json!({ "metadata": {} })];
        let patches = changes.into_iter().map(|change| {
            let (app, path) = (app.clone(), format!("/api/v1/admin/users/{id}"));
            async move { app.patch(&path, change).await.status }
        });
        assert_eq!(at_once(patches).await, [200, 200, 200]);
        let user = app.user(&name).await;
        assert_eq!(json!([user["email"], user["name"], user["metadata"]]), json!(["a@b", "A", {}]));
    }
}

//! POST /api/v1/admin/licenses/:id/assign, and taking users off again.

use insta::assert_snapshot;
use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::harness::App;

/// "Assigns the license to a user; the user is created if absent."
#[tokio::test]
async fn assigning_creates_an_unknown_user() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}/assign");
    let body = json!({ "userId": "ada", "metadata": { "order": 7 } });
    let assigned = app.post(&path, body).await;
    assert_snapshot!(assigned, @r#"
    201 {
      "success": true,
      "data": {
        "id": "asg_1",
        "userId": "usr_1",
        "licenseId": "lic_1",
        "assignedAt": "<time>",
        "metadata": {
          "order": 7
        }
      }
    }
    "#);
    assert_eq!(assigned["userId"], app.user("ada").await["id"]);
    assert_eq!(assigned["licenseId"], *license);
}

/// A second assignment returns the same assignment with 200. `metadata`, if sent, replaces the old
/// entries.
#[tokio::test]
async fn assigning_again_is_the_same_assignment() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}/assign");
    let first = app.assign(&license, "ada").await;
    assert_eq!((first.status, &first["metadata"]), (201, &json!(null)));
    for (sent, kept) in [
        (json!(null), json!(null)),
        (json!({ "a": 1 }), json!({ "a": 1 })),
        (json!(null), json!({ "a": 1 })),
        (json!({ "b": 2 }), json!({ "b": 2 })),
        (json!({}), json!({})),
    ] {
        let again = app.post(&path, json!({ "userId": "ada", "metadata": sent })).await;
        assert_eq!((again.status, &again["metadata"]), (200, &kept), "{sent}");
        for same in ["id", "userId", "licenseId", "assignedAt"] {
            assert_eq!(again[same], first[same], "{same}");
        }
    }
    assert_eq!(app.number("select count(*) from assignments").await, 1);
}

/// `first`: what was bought decides, and not the trial that the user got before.
#[tokio::test]
async fn a_license_that_is_assigned_first_decides_before_the_others() {
    let app = App::start().await;
    let [trial, paid, upgrade] =
        [app.license(json!({})).await, app.license(json!({})).await, app.license(json!({})).await];
    let deciding = async || app.validate("ada").await["license"]["id"].clone();
    let put_first = async |license: &str| {
        let path = format!("/api/v1/admin/licenses/{license}/assign");
        app.post(&path, json!({ "userId": "ada", "first": true })).await
    };
    app.assign(&trial, "ada").await.data();
    app.assign(&paid, "ada").await.data();
    assert_eq!(deciding().await, *trial);
    let moved = put_first(&paid).await;
    assert_eq!((moved.status, deciding().await), (200, json!(paid)));
    let events = app.get("/api/v1/admin/events?order=newest&type=license.assigned").await;
    let data = &events.list()[0]["data"];
    assert_eq!((&data["object"]["first"], &data["previous"]), (&json!(true), &json!({})));
    assert_eq!(put_first(&paid).await.status, 200);
    let again = app.get("/api/v1/admin/events?order=newest&type=license.assigned").await;
    assert_eq!(again.list(), events.list(), "it was the first already");
    assert_eq!((put_first(&upgrade).await.status, deciding().await), (201, json!(upgrade)));
    assert_eq!(app.assign(&paid, "ada").await.status, 200);
    assert_eq!(deciding().await, *upgrade, "assigned again without `first`, it stays");
}

/// The users of the license, in the order of assignment, each with the seat if one is held.
#[tokio::test]
async fn a_licenses_assignments_are_listed_with_their_users_and_seats() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}");
    let ada = json!({ "externalId": "ada", "email": "ada@example.com", "name": "Ada" });
    app.post("/api/v1/admin/users", ada).await.data();
    for user in ["grace", "ada", "linus"] {
        let body = json!({ "userId": user, "metadata": { "by": user } });
        app.post(&format!("{path}/assign"), body).await.data();
    }
    app.assign(&app.license(json!({})).await, "nobody").await.data();
    let seat = app.validate("ada").await["activation"].clone();
    let list = format!("{path}/assignments");
    let page = app.get(&format!("{list}?limit=2")).await;
    assert_eq!(page.list()[1]["activation"], seat);
    assert_snapshot!(page, @r#"
    200 {
      "success": true,
      "data": [
        {
          "id": "asg_1",
          "userId": "usr_1",
          "licenseId": "lic_1",
          "assignedAt": "<time>",
          "metadata": {
            "by": "grace"
          },
          "externalId": "grace",
          "email": null,
          "name": null,
          "activation": null
        },
        {
          "id": "asg_2",
          "userId": "usr_2",
          "licenseId": "lic_1",
          "assignedAt": "<time>",
          "metadata": {
            "by": "ada"
          },
          "externalId": "ada",
          "email": "ada@example.com",
          "name": "Ada",
          "activation": {
            "id": "act_1",
            "userId": "usr_2",
            "licenseId": "lic_1",
            "activatedAt": "<time>",
            "lastCheckedAt": "<time>"
          }
        }
      ],
      "nextCursor": "asg_2"
    }
    "#);
    let rest = app.get(&format!("{list}?after={}", page.each("id")[1])).await;
    assert_eq!(rest.each("externalId"), ["linus"]);
    app.unassign(&license, "grace").await.data();
    assert_eq!(app.get(&list).await.each("externalId"), ["ada", "linus"]);
}

/// One license for many users, many licenses for one user.
#[tokio::test]
async fn users_and_licenses_combine_freely() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    for _ in 0..2 {
        let license = app.license_of(&plan).await;
        for user in ["ada", "grace"] {
            assert_eq!(app.assign(&license, user).await.status, 201);
        }
    }
    assert_eq!(app.number("select count(*) from assignments").await, 4);
    assert_eq!(app.number("select count(*) from users").await, 2);
}

/// A license that is not there is 404, and then no user is made either.
#[tokio::test]
async fn a_failed_assignment_creates_no_user() {
    let app = App::start().await;
    let refused = app.assign("lic_01h455vb4pex5vsknk084sn02q", "ada").await;
    assert_eq!(refused.refusal(), "404 not_found");
    assert_eq!(app.number("select count(*) from users").await, 0);
}

/// Unassigning returns the assignment as it was, once.
#[tokio::test]
async fn unassigning_answers_the_assignment() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let assigned = app.assign(&license, "ada").await;
    let removed = app.unassign(&license, "ada").await;
    assert_eq!((removed.status, removed.data()), (200, assigned.data()));
    assert_eq!(app.unassign(&license, "ada").await.refusal(), "404 not_found");
    assert_eq!(app.user("ada").await["externalId"], "ada", "the user stays");
    let anew = app.assign(&license, "ada").await;
    assert_eq!(anew.status, 201);
    assert_ne!(anew.id(), assigned.id());
}

/// Unknown license, unknown user, user without this license, and what can be no user id.
#[tokio::test]
async fn unassigning_without_an_assignment_is_404() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await;
    app.validate("grace").await;
    for user in ["grace", "nobody", "ADA", "%00", "%FF", "%20"] {
        assert_eq!(app.unassign(&license, user).await.refusal(), "404 not_found", "{user}");
    }
    for license in ["lic_01h455vb4pex5vsknk084sn02q", "x", "%FF"] {
        let told = app.unassign(license, "ada").await.told();
        assert_eq!(told.1["error"], "There is no such license", "{license}");
    }
    assert_eq!(app.number("select count(*) from users").await, 2, "it creates no user");
}

/// The user id in the address is the caller's own, whatever characters are in it.
#[tokio::test]
async fn any_user_id_can_stand_in_the_address() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    for (user, encoded) in [
        ("a/b", "a%2Fb"),
        ("a b+c", "a%20b+c"),
        (" ", "%20"),
        ("50%", "50%25"),
        ("ä", "%C3%A4"),
        ("?#", "%3F%23"),
    ] {
        app.assign(&license, user).await;
        assert_eq!(app.unassign(&license, encoded).await.status, 200, "{user}");
    }
}

/// Users whose ids cannot stand in an address, or not as they are, are named in the query.
#[tokio::test]
async fn the_query_names_any_user() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}/assign");
    let unassign = async |user: &str| {
        app.send(Method::DELETE, &path, |request| request.query(&[("userId", user)])).await
    };
    for user in [".", "..", "a/b", "ada", " ", "50%", "a+b", "?#", "&userId=x", "ä", "😀"] {
        let assigned = app.assign(&license, user).await;
        assert_eq!(app.validate(user).await.verdict(), "valid", "{user}");
        let removed = unassign(user).await;
        assert_eq!((removed.status, removed.data()), (200, assigned.data()), "{user}");
        assert_eq!(app.usage(&license).await["activeSeats"], 0, "{user}");
        assert_eq!(app.validate(user).await.verdict(), "no_license", "{user}");
        assert_eq!(unassign(user).await.refusal(), "404 not_found", "{user}");
    }
    assert_eq!(unassign("nobody").await.refusal(), "404 not_found");
    let unknown = "/api/v1/admin/licenses/lic_01h455vb4pex5vsknk084sn02q/assign?userId=ada";
    assert_eq!(app.delete(unknown).await.told().1["error"], "There is no such license");
}

/// Without a valid user the query is refused, and no user is unassigned.
#[tokio::test]
async fn a_query_without_a_user_is_400() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "ada").await.data();
    let path = format!("/api/v1/admin/licenses/{license}/assign");
    let long = format!("?userId={}", "x".repeat(256));
    for query in ["", "?", "?userId=", "?userId=%00", "?userId=ada&userId=ada", &long] {
        let refusal = app.delete(&format!("{path}{query}")).await.refusal();
        assert_eq!(refusal, "400 invalid_request userId", "{query}");
    }
    let unknown = "/api/v1/admin/licenses/lic_01h455vb4pex5vsknk084sn02q/assign";
    assert_eq!(app.delete(unknown).await.refusal(), "400 invalid_request userId", "400 before 404");
    assert_eq!(app.number("select count(*) from assignments").await, 1);
}

/// The key of a request that names its user in the query applies only to that user.
#[tokio::test]
async fn an_idempotency_key_covers_the_query() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    for user in [".", ".."] {
        app.assign(&license, user).await.data();
    }
    let path = format!("/api/v1/admin/licenses/{license}/assign");
    let unassign = async |user: &str| {
        let path = format!("{path}?userId={user}");
        let keyed = |request: RequestBuilder| request.header("idempotency-key", "k");
        app.send(Method::DELETE, &path, keyed).await
    };
    let first = unassign(".").await;
    assert_eq!(first.data(), unassign(".").await.data(), "answered again");
    assert_eq!(unassign("..").await.refusal(), "422 idempotency_key_reused");
    assert_eq!(app.explain("..").await["licenses"].as_array().unwrap().len(), 1);
}

/// A user has at most 100 licenses. One that the user has can be assigned again anyway.
#[tokio::test]
async fn the_101st_license_of_a_user_is_refused() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let first = app.license_of(&plan).await;
    app.assign(&first, "ada").await.data();
    for _ in 1..100 {
        let license = app.license_of(&plan).await;
        assert_eq!(app.assign(&license, "ada").await.status, 201);
    }
    let more = app.license_of(&plan).await;
    assert_eq!(app.assign(&more, "ada").await.refusal(), "409 conflict");
    assert_eq!(app.assign(&first, "ada").await.status, 200);
    assert_eq!(app.assign(&more, "grace").await.status, 201, "it is a user's bound");
    app.unassign(&first, "ada").await.data();
    assert_eq!(app.assign(&more, "ada").await.status, 201);
    assert_eq!(app.assign(&first, "ada").await.refusal(), "409 conflict");
}

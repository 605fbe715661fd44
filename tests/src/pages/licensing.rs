//! The forms that give licenses and seats, and set their terms.

use common::Timestamp;
use serde_json::json;

use super::acts::{license_page, send, stored, user_page};
use super::admin;
use crate::harness::App;

/// A license of one seat, which ada holds, and for which bob waits.
async fn one_seat(app: &App) -> String {
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "bob"] {
        app.assign(&license, user).await.data();
    }
    app.validate("ada").await.data();
    license
}

/// The decision concerns what was bought, and not the trial that the user has.
#[tokio::test]
async fn a_license_is_put_before_the_others_of_a_user() {
    let app = App::start().await;
    let trial = app.license(json!({})).await;
    app.assign(&trial, "ada").await.data();
    let found = app.license(json!({})).await;
    let plan = stored(&app, &trial).await["planId"].as_str().unwrap().to_owned();
    let visitor = admin(&app).await;
    let page = user_page(&app, "ada").await;
    assert_eq!(app.validate("ada").await["license"]["id"], *trial);
    let fields = [("licenseId", &*found), ("first", "true")];
    send(&visitor, &format!("{page}/assign"), &fields).await;
    assert_eq!(app.validate("ada").await["license"]["id"], *found);
    let form = format!("{page}/licenses");
    send(&visitor, &form, &[("once", "1"), ("planId", &plan), ("first", "true")]).await;
    let decides = app.validate("ada").await["license"]["id"].clone();
    assert!(decides != *trial && decides != *found, "{decides}");
}

/// The terms of a license and the seat of a holder, from the forms of its page.
#[tokio::test]
async fn terms_are_set_and_a_seat_is_freed_on_the_page_of_a_license() {
    let app = App::start().await;
    let license = one_seat(&app).await;
    let visitor = admin(&app).await;
    let path = license_page(&license);
    let terms = [("seatIdleMinutes", "60"), ("graceDays", "14"), ("maxLease", "30 d")];
    let page = send(&visitor, &format!("{path}/terms"), &terms).await;
    assert!(page.contains("Floating, grace and offline saved."), "{page}");
    let stored = app.get_license(&license).await["terms"].clone();
    assert_eq!((&stored["seatIdleMinutes"], &stored["graceDays"]), (&json!(60), &json!(14)));
    assert_eq!(stored["maxLeaseSeconds"], 30 * 86400);
    assert!(page.contains(r#"name="maxLease" value="30d""#), "{page}");
    let wrong = [("seatIdleMinutes", "4"), ("graceDays", "x"), ("maxLease", "4m")];
    let page = send(&visitor, &format!("{path}/terms"), &wrong).await;
    assert!(page.contains("The number of minutes must be a whole number from 5"), "{page}");
    assert!(page.contains("The number of days must be a whole number from 1"), "{page}");
    assert!(page.contains("The time must be a time from 5m to 400d"), "{page}");
    let page = send(&visitor, &format!("{path}/release"), &[("userId", "ada")]).await;
    assert!(page.contains("Seat freed. The user stays assigned."), "{page}");
    assert_eq!(app.validate("bob").await.verdict(), "valid");
    let page = send(&visitor, &format!("{path}/release"), &[("userId", "ada")]).await;
    assert!(page.contains("Nothing to free"), "{page}");
    app.update(&license, json!({ "expiresAt": "2026-01-01T00:00:00Z", "graceDays": 365 }))
        .await
        .data();
    let page = visitor.get(&path).await.text().await.unwrap();
    assert!(page.contains("in grace") && page.contains("through its days of grace"), "{page}");
    let none = [("seatIdleMinutes", ""), ("graceDays", ""), ("maxLease", "")];
    send(&visitor, &format!("{path}/terms"), &none).await;
    assert!(app.get_license(&license).await["terms"].is_null());
}

#[tokio::test]
async fn the_terms_of_a_plan_are_saved() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 5, "expiresInDays": 30 })).await;
    let visitor = admin(&app).await;
    let path = format!("/dashboard/live/plans/{plan}");
    let fields = [
        ("name", "Pool"),
        ("maxSeats", "5"),
        ("expiresInDays", "30"),
        ("seatIdleMinutes", "60"),
        ("graceDays", "14"),
        ("maxLease", "12h"),
        ("startsLater", "true"),
    ];
    let page = send(&visitor, &path, &fields).await;
    assert!(page.contains("30 days from the first validation"), "{page}");
    assert!(page.contains("free after 60 minutes"), "{page}");
    assert!(page.contains("for at most 12h"), "{page}");
    let stored = app.get(&format!("/api/v1/admin/plans/{plan}")).await;
    let terms = ["seatIdleMinutes", "graceDays", "expiresFrom"].map(|term| stored[term].clone());
    assert_eq!(terms, [json!(60), json!(14), json!("firstValidation")]);
    send(&visitor, &path, &fields[..3]).await;
    let stored = app.get(&format!("/api/v1/admin/plans/{plan}")).await;
    for term in ["seatIdleMinutes", "expiresFrom", "maxLeaseSeconds"] {
        assert!(stored[term].is_null(), "{stored}");
    }
}

/// A license goes to a colleague; who is unknown is asked about first.
#[tokio::test]
async fn a_license_is_handed_over_on_its_page() {
    let app = App::start().await;
    let license = one_seat(&app).await;
    let visitor = admin(&app).await;
    let path = format!("{}/transfer", license_page(&license));
    let fields = [("userId", "ada"), ("toUserId", "eve")];
    let page = send(&visitor, &path, &fields).await;
    assert!(page.contains("Create user and"), "{page}");
    assert!(app.user("eve").await.is_null());
    let confirmed = [&fields[..], &[("confirmed", "eve")]].concat();
    let page = send(&visitor, &path, &confirmed).await;
    assert!(page.contains("License and seat handed from ada to eve."), "{page}");
    assert_eq!(app.validate("eve").await.verdict(), "valid");
    let page = send(&visitor, &path, &[("userId", "eve"), ("toUserId", "eve")]).await;
    assert!(page.contains("has the license already"), "{page}");
    let page = send(&visitor, &path, &fields).await;
    assert!(page.contains("no longer has the license"), "{page}");
}

/// Each form that takes away a seat of a lease asks first.
#[tokio::test]
async fn a_seat_with_a_lease_is_taken_away_after_a_question() {
    for form in ["release", "unassign", "transfer", "delete", "rename"] {
        let app = App::start().await;
        app.post("/api/v1/admin/signing-keys", json!(null)).await.data();
        let license = app.license(json!({ "maxSeats": 1, "maxLeaseSeconds": 600 })).await;
        app.assign(&license, "ada").await.data();
        let product = app.get_license(&license).await["productId"].clone();
        let body = json!({ "userId": "ada", "productId": product, "device": "desk" });
        app.post("/api/v1/lease", body).await.data();
        let visitor = admin(&app).await;
        let path = license_page(&license);
        let page = visitor.get(&path).await.text().await.unwrap();
        assert!(page.contains("offline on desk, 15 minutes left"), "{page}");
        app.assign(&license, "eve").await.data();
        let page = visitor.get(&user_page(&app, "eve").await).await.text().await.unwrap();
        assert!(page.contains("Unassign ada") && page.contains("offline until"), "{page}");
        let user = app.user("ada").await["id"].as_str().unwrap().to_owned();
        let user = format!("/dashboard/live/users/{user}");
        let (path, fields) = match form {
            "delete" => (format!("{user}/delete"), vec![]),
            "rename" => (user, vec![("externalId", "ada2")]),
            "transfer" => (
                format!("{path}/transfer"),
                vec![("userId", "ada"), ("toUserId", "bob"), ("confirmed", "bob")],
            ),
            form => (format!("{path}/{form}"), vec![("userId", "ada")]),
        };
        let page = send(&visitor, &path, &fields).await;
        assert!(page.contains("Free the seat before its lease ends?"), "{form}: {page}");
        assert!(page.contains(r#"name="leases" value="drop""#), "{form}: {page}");
        let dropped = "/api/v1/admin/events?type=lease.dropped";
        assert!(app.get(dropped).await.list().is_empty(), "{form}");
        send(&visitor, &path, &[&fields[..], &[("leases", "drop")]].concat()).await;
        assert_eq!(app.get(dropped).await.list().len(), 1, "{form}");
    }
}

/// The form says what the users of the license lose, before it moves it to another plan.
#[tokio::test]
async fn a_license_is_moved_to_another_plan_on_its_page() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 5, "features": ["export"] })).await;
    let plan = app.plan(json!({ "maxSeats": 2, "features": ["sso"], "graceDays": 7 })).await;
    let visitor = admin(&app).await;
    let path = format!("{}/plan", license_page(&license));
    let page = send(&visitor, &path, &[("planId", &*plan)]).await;
    for said in ["Seats: 2, now 5.", "Its users lose: export.", "They get: sso.", "another product"]
    {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert_ne!(stored(&app, &license).await["planId"], *plan);
    let page = send(&visitor, &path, &[("planId", &*plan), ("confirmed", "yes")]).await;
    assert!(page.contains("Plan changed."), "{page}");
    assert_eq!(stored(&app, &license).await["planId"], *plan);
    let page = send(&visitor, &path, &[("planId", "pln_01h455vb4pex5vsknk084sn02q")]).await;
    assert!(page.contains("The plan was not changed"), "{page}");
}

/// One click renews by the plan's term, from the end of the present one.
#[tokio::test]
async fn a_license_is_renewed_on_its_page() {
    let app = App::start().await;
    let plan = app.plan(json!({ "expiresInDays": 365 })).await;
    let license = app.license_of(&plan).await;
    app.update(&license, json!({ "expiresAt": "2090-01-31T12:00:00Z" })).await.data();
    let visitor = admin(&app).await;
    let page = visitor.get(&license_page(&license)).await.text().await.unwrap();
    assert!(page.contains("Renew 1 year, through 31 Jan 2091"), "{page}");
    app.update(&license, json!({ "clear": ["expiresAt"] })).await.data();
    let page = visitor.get(&license_page(&license)).await.text().await.unwrap();
    assert!(!page.contains("Renew "), "{page}");
    app.update(&license, json!({ "expiresAt": Timestamp::now() })).await.data();
    let page = visitor.get(&license_page(&license)).await.text().await.unwrap();
    assert!(page.contains("Renew 1 year, ") && page.contains("from the old end, "), "{page}");
    let path = format!("{}/renew", license_page(&license));
    let page = send(&visitor, &path, &[("from", "end")]).await;
    assert!(page.contains("Expiry changed from "), "{page}");
}

/// The keys that sign leases are made, rotated and deleted below the list of keys.
#[tokio::test]
async fn signing_keys_are_managed_below_the_keys() {
    let app = App::start().await;
    let visitor = admin(&app).await;
    let path = "/dashboard/live/signing-keys";
    let page = send(&visitor, path, &[]).await;
    assert!(page.contains("Two signing keys created."), "{page}");
    let page = send(&visitor, path, &[]).await;
    assert!(page.contains("Nothing was changed"), "{page}");
    let set = app.get("/api/v1/signing-keys").await;
    let [active, standby] = [0, 1].map(|at| set.list()[at]["id"].as_str().unwrap().to_owned());
    let wrong = send(&visitor, &format!("{path}/{active}/rotate"), &[]).await;
    assert!(wrong.contains("Nothing was changed"), "{wrong}");
    let page = send(&visitor, &format!("{path}/{standby}/rotate"), &[]).await;
    assert!(page.contains("The key that was on standby signs now"), "{page}");
    let page = send(&visitor, &format!("{path}/{active}/delete"), &[]).await;
    assert!(page.contains("Signing key deleted."), "{page}");
    let set = app.get("/api/v1/signing-keys").await;
    assert_eq!(set.each("state"), ["active", "standby"]);
    assert_eq!(set.list()[0]["id"], *standby);
}

//! Forms that could give something away, overwrite another's work or create users by mistake: their
//! questions, and the notices afterwards. Over HTTP, as a browser without script sends them.

use reqwest::Response;
use reqwest::header::LOCATION;
use serde_json::json;

use super::admin;
use crate::harness::{App, Visitor, until};

/// The page that comes after a form, without the marks of HTML.
async fn after(visitor: &Visitor, answer: Response) -> String {
    let answer = match answer.headers().get(LOCATION) {
        Some(path) => visitor.get(path.to_str().unwrap()).await,
        None => answer,
    };
    answer.text().await.unwrap()
}

pub async fn send(visitor: &Visitor, path: &str, fields: &[(&str, &str)]) -> String {
    after(visitor, visitor.post(path, fields).await).await
}

/// Returns the state on which a page's form was based.
pub fn seen(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"seen\" value=\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

pub fn license_page(license: &str) -> String {
    format!("/dashboard/live/licenses/{license}")
}

pub async fn user_page(app: &App, user: &str) -> String {
    format!("/dashboard/live/users/{}", app.user(user).await["id"].as_str().unwrap())
}

pub async fn stored(app: &App, license: &str) -> serde_json::Value {
    app.get(&format!("/api/v1/admin/licenses/{license}")).await.data().clone()
}

/// A user who is licensed for one product and refused for another is not simply valid.
#[tokio::test]
async fn each_product_has_its_verdict() {
    let app = App::start().await;
    let (studio, render) = (app.product("Studio").await, app.product("Render").await);
    let plan = app.plan_of(&studio, json!({})).await;
    let terms = json!({ "expiresInDays": 30 });
    let farm = app.plan_of(&render, terms).await;
    let (a, b) = (app.license_of(&plan).await, app.license_of(&farm).await);
    for license in [&a, &b] {
        app.assign(license, "ada").await.data();
    }
    app.update(&b, json!({ "expiresAt": "2020-01-31T00:00:00Z" })).await.data();
    let visitor = admin(&app).await;
    let path = user_page(&app, "ada").await;
    let page = async || visitor.get(&path).await.text().await.unwrap();
    let headline = "Licensed for Studio. Refused for Render: expired.";
    let before = page().await;
    assert!(before.contains(headline) && before.contains("verdict warn"), "{before}");
    // An application asks for it, and the plan's own days are offered.
    let body = json!({ "userId": "ada", "productId": render });
    assert_eq!(app.post("/api/v1/validate", body).await.verdict(), "expired");
    until("the refusal is written", async || page().await.contains("verdict bad")).await;
    let refused = page().await;
    assert!(refused.contains("refused 1×, last") && refused.contains(headline), "{refused}");
    assert!(refused.contains("Renew 30 days, through "), "{refused}");
    assert!(refused.contains("names no product returns <b>valid</b>"), "{refused}");
    // A product of which the user has no license.
    let other = app.product("Paint").await;
    let body = json!({ "userId": "ada", "productId": other });
    assert_eq!(app.post("/api/v1/validate", body).await.verdict(), "no_license");
    until("it is written, too", async || page().await.contains("another product: no license"))
        .await;
}

/// However often it was renewed, a license is renewed for the days of its plan, and for none if that
/// has none.
#[tokio::test]
async fn a_license_is_renewed_for_a_term_of_its_plan() {
    let app = App::start().await;
    let visitor = admin(&app).await;
    for (days, user) in [(Some(365), "ada"), (None, "grace")] {
        let license = app.license(json!({ "expiresInDays": days })).await;
        app.assign(&license, user).await.data();
        app.update(&license, json!({ "expiresAt": "2020-01-31T00:00:00Z" })).await.data();
        let page = visitor.get(&user_page(&app, user).await).await.text().await.unwrap();
        assert_eq!(page.contains("Renew 1 year, through "), days.is_some(), "{page}");
        let by_hand =
            if days.is_some() { "Renew through another day…" } else { "Renew through a day…" };
        assert!(page.contains(by_hand), "{page}");
    }
}

/// A button that gives something away does not stand out.
#[tokio::test]
async fn freeing_a_seat_stands_out_and_raising_the_limit_does_not() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "grace"] {
        app.assign(&license, user).await.data();
        app.validate(user).await.data();
    }
    let visitor = admin(&app).await;
    let page = visitor.get(&user_page(&app, "grace").await).await.text().await.unwrap();
    assert!(page.contains("<summary class=\"button main\">Free a seat…"), "{page}");
    assert!(page.contains("<button class=\"button\">Raise limit to 2 (adds 1 seat)"), "{page}");
}

/// A form that shows what does not hold any more changes nothing, and says what does.
#[tokio::test]
async fn a_form_does_not_undo_what_somebody_else_did() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "grace"] {
        app.assign(&license, user).await.data();
        app.validate(user).await.data();
    }
    let visitor = admin(&app).await;
    let (path, helped) = (license_page(&license), user_page(&app, "grace").await);
    let old = seen(&visitor.get(&path).await.text().await.unwrap());
    app.update(&license, json!({ "maxSeats": 20 })).await.data();
    for (form, field, value) in [
        ("terms", "maxSeats", "2"),
        ("terms", "features", "sso"),
        ("terms", "expiresAt", "2030-01-31"),
        ("status", "status", "suspended"),
    ] {
        let path = format!("{path}/{form}");
        let page = send(&visitor, &path, &[(field, value), ("seen", &old)]).await;
        assert!(page.contains("changed in the meantime, by first key: Seats: 1 → 20."), "{page}");
        assert_ne!(seen(&page), old);
        let fields = [
            (field, value),
            ("seen", &old),
            ("back", helped.strip_prefix("/dashboard/live").unwrap()),
        ];
        let page = send(&visitor, &path, &fields).await;
        assert!(page.contains("another user changed this"), "{page}");
    }
    let after = stored(&app, &license).await;
    assert_eq!((&after["maxSeats"], &after["features"]), (&json!(20), &json!([])));
    // Saved again, what was typed replaces it.
    let page = send(&visitor, &format!("{path}/terms"), &[("maxSeats", "9"), ("seen", &old)]).await;
    assert!(page.contains("name=\"maxSeats\" inputmode=\"numeric\" value=\"9\""), "{page}");
    let fields = [("maxSeats", "9"), ("seen", &*seen(&page))];
    let page = send(&visitor, &format!("{path}/terms"), &fields).await;
    assert!(page.contains("Seat limit changed from 20 to 9."), "{page}");

    let product = stored(&app, &license).await["productId"].as_str().unwrap().to_owned();
    let plan = stored(&app, &license).await["planId"].as_str().unwrap().to_owned();
    let user = app.user("grace").await["id"].as_str().unwrap().to_owned();
    for (kind, id, change) in [
        ("products", &product, json!({ "description": "new" })),
        ("plans", &plan, json!({ "description": "new" })),
        ("users", &user, json!({ "email": "grace@example.com" })),
    ] {
        let path = format!("/dashboard/live/{kind}/{id}");
        let old = seen(&visitor.get(&path).await.text().await.unwrap());
        app.patch(&format!("/api/v1/admin/{kind}/{id}"), change).await.data();
        let page = send(&visitor, &path, &[("name", "typed"), ("seen", &old)]).await;
        assert!(page.contains("changed in the meantime, by first key: "), "{page}");
        assert!(page.contains("value=\"typed\""), "{page}");
        let record = app.get(&format!("/api/v1/admin/{kind}/{id}")).await;
        assert_ne!(record["name"], "typed");
    }
}

/// People type blanks, emails, names and capital letters; none of them makes up a user unasked.
#[tokio::test]
async fn a_typed_user_is_looked_up_before_one_is_created() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let ben =
        json!({ "externalId": "bb73", "email": "Ben.Carter@example.com", "name": "Ben Carter" });
    app.post("/api/v1/admin/users", ben).await.data();
    for id in ["ada", " blank ", "Carter, Ben"] {
        app.post("/api/v1/admin/users", json!({ "externalId": id })).await.data();
    }
    let visitor = admin(&app).await;
    let form = format!("{}/assign", license_page(&license));
    for typed in ["ben.carter@example.com", "BEN carter", "BB73", "ben.carter@exampel.com"] {
        let page = send(&visitor, &form, &[("userId", typed)]).await;
        assert!(page.contains(&format!("<li>{typed}: did you mean")), "{page}");
        assert!(
            page.contains("bb73 (Ben Carter, Ben.Carter@example.com)")
                && page.contains("Assign to bb73"),
            "{page}"
        );
        assert!(app.user(typed).await.is_null());
    }
    for (typed, meant) in
        [(" ada\t", "ada"), (" blank ", " blank "), ("Carter, Ben", "Carter, Ben")]
    {
        let page = send(&visitor, &form, &[("userId", typed)]).await;
        assert!(page.contains("License assigned."), "{page}");
        assert_eq!(app.validate(meant).await.verdict(), "valid");
    }
    let new = [("userId", " new one "), ("confirmed", "new one")];
    assert!(send(&visitor, &form, &new).await.contains("License assigned."));
    assert_eq!(app.validate("new one").await.verdict(), "valid");

    let plan = stored(&app, &license).await["planId"].as_str().unwrap().to_owned();
    let users = " ada , BB73\r\nCarter, Ben\r\n\r\nx";
    let fields = [("planId", plan.as_str()), ("users", users), ("confirmed", "y")];
    let page = send(&visitor, "/dashboard/live/licenses", &fields).await;
    assert!(page.contains("Create 2 new users?"), "{page}");
    assert!(page.contains("<li>BB73: did you mean") && page.contains("<li>x</li>"), "{page}");
    assert_eq!(app.get("/api/v1/admin/licenses").await.list().len(), 1);
    let fields = [("planId", plan.as_str()), ("users", " ada , bb73\r\nCarter, Ben")];
    let page = send(&visitor, "/dashboard/live/licenses", &fields).await;
    assert!(page.contains("License created.") && page.contains("bb73"), "{page}");
    assert_eq!(app.get("/api/v1/admin/users").await.list().len(), 5);
}

/// A new user must not resemble an existing one, and has an email that looks like one.
#[tokio::test]
async fn a_user_who_exists_is_not_created_again() {
    let app = App::start().await;
    let visitor = admin(&app).await;
    let (users, ben) = ("/dashboard/live/users", "ben@example.com");
    let fields = [("once", "1"), ("externalId", "ben"), ("email", ben)];
    let first = visitor.post(users, &fields).await;
    let again = visitor.post(users, &fields).await;
    assert_eq!(first.headers()[LOCATION], again.headers()[LOCATION]);
    let page = send(&visitor, users, &[("externalId", " ben "), ("email", "x@example.com")]).await;
    assert!(page.contains("This user already exists") && page.contains("Open ben"), "{page}");
    assert_eq!(app.user("ben").await["email"], ben);
    for fields in [
        [("externalId", "BEN"), ("email", "")],
        [("externalId", "b2"), ("email", "Ben@example.com")],
    ] {
        let page = send(&visitor, users, &fields).await;
        assert!(page.contains("did you mean") && page.contains("ben (ben@example.com)"), "{page}");
        let confirmed = [fields[0], fields[1], ("confirmed", fields[0].1)];
        assert!(send(&visitor, users, &confirmed).await.contains("User created."));
    }
    let own = user_page(&app, "ben").await;
    for (path, fields) in [
        (users, [("externalId", "eve"), ("email", "not an email")]),
        (&own, [("name", "Ben"), ("email", "@example.com")]),
    ] {
        let page = send(&visitor, path, &fields).await;
        assert!(page.contains("The email must be an address, such as ada@example.com."), "{page}");
    }
    assert!(app.user("eve").await.is_null() && app.user("ben").await["name"].is_null());
}

/// A change that users notice immediately asks first, and happens after the confirmation.
#[tokio::test]
async fn a_drastic_change_is_asked_about() {
    let app = App::start().await;
    let terms = json!({ "maxSeats": 3, "expiresInDays": 30, "features": ["a, b"] });
    let license = app.license(terms).await;
    for user in ["ada", "grace"] {
        app.assign(&license, user).await.data();
        app.validate(user).await.data();
    }
    app.assign(&license, "linus").await.data();
    let visitor = admin(&app).await;
    let before = stored(&app, &license).await;
    let path = format!("{}/terms", license_page(&license));
    for (field, value, question) in [
        ("maxSeats", "", "Any number of users can then use this license."),
        ("maxSeats", "1", "no other user gets a seat until 2 of them are freed."),
        ("expiresAt", "", "The license then never expires."),
        ("expiresAt", "2020-01-31", "All 3 users will be refused immediately."),
        ("expiresAt", "2207-01-31", "A license of its plan is usually valid for 30 days."),
        ("features", "sso, 3d", "lose: a, b. They get: sso, 3d."),
    ] {
        let page = send(&visitor, &path, &[(field, value)]).await;
        assert!(page.contains(question), "{page}");
        assert_eq!(stored(&app, &license).await, before, "{field}: {value}");
    }
    // Each change of a form is asked about, one by one.
    let both = [("maxSeats", ""), ("expiresAt", "")];
    let first = send(&visitor, &path, &both).await;
    assert!(first.contains("Remove the seat limit?"), "{first}");
    let confirmed = [&both[..], &[("confirmed", " limit")]].concat();
    let second = send(&visitor, &path, &confirmed).await;
    assert!(second.contains("Remove the expiry?"), "{second}");
    assert!(second.contains("name=\"confirmed\" value=\" limit end\""), "{second}");
    assert_eq!(stored(&app, &license).await, before);
    let page = send(&visitor, &path, &[("expiresAt", "2020-01-31"), ("confirmed", "end")]).await;
    assert!(page.contains("to 31 Jan 2020. That is in the past"), "{page}");
    assert_eq!(app.validate("ada").await.verdict(), "expired");
    // It is over already.
    let page = send(&visitor, &path, &[("expiresAt", "2020-01-30")]).await;
    assert!(page.contains("from 31 Jan 2020 to 30 Jan 2020."), "{page}");
}

/// A notice says what came of the form, not what usually does.
#[tokio::test]
async fn notices_say_what_has_happened() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "grace", "linus"] {
        app.post("/api/v1/admin/users", json!({ "externalId": user })).await.data();
    }
    let visitor = admin(&app).await;
    let page = license_page(&license);
    let act = async |form: &str, field: &str, value: &str| {
        let answer = visitor.post(&format!("{page}/{form}"), &[(field, value)]).await;
        let location = answer.headers()[LOCATION].to_str().unwrap();
        let (path, notice) = location.split_once("?notice=").unwrap();
        assert_eq!(path, page);
        notice.to_owned()
    };
    assert_eq!(act("assign", "userId", "ada").await, "assigned");
    app.validate("ada").await.data();
    for (form, field, value, notice) in [
        ("assign", "userId", "grace", "assigned-full&to=1+of+1"),
        ("assign", "userId", "grace", "assigned-before"),
        ("unassign", "userId", "grace", "unassigned"),
        ("unassign", "userId", "grace", "unassigned-before"),
        ("unassign", "userId", "ada", "seat-freed"),
        ("terms", "maxSeats", "1", "unchanged"),
        ("terms", "maxSeats", "+5", "limit-changed&from=1&to=6"),
        ("status", "status", "suspended", "license-suspended"),
        ("assign", "userId", "linus", "assigned-invalid&to=suspended"),
    ] {
        assert_eq!(act(form, field, value).await, notice, "{form} {value}");
    }
    app.update(&license, json!({ "expiresAt": "2020-01-01T00:00:00Z" })).await;
    assert_eq!(act("assign", "userId", "ada").await, "assigned-invalid&to=suspended");
    let shown = visitor.get(&format!("{page}?notice=limit-changed&from=1&to=6")).await;
    assert!(shown.text().await.unwrap().contains("Seat limit changed from 1 to 6."));
    // An invented address shows no notice of its own.
    for query in ["limit-changed", "limit-changed&from=1&to=call+555-1234,+now+for+your+refund"] {
        let shown = visitor.get(&format!("{page}?notice={query}")).await.text().await.unwrap();
        assert!(!shown.contains("Seat limit changed"), "{shown}");
    }
}

/// A date that is filled in is meant, and a key that stops immediately is asked about.
#[tokio::test]
async fn a_keys_date_and_its_sudden_end_are_meant() {
    let app = App::start().await;
    let visitor = admin(&app).await;
    let fields =
        [("name", "ci"), ("role", "read"), ("expires", "365"), ("expires_on", "2090-01-31")];
    assert_eq!(visitor.post("/dashboard/live/keys", &fields).await.status(), 201);
    let keys = app.get("/api/v1/admin/keys").await;
    let key = keys.list().iter().find(|key| key["name"] == "ci").unwrap().clone();
    assert!(key["expiresAt"].as_str().unwrap().starts_with("2090-02-01"), "{key}");
    let roll = format!("/dashboard/live/keys/{}/roll", key["id"].as_str().unwrap());
    let page = send(&visitor, &roll, &[("overlap", "0")]).await;
    assert!(page.contains("Stop the old key immediately?"), "{page}");
    assert_eq!(app.get("/api/v1/admin/keys").await.list().len(), keys.list().len());
    let fields = [("overlap", "0"), ("confirmed", "yes")];
    assert_eq!(visitor.post(&roll, &fields).await.status(), 201);
}

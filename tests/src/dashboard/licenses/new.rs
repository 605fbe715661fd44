//! A new license.

use serde_json::json;

use super::{MARKUP, admin, location, signed_in};
use crate::harness::App;

#[tokio::test]
async fn a_license_is_created_from_a_plan_and_assigned_to_users() {
    let app = App::start().await;
    let product = app.product(MARKUP).await;
    app.plan_of(&product, json!({ "name": "Solo" })).await;
    let team = json!({ "name": MARKUP, "maxSeats": 5, "features": [MARKUP] });
    let team = app.plan_of(&product, team).await;
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open("/dashboard/live/licenses").await;
    browser.sees("No licenses yet.").await;
    browser.click("Create license").await;
    browser.sees("Leave empty for the plan’s days.").await;
    // None is chosen by chance.
    assert_eq!(browser.value("Plan").await, "");
    browser.choose("Plan", &format!("{MARKUP} · {MARKUP}, 5 seats, no expiry")).await;
    browser.fill("Valid for (days)", "36501").await;
    browser.fill("Users to assign", &format!("ada\n\n{MARKUP}")).await;
    browser.click("Create license").await;
    browser.sees("The days must be a whole number from 1 to 36500.").await;
    assert_eq!(browser.value("Plan").await, team);
    assert_eq!(browser.value("Users to assign").await, format!("ada\n\n{MARKUP}"));
    browser.fill("Valid for (days)", "30").await;
    browser.click("Create license").await;
    browser.sees("Create 2 new users?").await;
    browser.click("Back").await;
    browser.sees("Create a license").await;
    assert_eq!(browser.value("Plan").await, team);
    assert_eq!(browser.value("Valid for (days)").await, "30");
    browser.click("Create license").await;
    browser.click("Create users and license").await;
    browser.sees("License created.").await;
    browser.sees("0 of 5").await;
    browser.sees("in 30 days").await;
    let text = browser.text().await;
    // The product, the plan, the feature, and the user with the event.
    assert!(text.matches(MARKUP).count() >= 5, "{text}");
    for user in ["ada", MARKUP] {
        assert_eq!(app.validate(user).await.verdict(), "valid");
    }
    browser.reload().await;
    browser.sees("2 of 5").await;
    assert_eq!(app.get("/api/v1/admin/licenses").await.list().len(), 1);
    let events = app.get("/api/v1/admin/events?type=license.created").await;
    assert_eq!(events.list()[0]["actor"]["type"], "session");

    browser.open(&format!("/dashboard/live/licenses/new?plan={team}")).await;
    assert_eq!(browser.value("Plan").await, team);
}

/// The user goes back, or the connection was lost: what was left out is made up for, and nothing is
/// done twice.
#[tokio::test]
async fn a_form_that_is_sent_twice_creates_one_license() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let visitor = admin(&app).await;
    let fields = [
        ("once", "1"),
        ("planId", plan.as_str()),
        ("users", "ada\r\ngrace"),
        ("confirmed", "ada\ngrace"),
    ];
    let first = visitor.post("/dashboard/live/licenses", &fields).await;
    let licenses = app.get("/api/v1/admin/licenses").await;
    let [license] = licenses.each("id")[..] else { panic!("{licenses}") };
    app.unassign(license, "grace").await.data();
    let second = visitor.post("/dashboard/live/licenses", &fields).await;
    assert_eq!(location(&first), location(&second));
    assert_eq!(location(&first), format!("{}?notice=license-created", super::page_of(license)));
    assert_eq!(app.get("/api/v1/admin/licenses").await.list().len(), 1);
    assert_eq!(app.validate("grace").await.verdict(), "valid");
}

#[tokio::test]
async fn a_mistake_creates_nothing() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let visitor = admin(&app).await;
    let many = (0..101).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let unknown = [("planId", "pln_01h455vb4pex5vsknk084sn02q")];
    for (field, fields) in
        [("planId", &unknown[..]), ("users", &[("planId", plan.as_str()), ("users", &many)])]
    {
        let answer = visitor.post("/dashboard/live/licenses", fields).await;
        assert_eq!(answer.status(), 400, "{field}");
        let page = answer.text().await.unwrap();
        assert!(page.contains(&format!("id=\"{field}-error\"")), "{page}");
    }
    assert_eq!(app.get("/api/v1/admin/licenses").await.list().len(), 0);
    assert!(app.user("0").await.is_null());
}

/// The license exists anyway, and its page names the users who were left out.
#[tokio::test]
async fn users_whom_it_cannot_be_assigned_to_are_named() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    for _ in 0..100 {
        let license = app.license_of(&plan).await;
        app.assign(&license, "rich").await.data();
    }
    let visitor = admin(&app).await;
    let fields = [
        ("once", "1"),
        ("planId", plan.as_str()),
        ("users", "ada\nrich\ngrace"),
        ("confirmed", "ada\ngrace"),
    ];
    let answer = visitor.post("/dashboard/live/licenses", &fields).await;
    assert_eq!(answer.status(), 400);
    let page = answer.text().await.unwrap();
    assert!(page.contains("The license was created, but not assigned to every user"), "{page}");
    assert!(page.contains(">rich: The limit of 100 licenses"), "{page}");
    assert!(!page.contains("ada: ") && !page.contains("grace: "), "{page}");
    for user in ["ada", "grace"] {
        assert_eq!(app.validate(user).await.verdict(), "valid");
    }
}

/// A list of more than two hundred plans is of no use.
#[tokio::test]
async fn a_plan_of_very_many_is_named_by_its_id() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let mut plan = String::new();
    for _ in 0..200 {
        plan = app.plan_of(&product, json!({})).await;
    }
    let visitor = admin(&app).await;
    let new = "/dashboard/live/licenses/new";
    let page = async |path: &str| visitor.get(path).await.text().await.unwrap();
    assert!(page(new).await.contains("<select id=\"planId\""));
    assert!(page("/dashboard/live/licenses").await.contains("<select id=\"plan\""));
    app.plan_of(&product, json!({})).await;
    assert!(page(new).await.contains("There are too many plans to list"));
    assert!(page("/dashboard/live/licenses").await.contains("<input id=\"plan\""));
    let answer = visitor.post("/dashboard/live/licenses", &[("planId", &plan)]).await;
    assert!(location(&answer).ends_with("?notice=license-created"));
}

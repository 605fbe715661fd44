//! The feed of events: the change, its actor, and the values before and after.

use serde_json::json;

use super::{MARKUP, is_fit_for_everyone, signed_in};
use crate::harness::{App, Browser};

const EVENTS: &str = "/dashboard/live/events";

/// The types of the events that are shown.
async fn types(browser: &Browser) -> Vec<String> {
    let script =
        "return [...document.querySelectorAll('.feed .line > code')].map(it => it.innerText)";
    let types = browser.script(script).await;
    types.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// The lines that are shown, without their times.
async fn lines(browser: &Browser) -> Vec<String> {
    let script = "return [...document.querySelectorAll('.feed .line')].map(line =>
        [...line.children].slice(0, -1).map(it => it.textContent.trim()).join(' '))";
    let lines = browser.script(script).await;
    lines.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// The rows of the details of the newest event.
async fn rows(browser: &Browser) -> serde_json::Value {
    let script = "const rows = document.querySelector('.feed table').rows;
        return [...rows].map(row => [...row.cells].map(cell => cell.textContent))";
    browser.script(script).await
}

/// Each event names who acted and what it is about, and leads there.
#[tokio::test]
async fn an_event_names_its_records_and_who_acted() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.assign(&license, MARKUP).await.data();
    app.validate(MARKUP).await.data();
    let user = app.get("/api/v1/admin/users").await.list()[0]["id"].as_str().unwrap().to_owned();
    let browser = signed_in(&app).await;
    browser.open("/dashboard/live/keys").await;
    browser.fill("Name", MARKUP).await;
    browser.click("Create key").await;
    browser.sees("It is not shown again").await;
    browser.open(EVENTS).await;
    let short = format!("…{}", &license[license.len() - 6..]);
    assert_eq!(
        lines(&browser).await[..8],
        [
            format!("key.created key {MARKUP} by key of a test (dashboard)"),
            "key.created key key of a test by licd keys create".to_owned(),
            format!("seat.taken license {short}, user {MARKUP} by first key"),
            format!("license.assigned license {short}, user {MARKUP} by first key"),
            format!("user.created user {MARKUP} by first key"),
            format!("license.created license {short} by first key"),
            "plan.created plan Team by first key".to_owned(),
            "product.created product Studio by first key".to_owned(),
        ]
    );
    browser.click_in("seat.taken", &format!("license {short}")).await;
    browser.is_at(&format!("/dashboard/live/licenses/{license}")).await;
    browser.open(EVENTS).await;
    browser.click_in("user.created", &format!("user {MARKUP}")).await;
    browser.is_at(&format!("/dashboard/live/users/{user}")).await;

    app.delete(&format!("/api/v1/admin/users/{user}")).await.data();
    browser.open(&format!("{EVENTS}?type=user.deleted")).await;
    browser.sees("Deleted with: id, ").await;
    let links = "return document.querySelectorAll('.feed a').length";
    assert_eq!(browser.script(links).await, 0);
}

/// Changed values stand side by side, as JSON. A new record has its values.
#[tokio::test]
async fn details_show_before_and_after() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 1, "features": ["sso"] })).await;
    let path = format!("/api/v1/admin/plans/{plan}");
    let change = json!({ "maxSeats": 2, "features": ["sso", "export"], "name": MARKUP });
    let before = app.get(&path).await.data().clone();
    let after = app.patch(&path, change).await.data().clone();
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(&format!("{EVENTS}?subject={plan}")).await;
    browser.click("Changed: name, maxSeats, features, updatedAt").await;
    browser.sees(&json!(MARKUP).to_string()).await;
    let changed =
        |member: &str| json!([member, before[member].to_string(), after[member].to_string()]);
    assert_eq!(
        rows(&browser).await,
        json!([
            ["Member", "Before", "After"],
            changed("name"),
            changed("maxSeats"),
            changed("features"),
            changed("updatedAt")
        ])
    );
    assert!(rows(&browser).await[3][2] == r#"["sso","export"]"#);

    browser.open(&format!("{EVENTS}?subject={plan}&type=plan.created")).await;
    let rows = rows(&browser).await;
    assert_eq!(rows[0], json!(["Member", "Value"]));
    let members: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| row[0].as_str().unwrap()).collect();
    assert!(members.contains(&"maxSeats") && !members.contains(&"expiresInDays"), "{members:?}");
}

/// Filters that came with a link stay while one turns pages and filters further, and go with a click.
#[tokio::test]
async fn the_feed_is_filtered_and_paged() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.update(&license, json!({ "name": MARKUP })).await.data();
    for n in 0..26 {
        app.assign(&license, "ada").await.data();
        app.unassign(&license, "ada").await.data();
        if n == 0 {
            app.assign(&license, "grace").await.data();
        }
    }
    let browser = signed_in(&app).await;
    browser.without_script().await;
    let user = app.user("ada").await["id"].as_str().unwrap().to_owned();
    browser.open(&format!("/dashboard/live/users/{user}")).await;
    browser.click("All events").await;
    browser.is_at(&format!("{EVENTS}?user=ada")).await;
    browser.sees("User: ada").await;
    let newest = types(&browser).await;
    assert_eq!(newest.len(), 50);
    assert_eq!(newest[..2], ["license.unassigned", "license.assigned"]);
    browser.click("Older").await;
    browser.sees("Newest").await;
    assert_eq!(
        types(&browser).await,
        ["license.unassigned", "license.assigned", "user.created"].as_slice()
    );
    browser.click("Newest").await;
    browser.is_at(&format!("{EVENTS}?user=ada")).await;

    browser.open(&format!("{EVENTS}?user=grace&subject={license}")).await;
    browser.choose("Type", "license.assigned").await;
    browser.click("Filter").await;
    browser.is_at(&format!("{EVENTS}?type=license.assigned&user=grace&subject={license}")).await;
    assert_eq!(types(&browser).await, ["license.assigned"]);
    browser.sees(&format!("Record: {MARKUP}")).await;
    browser.click(&format!("Remove Record: {MARKUP} ×")).await;
    browser.is_at(&format!("{EVENTS}?type=license.assigned&user=grace")).await;
    browser.open(&format!("{EVENTS}?user=nobody")).await;
    browser.sees("No events match.").await;
    browser.click("Clear").await;
    browser.is_at(EVENTS).await;
    assert_eq!(types(&browser).await.len(), 50);
}

/// A visitor who pauses in the middle of a word continues to type in the same page.
#[tokio::test]
async fn a_filter_waits_for_enter() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.open("/dashboard/live/licenses").await;
    // Every pause is over immediately.
    let hurry = "window.setTimeout = (done) => done();
        for (const form of document.forms) {
            form.addEventListener('submit', () => { document.title = 'submitted'; });
        }";
    browser.script(hurry).await;
    browser.fill("Name, or end of the license ID", "emma").await;
    assert!(!browser.title().await.contains("submitted"));
    browser.press("Enter").await;
    browser.is_at("/dashboard/live/licenses?product=&plan=&status=&expiry=&seats=&end=emma").await;
}

/// Also when the details are open, and with the longest names.
#[tokio::test]
async fn the_feed_is_fit_for_everyone() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.set_status(&license, "suspended").await.data();
    app.assign(&license, &"W".repeat(255)).await.data();
    let browser = signed_in(&app).await;
    is_fit_for_everyone(&browser, EVENTS).await;
    let open = "document.querySelectorAll('details').forEach(it => { it.open = true })";
    browser.script(open).await;
    browser.is_accessible().await;
    browser.narrow().await;
    browser.is_accessible().await;
    assert!(!browser.overflows().await);
}

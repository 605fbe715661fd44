//! The feed of events: what changed, who did it, and filters.

use serde_json::json;

use super::{MARKUP, is_fit_for_everyone, signed_in};
use crate::harness::{App, Browser};

const EVENTS: &str = "/dashboard/live/events";

/// The types of the events that are shown.
async fn types(browser: &Browser) -> Vec<String> {
    let script =
        "return [...document.querySelectorAll('main .list > li > code')].map(it => it.innerText)";
    let types = browser.script(script).await;
    types.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// The lines that are shown, without their times.
async fn lines(browser: &Browser) -> Vec<String> {
    let script = "return [...document.querySelectorAll('main .list > li')].map(line =>
        [...line.children].slice(0, -1).map(it => it.textContent.trim()).join(' '))";
    let lines = browser.script(script).await;
    lines.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
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
    browser.sees("user.deleted").await;
    let links = "return document.querySelectorAll('main .list a').length";
    assert_eq!(browser.script(links).await, 0);
}

/// A change is in words, with the values before and after. A new record has none before.
#[tokio::test]
async fn a_line_says_what_changed() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 1, "features": ["sso"] })).await;
    let change = json!({ "maxSeats": 2, "features": ["sso", "export"], "name": "<b>Pro" });
    app.patch(&format!("/api/v1/admin/plans/{plan}"), change).await.data();
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(&format!("{EVENTS}?subject={plan}")).await;
    assert_eq!(
        lines(&browser).await,
        [
            "plan.updated plan <b>Pro name: Team → <b>Pro Seats: 1 → 2 features: sso → sso, export \
             by first key",
            "plan.created plan Team by first key",
        ]
    );
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
    browser
        .is_at(&format!(
            "{EVENTS}?type=license.assigned&by=&actor=&day=&user=grace&subject={license}"
        ))
        .await;
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
    browser.fill("Name, metadata or ID", "emma").await;
    assert!(!browser.title().await.contains("submitted"));
    browser.press("Enter").await;
    browser
        .is_at("/dashboard/live/licenses?product=&plan=&status=&seats=&trial=&from=&to=&end=emma")
        .await;
}

/// Also with the longest names.
#[tokio::test]
async fn the_feed_is_fit_for_everyone() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.set_status(&license, "suspended").await.data();
    app.assign(&license, &"W".repeat(255)).await.data();
    let browser = signed_in(&app).await;
    is_fit_for_everyone(&browser, EVENTS).await;
}

/// One click from the feed, and one from the page of a key.
#[tokio::test]
async fn what_people_did_is_found_by_day_and_by_key() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.update(&license, json!({ "name": "Ember Construction" })).await.data();
    app.assign(&license, "ada").await.data();
    app.validate("ada").await.data();
    let browser = signed_in(&app).await;
    browser.open(EVENTS).await;
    browser.sees("seat.taken").await;
    browser.click("By people today").await;
    browser.sees("license Ember Construction").await;
    assert!(!browser.text().await.contains("seat.taken by"));
    let lines = "return document.querySelectorAll('.list li').length";
    assert!(browser.script(lines).await.as_i64() > Some(3));
    browser.click("Yesterday").await;
    browser.sees("No events match.").await;
    browser.open("/dashboard/live/keys").await;
    browser.click("first key").await;
    browser.click("What it changed").await;
    browser.sees("license.updated").await;
    assert_eq!(browser.value("Key").await.get(..4), Some("key_"));
    is_fit_for_everyone(&browser, &browser.path().await).await;
}

//! The list: its filters and its pages.

use chrono::TimeDelta;
use common::Timestamp;
use serde_json::json;

use super::{MARKUP, admin, signed_in};
use crate::harness::{App, Visitor};

/// The ends of the ids that the page lists, in order.
async fn shown(visitor: &Visitor, query: &str) -> Vec<String> {
    let answer = visitor.get(&format!("/dashboard/live/licenses?{query}")).await;
    assert_eq!(answer.status(), 200, "{query}");
    let page = answer.text().await.unwrap();
    let titles = page.split("title=\"lic_").skip(1);
    titles.map(|rest| format!("lic_{}", rest.split('"').next().unwrap())).collect()
}

#[tokio::test]
async fn licenses_are_found_by_each_filter() {
    let app = App::start().await;
    let (studio, render) = (app.product("Studio").await, app.product("Render").await);
    let team = app.plan_of(&studio, json!({ "expiresInDays": 9 })).await;
    let farm = app.plan_of(&render, json!({ "expiresInDays": 3, "trial": true })).await;
    let a = app.license_of(&team).await;
    let b = app.license_of(&farm).await;
    let c = app.license_of(&team).await;
    let d = app.license_of(&farm).await;
    app.update(&c, json!({ "expiresAt": "2020-01-31T00:00:00Z" })).await.data();
    app.update(&d, json!({ "clear": ["expiresAt"] })).await.data();
    app.set_status(&b, "suspended").await.data();
    app.update(&a, json!({ "maxSeats": 1 })).await.data();
    app.assign(&a, MARKUP).await.data();
    assert_eq!(app.validate(MARKUP).await.verdict(), "valid");
    app.test_mode().await.license(json!({})).await;
    let visitor = admin(&app).await;
    let [today, later] = [0, 30].map(|days| Timestamp::now().plus(TimeDelta::days(days)).date());
    let soon = format!("from={today}&to={later}");
    let (upper, none) = (a[20..].to_uppercase(), "usr_01h455vb4pex5vsknk084sn02q");
    for (query, found) in [
        (String::new(), vec![&d, &c, &b, &a]),
        (format!("product={studio}"), vec![&c, &a]),
        (format!("plan={farm}"), vec![&d, &b]),
        ("status=suspended".into(), vec![&b]),
        ("status=revoked".into(), vec![]),
        // As the badge says, whatever is stored.
        ("status=active".into(), vec![&d, &a]),
        ("status=expired".into(), vec![&c]),
        (format!("status=expired&product={render}"), vec![]),
        (format!("status=active&plan={team}"), vec![&a]),
        ("status=expired&ends=ended".into(), vec![&c]),
        ("status=active&ends=ended".into(), vec![]),
        // The first to expire is the first in the list.
        (soon.clone(), vec![&b, &a]),
        (format!("{soon}&product={studio}&status=active"), vec![&a]),
        ("ends=ended".into(), vec![&c]),
        (format!("ends=ended&plan={team}"), vec![&c]),
        (format!("ends=ended&plan={farm}"), vec![]),
        (format!("{soon}&plan={team}"), vec![&a]),
        (format!("{soon}&plan={team}&status=suspended"), vec![]),
        (format!("{soon}&status=suspended&end={}", &b[24..]), vec![&b]),
        (format!("{soon}&trial=false"), vec![&a]),
        ("trial=true".into(), vec![&d, &b]),
        (format!("seats=full&{soon}&end={}", &a[24..]), vec![&a]),
        ("seats=full".into(), vec![&a]),
        (format!("seats=full&product={studio}&plan={team}"), vec![&a]),
        (format!("seats=full&product={render}"), vec![]),
        (format!("seats=full&plan={farm}"), vec![]),
        (format!("end={upper}"), vec![&a]),
        (format!("end={a}"), vec![&a]),
        // As pages show it.
        (format!("end=…{}", &a[24..]), vec![&a]),
        (format!("product={none}"), vec![]),
        ("plan=nonsense".into(), vec![]),
    ] {
        assert_eq!(shown(&visitor, &query).await.iter().collect::<Vec<_>>(), found, "{query}");
    }
}

#[tokio::test]
async fn a_filter_that_is_not_valid_is_named() {
    let app = App::start().await;
    let visitor = admin(&app).await;
    for (query, message) in [
        ("status=nonsense", "The status must be one of active"),
        ("ends=nonsense", "The month must be one such as 2027-01."),
        ("to=%2B262142-12-31", "The day must be a date, such as 2027-01-31."),
        ("ends=%2B262142-12", "The month must be one such as 2027-01."),
        ("from=2027-02-30", "The day must be a date, such as 2027-01-31."),
        ("seats=some", "The seats must be one of full, over."),
    ] {
        let answer = visitor.get(&format!("/dashboard/live/licenses?{query}")).await;
        assert_eq!(answer.status(), 400);
        let page = answer.text().await.unwrap();
        assert!(page.contains(message) && !page.contains("No licenses match"), "{page}");
    }
}

/// The filters stay, and each page follows the one before.
#[tokio::test]
async fn a_filtered_list_is_turned_page_by_page() {
    let app = App::start().await;
    let product = app.product(MARKUP).await;
    let plan = json!({ "name": MARKUP, "expiresInDays": 9, "maxSeats": 3 });
    let plan = app.plan_of(&product, plan).await;
    let mut made = Vec::new();
    for _ in 0..51 {
        made.push(app.license_of(&plan).await);
    }
    app.license(json!({})).await;
    let browser = signed_in(&app).await;
    browser.without_script().await;
    let end = |license: &str| format!("…{}", &license[24..]);
    let (oldest, newest) = (end(&made[0]), end(&made[50]));
    let rows = "return document.querySelectorAll('tbody tr').length";
    let next_year = Timestamp::now().plus(TimeDelta::days(365)).date();
    for (query, first, last, [back, on]) in [
        (String::new(), &newest, &oldest, ["Newest", "Older"]),
        (format!("to={next_year}"), &oldest, &newest, ["Soonest", "Later"]),
    ] {
        let (filter, choice) = ("Plan", format!("{MARKUP} · {MARKUP}"));
        browser.open(&format!("/dashboard/live/licenses?{query}")).await;
        browser.choose(filter, &choice).await;
        browser.click("Filter").await;
        browser.sees(on).await;
        browser.sees(first).await;
        assert_eq!(browser.script(rows).await, 50);
        let text = browser.text().await;
        assert!(text.contains(MARKUP) && !text.contains(last.as_str()), "{text}");
        let chosen = browser.value(filter).await;
        browser.click(on).await;
        browser.sees(last).await;
        assert_eq!(browser.script(rows).await, 1);
        assert_eq!(browser.value(filter).await, chosen);
        browser.click(back).await;
        browser.sees(first).await;
        assert_eq!(browser.value(filter).await, chosen);
    }
    browser.fill("Name, metadata or ID", "nothing").await;
    browser.click("Filter").await;
    browser.sees("No licenses match these filters.").await;
    browser.click("Clear").await;
    browser.sees("0 of 3").await;
}

/// Renewals of a month: two clicks to the list with its totals, and a question with all ends.
#[tokio::test]
async fn the_marked_licenses_of_a_month_are_renewed() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let plan = app.plan_of(&product, json!({ "expiresInDays": 365, "maxSeats": 5 })).await;
    let end = Timestamp::now().plus(TimeDelta::days(1));
    let mut made = Vec::new();
    for name in ["Ember Construction", "Nord Bau", "Kiel Architects"] {
        let license = app.license_of(&plan).await;
        app.update(&license, json!({ "name": name, "expiresAt": end.end_of_day() })).await.data();
        made.push(license);
    }
    app.set_status(&made[2], "suspended").await.data();
    let browser = signed_in(&app).await;
    browser.open("/dashboard/live/").await;
    browser.click("Licenses").await;
    browser.click(&end.date().format("%b %Y").to_string()).await;
    browser.sees("3 licenses · 15 seats sold, 0 held").await;
    for name in ["Ember Construction", "Nord Bau", "Kiel Architects"] {
        browser.click(&format!("Mark {name}")).await;
    }
    browser.click("Renew the marked…").await;
    browser.sees("Renew 2 licenses?").await;
    browser.sees("Kiel Architects is not renewed. A suspended or revoked license").await;
    app.update(&made[1], json!({ "maxSeats": 6 })).await.data();
    browser.click("Renew 2 licenses").await;
    browser.sees("Renewed 1 license, and 1 not").await;
    browser.sees("Nord Bau: ").await;
    let stored = app.get(&format!("/api/v1/admin/licenses/{}", made[0])).await;
    let renewed = stored.data()["expiresAt"].as_str().unwrap().parse::<Timestamp>().unwrap();
    assert_eq!(Some(renewed), end.end_of_day().plus_months(12));
    browser.click("Back").await;
    browser.sees("2 licenses · 11 seats sold").await;
}

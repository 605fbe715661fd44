//! The list: its filters and its pages.

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
    let farm = app.plan_of(&render, json!({ "expiresInDays": 3 })).await;
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
        ("status=expired&expiry=expired".into(), vec![&c]),
        ("status=active&expiry=expired".into(), vec![]),
        // The first to expire is the first in the list.
        ("expiry=30".into(), vec![&b, &a]),
        (format!("expiry=30&product={studio}&status=active"), vec![&a]),
        ("expiry=expired".into(), vec![&c]),
        (format!("expiry=expired&plan={team}"), vec![&c]),
        (format!("expiry=expired&plan={farm}"), vec![]),
        (format!("expiry=30&plan={team}"), vec![&a]),
        (format!("expiry=30&plan={team}&status=suspended"), vec![]),
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
    for (query, message) in [
        ("status=nonsense", "The status must be one of active"),
        ("expiry=nonsense", "The expiry must be one of those in the list."),
        ("expiry=30&end=ada", "The expiry can be combined with product, plan and status only."),
        ("seats=full&end=ada", "Full licenses can be filtered by product and plan only."),
        ("seats=full&expiry=30", "Full licenses can be filtered by product and plan only."),
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
    for (filter, choice, first, last, [back, on]) in [
        ("Plan", format!("{MARKUP} · {MARKUP}"), &newest, &oldest, ["Newest", "Older"]),
        ("Expiry", "within 30 days".to_owned(), &oldest, &newest, ["Soonest", "Later"]),
    ] {
        browser.open("/dashboard/live/licenses").await;
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
    browser.fill("Name, or end of the license ID", MARKUP).await;
    browser.click("Filter").await;
    browser.sees("The expiry can be combined with product, plan and status only.").await;
    assert_eq!(browser.value("Name, or end of the license ID").await, MARKUP);
    browser.click("Clear").await;
    browser.sees("0 of 3").await;
}

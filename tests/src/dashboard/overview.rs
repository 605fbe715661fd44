//! The overview: the first steps of a new tenant, outcomes of validations, and records that need
//! attention.

use chrono::Duration;
use common::{Mode, Role, Timestamp, hour_of};
use serde_json::{Value, json};

use super::{MARKUP, is_fit_for_everyone, signed_in, signed_in_as};
use crate::harness::{App, Browser, until};

const OVERVIEW: &str = "/dashboard/live";

/// Counts validations in a past hour, directly in the database, because the interface knows only
/// the present.
async fn count(app: &App, hours_ago: i64, outcome: &'static str, count: i64) {
    let hour = hour_of(Timestamp::now()).plus(-Duration::hours(hours_ago));
    let mut conn = app.db().write().await.unwrap();
    let insert = "insert into outcomes (world, hour, outcome, count)
        select id, $1, $2, $3 from worlds where mode = 'live'";
    let insert = conn.query(insert).bind(hour).bind(outcome).bind(count);
    assert_eq!(insert.execute().await.unwrap(), 1);
}

/// Waits until this many refusals are counted, which happens after the responses.
async fn until_refused(app: &App, times: usize) {
    until("refusals are written", async || {
        app.get("/api/v1/admin/refusals").await.list().len() == times
    })
    .await;
}

/// The text of a card, by its heading.
async fn card(browser: &Browser, heading: &str) -> String {
    let script = format!(
        "return [...document.querySelectorAll('section')]
            .find(section => section.querySelector('h2')?.innerText === {}).innerText",
        json!(heading)
    );
    browser.script(&script).await.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_new_tenant_is_led_to_its_first_user() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.is_at(OVERVIEW).await;
    assert_eq!(browser.heading().await, "Welcome to licd");
    browser.click("Create a product").await;
    browser.is_at("/dashboard/live/products").await;
    let product = app.product("Studio").await;
    let leads_on = async |step: &str, path: &str| {
        browser.open(OVERVIEW).await;
        let links = browser.script("return document.querySelectorAll('.steps a').length").await;
        assert!(links.as_i64() <= Some(1), "only the next step is to be taken");
        browser.click(step).await;
        browser.is_at(path).await;
    };
    leads_on("Create a plan", &format!("/dashboard/live/products/{product}")).await;
    let plan = app.plan_of(&product, json!({})).await;
    leads_on("Create a license", "/dashboard/live/licenses/new").await;
    let license = app.license_of(&plan).await;
    leads_on("Assign a user", &format!("/dashboard/live/licenses/{license}")).await;
    is_fit_for_everyone(&browser, OVERVIEW).await;
    app.assign(&license, "ada").await.data();
    leads_on("create one", "/dashboard/live/keys").await;
    browser.open(OVERVIEW).await;
    assert_eq!(browser.heading().await, "Overview");
    for nothing in
        ["No recent refusals.", "No license is full.", "No licenses expire within 30 days."]
    {
        browser.sees(nothing).await;
    }
    is_fit_for_everyone(&browser, OVERVIEW).await;
}

#[tokio::test]
async fn who_may_only_look_is_asked_for_nothing() {
    let app = App::start().await;
    let browser = signed_in_as(&app, Role::Read, Mode::Live).await;
    browser.sees("Create a product").await;
    let actions = "return document.querySelectorAll('main a, main form').length";
    assert_eq!(browser.script(actions).await, 0);
}

/// Tiles compare days. Columns are hours or days, and each leads to its refusals.
#[tokio::test]
async fn the_chart_shows_what_validations_came_to() {
    let app = App::start().await;
    let soon = || Timestamp::now().plus(Duration::seconds(30));
    until("the hour has room", async || hour_of(soon()) == hour_of(Timestamp::now())).await;
    count(&app, 0, "valid", 1990).await;
    count(&app, 0, "exceeded_seats", 3).await;
    count(&app, 23, "valid", 5).await;
    count(&app, 23, "expired", 2).await;
    count(&app, 24, "suspended", 40).await;
    count(&app, 47, "revoked", 4).await;
    count(&app, 48, "no_license", 100).await;
    let browser = signed_in(&app).await;
    let tiles = "return [...document.querySelectorAll('.tiles > div')]
        .slice(0, 3).map(tile => tile.innerText.replaceAll('\\n', ' '))";
    let expected = json!([
        "Validations 2,000 in the last 24 hours",
        "Valid 99.7 % 1,995 of them",
        "Refused 5 44 in the 24 hours before"
    ]);
    assert_eq!(browser.script(tiles).await, expected);

    let columns = "return [...document.querySelectorAll('.hits title')].map(it => it.textContent)";
    let day = card(&browser, "Validations").await;
    for text in ["peak 1,990 per hour", "peak 3 per hour", "no free seat 3", "revoked 0"] {
        assert!(day.contains(text), "{text}: {day}");
    }
    let hours = browser.script(columns).await;
    assert_eq!(hours.as_array().unwrap().len(), 24);
    let ends = |name: &Value, end: &str| name.as_str().unwrap().ends_with(end);
    assert!(ends(&hours[0], ": 5 valid; refused: 2 expired"), "{hours}");
    assert!(ends(&hours[1], ": 0 valid; refused: none"), "{hours}");
    assert!(ends(&hours[23], ": 1,990 valid; refused: 3 no free seat"), "{hours}");
    for (length, days) in [("7 days", 7), ("30 days", 30)] {
        browser.click(length).await;
        browser.sees("per day").await;
        let chart = card(&browser, "Validations").await;
        assert!(chart.contains("no license 100") && chart.contains("suspended 40"), "{chart}");
        assert_eq!(browser.script(columns).await.as_array().unwrap().len(), days);
    }
    let last = "return document.querySelector('.hits a:last-child').getAttribute('href')";
    let last = browser.script(last).await;
    browser.open(last.as_str().unwrap()).await;
    assert_eq!(browser.heading().await, "Refusals");
}

/// One of everything that needs attention, with markup in all texts, and where each leads.
#[tokio::test]
async fn cards_show_what_needs_attention() {
    let app = App::start().await;
    let product = app.product(&format!("P {MARKUP}")).await;
    let plan = app.plan_of(&product, json!({ "name": format!("L {MARKUP}"), "maxSeats": 1 })).await;
    let (full, ending) = (app.license_of(&plan).await, app.license_of(&plan).await);
    let days = |days| Timestamp::now().plus(Duration::days(days)).to_string();
    app.update(&ending, json!({ "expiresAt": days(20) })).await.data();
    app.assign(&full, "holder").await.data();
    app.validate("holder").await.data();
    app.assign(&full, "late").await.data();
    for user in ["late", "late", MARKUP] {
        app.validate(user).await.data();
    }
    let key = json!({ "name": MARKUP, "role": "validate", "expiresAt": days(3) });
    let key = app.post("/api/v1/admin/keys", key).await.id();
    until_refused(&app, 2).await;

    let browser = signed_in(&app).await;
    browser.sees("Recent refusals").await;
    let refused = card(&browser, "Recent refusals").await;
    for text in [MARKUP, "no_license", "late", "exceeded_seats", "2×"] {
        assert!(refused.contains(text), "{text}: {refused}");
    }
    let terms = format!("P {MARKUP} · L {MARKUP}");
    let limit = card(&browser, "Full licenses").await;
    assert!(limit.contains(&terms) && limit.contains("1 of 1"), "{limit}");
    assert!(limit.contains(&full[full.len() - 6..]) && !limit.contains("1 of 2"), "{limit}");
    let soon = card(&browser, "Ending soon").await;
    assert!(soon.contains(&terms) && soon.contains("in 20 days"), "{soon}");
    let keys = card(&browser, "Keys that need attention").await;
    assert!(keys.contains(MARKUP) && keys.contains("expires soon"), "{keys}");
    assert!(keys.contains("in 3 days"), "{keys}");
    is_fit_for_everyone(&browser, OVERVIEW).await;
    is_fit_for_everyone(&browser, &format!("{OVERVIEW}/refusals")).await;

    for (place, name, path) in [
        ("Recent refusals", MARKUP, None),
        (
            "Full licenses",
            &*format!("holder {}", short(&full)),
            Some(format!("/dashboard/live/licenses/{full}")),
        ),
        ("Ending soon", &*short(&ending), Some(format!("/dashboard/live/licenses/{ending}"))),
        ("Keys that need attention", MARKUP, Some(format!("/dashboard/live/keys/{key}"))),
    ] {
        browser.open(OVERVIEW).await;
        browser.click_in(place, name).await;
        match path {
            Some(path) => browser.is_at(&path).await,
            None => {
                let is_user = async || browser.path().await.contains("/users/usr_");
                until("the user is shown", is_user).await;
            }
        }
    }
}

fn short(license: &str) -> String {
    format!("…{}", &license[license.len() - 6..])
}

/// Of many there are the newest, and how many there are.
#[tokio::test]
async fn what_is_too_much_for_a_card_is_counted() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 1, "expiresInDays": 9 })).await;
    let mut licenses = Vec::new();
    for _ in 0..51 {
        licenses.push(app.license_of(&plan).await);
    }
    count(&app, 0, "valid", 1).await;
    let mut conn = app.db().write().await.unwrap();
    conn.query("update licenses set seats_used = 1").execute().await.unwrap();
    drop(conn);
    let browser = signed_in(&app).await;
    let text = browser.text().await;
    assert!(text.contains("Full licenses\n50+\nactive licenses"), "{text}");
    assert!(text.contains("Ending soon\n50+\nlicenses within 30 days, without trials"), "{text}");
    assert!(text.contains("Valid\n100.0 %\n1 of them"), "{text}");
    let limit = card(&browser, "Full licenses").await;
    assert_eq!(limit.matches("1 of 1").count(), 8, "{limit}");
    assert!(limit.contains(&short(&licenses[50])) && !limit.contains(&short(&licenses[0])));
    let soon = card(&browser, "Ending soon").await;
    assert_eq!(soon.matches("in 9 days").count(), 8, "{soon}");
    assert!(soon.contains(&short(&licenses[0])) && !soon.contains(&short(&licenses[50])));
}

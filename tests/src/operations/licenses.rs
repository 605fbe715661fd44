//! Licenses by their end, those without a free seat, and the names of what they refer to.

use common::{LicenseId, LicenseWithSeats, ProductId, SeatsTaken, Status, Timestamp};
use licd::ops::licenses::{self, LicenseQuery};
use licd::ops::view::View;
use licd::store::Page;
use serde_json::json;

use super::view_of;
use crate::harness::{App, Caller};

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The licenses of 2030, read one by one.
async fn of_2030(
    view: &View,
    product: Option<ProductId>,
    status: Option<Status>,
) -> Vec<LicenseId> {
    let ends = Some((time("2030-01-01T00:00:00Z"), time("2031-01-01T00:00:00Z")));
    let query = || LicenseQuery { product, status, ends, ..LicenseQuery::default() };
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = licenses::by_end(view.clone(), query(), after, 1).await.unwrap();
        let [one] = &page[..] else { break };
        after = one.license.expires_at.map(|end| (end, one.license.id));
        found.push(one.license.id);
    }
    let whole = licenses::by_end(view.clone(), query(), None, 100).await.unwrap();
    assert_eq!(found, whole.iter().map(|found| found.license.id).collect::<Vec<_>>());
    let early = Some((time("2020-01-01T00:00:00Z"), LicenseId::default()));
    let whole = licenses::by_end(view.clone(), query(), early, 100).await.unwrap();
    assert_eq!(whole.len(), found.len(), "a cursor leads out of the period");
    found
}

#[tokio::test]
async fn licenses_come_in_the_order_of_their_ends() {
    let app = App::start().await;
    let (studio, viewer) = (app.product("Studio").await, app.product("Viewer").await);
    let plans = [app.plan_of(&studio, json!({})).await, app.plan_of(&viewer, json!({})).await];
    let mut made = Vec::new();
    for (plan, end) in [
        (0, Some("2030-12-31T23:59:59.999Z")),
        (1, Some("2030-06-01T00:00:00Z")),
        (0, Some("2030-06-01T00:00:00Z")),
        (0, Some("2030-01-01T00:00:00Z")),
        (0, Some("2029-12-31T23:59:59.999Z")),
        (1, Some("2031-01-01T00:00:00Z")),
        (0, None),
    ] {
        let license = app.license_of(&plans[plan]).await;
        if let Some(end) = end {
            app.update(&license, json!({ "expiresAt": end })).await.data();
        }
        made.push(license);
    }
    app.set_status(&made[2], "suspended").await.data();
    let made: Vec<LicenseId> = made.iter().map(|id| id.parse().unwrap()).collect();
    let [last, june, suspended, first, ..] = made[..] else { panic!("seven were made") };
    let view = view_of(&app, &app).await;
    let (studio, viewer) = (studio.parse().ok(), viewer.parse().ok());
    assert_eq!(of_2030(&view, None, None).await, [first, june, suspended, last]);
    assert_eq!(of_2030(&view, studio, None).await, [first, suspended, last]);
    assert_eq!(of_2030(&view, viewer, None).await, [june]);
    assert_eq!(of_2030(&view, None, Some(Status::Active)).await, [first, june, last]);
    assert_eq!(of_2030(&view, studio, Some(Status::Suspended)).await, [suspended]);
    for other in [app.test_mode().await, app.other_tenant().await] {
        assert_eq!(of_2030(&view_of(&app, &other).await, None, None).await, []);
    }
}

fn full_now() -> LicenseQuery {
    let seats = Some((SeatsTaken::Full, Timestamp::now()));
    LicenseQuery { seats, ..LicenseQuery::default() }
}

async fn full(app: &App, caller: &Caller) -> Vec<String> {
    let view = view_of(app, caller).await;
    let found = licenses::page(view, full_now(), Page::newest_first(None, 100)).await.unwrap();
    let id = |found: LicenseWithSeats| found.license.id.to_string();
    found.into_iter().map(id).collect()
}

/// A license is at its limit while its seats are all used and it is active, whichever of the two
/// changes.
#[tokio::test]
async fn a_license_is_full_while_no_seat_is_free() {
    let app = App::start().await;
    let free = app.license(json!({ "maxSeats": 2 })).await;
    let one = app.license(json!({ "maxSeats": 1 })).await;
    let unlimited = app.license(json!({})).await;
    for (license, user) in [(&one, "ada"), (&free, "grace"), (&unlimited, "lin")] {
        app.assign(license, user).await.data();
        assert_eq!(full(&app, &app).await, [""; 0]);
    }
    for user in ["ada", "grace", "lin"] {
        assert_eq!(app.validate(user).await.verdict(), "valid");
    }
    assert_eq!(full(&app, &app).await, [&*one]);
    app.update(&free, json!({ "maxSeats": 1 })).await.data();
    assert_eq!(full(&app, &app).await, [&*one, &*free]);
    let view = view_of(&app, &app).await;
    let before = Page::newest_first(one.parse().ok(), 1);
    let older = licenses::page(view, full_now(), before).await.unwrap();
    assert_eq!(older.len(), 1);
    assert_eq!((older[0].license.id.to_string(), older[0].seats.used), (free.clone(), 1));
    for other in [app.test_mode().await, app.other_tenant().await] {
        assert_eq!(full(&app, &other).await, [""; 0]);
    }
    app.update(&free, json!({ "expiresAt": "2020-01-31T00:00:00Z" })).await.data();
    assert_eq!(full(&app, &app).await, [&*one], "an ended license lacks no seat");
    app.update(&free, json!({ "clear": ["expiresAt"] })).await.data();
    app.set_status(&free, "suspended").await.data();
    assert_eq!(full(&app, &app).await, [&*one]);
    app.unassign(&one, "ada").await.data();
    assert_eq!(full(&app, &app).await, [""; 0]);
}

#[tokio::test]
async fn a_page_of_licenses_has_the_names_of_its_products_and_plans() {
    let app = App::start().await;
    for (product, plan) in [("Studio", "Team"), ("Viewer", "Solo")] {
        let product = app.product(product).await;
        let plan = app.plan_of(&product, json!({ "name": plan })).await;
        for _ in 0..3 {
            app.license_of(&plan).await;
        }
    }
    let view = view_of(&app, &app).await;
    let page = Page::newest_first(None, 100);
    let page = licenses::page(view.clone(), LicenseQuery::default(), page).await.unwrap();
    let names = licenses::names(view.clone(), &page).await.unwrap();
    let told: Vec<(&str, &str)> = page
        .iter()
        .map(|found| {
            let license = &found.license;
            (names.products[&license.product_id].as_str(), names.plans[&license.plan_id].as_str())
        })
        .collect();
    assert_eq!(told, [[("Viewer", "Solo"); 3], [("Studio", "Team"); 3]].concat());
    assert_eq!((names.products.len(), names.plans.len()), (2, 2));
    let none = licenses::names(view, &[]).await.unwrap();
    assert!(none.products.is_empty() && none.plans.is_empty());
    for other in [app.test_mode().await, app.other_tenant().await] {
        let names = licenses::names(view_of(&app, &other).await, &page).await.unwrap();
        assert!(names.products.is_empty() && names.plans.is_empty());
    }
}

/// People tell licenses apart by a name, or by the first holder and how many others there are.
#[tokio::test]
async fn a_license_has_its_name_or_its_first_holder_as_title() {
    let app = App::start().await;
    let plan = app.plan(json!({ "maxSeats": 3 })).await;
    let (named, held, free) =
        (app.license_of(&plan).await, app.license_of(&plan).await, app.license_of(&plan).await);
    let path = format!("/api/v1/admin/licenses/{named}");
    app.patch(&path, json!({ "name": "Acme" })).await.data();
    for (license, user) in [(&named, "zoe"), (&held, "ada"), (&held, "bob"), (&free, "cyd")] {
        app.assign(license, user).await.data();
        if license != &free {
            app.validate(user).await.data();
        }
    }
    let view = view_of(&app, &app).await;
    let page = Page::newest_first(None, 100);
    let page = licenses::page(view.clone(), LicenseQuery::default(), page).await.unwrap();
    let names = licenses::names(view, &page).await.unwrap();
    let titles: Vec<_> = page.iter().map(|license| names.title_of(license)).collect();
    assert_eq!(titles, [None, Some("ada +1".to_owned()), Some("Acme".to_owned())]);
}

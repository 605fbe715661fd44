//! Products and plans: creation, edits, and the fields that an edit keeps.

use common::{Mode, Role};
use serde_json::json;

use super::{MARKUP, is_fit_for_everyone, signed_in, signed_in_as};
use crate::harness::{App, Browser};

const PRODUCTS: &str = "/dashboard/live/products";

/// From nothing to a plan, using only forms, with markup in every text.
#[tokio::test]
async fn a_product_and_its_plans_are_created_and_edited() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(PRODUCTS).await;
    browser.sees("No products here.").await;
    browser.fill("Product name", "  ").await;
    browser.fill("Product description", MARKUP).await;
    browser.click("Create product").await;
    browser.sees("The name must not be empty.").await;
    assert_eq!(browser.value("Product description").await, MARKUP);
    browser.fill("Product name", MARKUP).await;
    browser.click("Create product").await;
    browser.sees("Product created. Next: add a plan.").await;
    assert_eq!(browser.heading().await, MARKUP);
    let products = app.get("/api/v1/admin/products").await;
    let product = &products.list()[0];
    assert_eq!((&product["name"], &product["description"]), (&MARKUP.into(), &MARKUP.into()));

    browser.sees("No plans yet.").await;
    for (seats, days, features, mistake) in [
        ("0", "", "", "The number of seats must be a whole number from 1 to 1000000."),
        ("", "1.5", "", "The number of days must be a whole number from 1 to 36500."),
        ("", "", "sso\nsso", "Enter at most 100 features, each of them once."),
    ] {
        fill_in_plan(&browser, seats, days, features).await;
        browser.click("Create plan").await;
        browser.sees(mistake).await;
    }
    fill_in_plan(&browser, "5", "365", &format!("{MARKUP}\n\n sso ")).await;
    browser.click("Create plan").await;
    browser.sees("Plan created.").await;
    let plans = app.get("/api/v1/admin/plans").await;
    let created = &plans.list()[0];
    assert_eq!((&created["maxSeats"], &created["expiresInDays"]), (&5.into(), &365.into()));
    assert_eq!(created["features"], json!([MARKUP, "sso"]));
    assert_eq!((&created["name"], &created["description"]), (&MARKUP.into(), &MARKUP.into()));
    assert_eq!(created["productId"], product["id"]);
    let plan = created["id"].as_str().unwrap();
    browser.is_at(&format!("/dashboard/live/plans/{plan}?notice=plan-created")).await;

    browser.open(PRODUCTS).await;
    browser.sees("365 days").await;
    assert!(browser.text().await.matches(MARKUP).count() >= 4);
    let licenses = format!("return document.querySelector('td a[href$=\"licenses?plan={plan}\"]')");
    assert!(!browser.script(&licenses).await.is_null());
    browser.click_in("365 days", MARKUP).await;
    browser.is_at(&format!("/dashboard/live/plans/{plan}")).await;
}

/// Fills in the form for a plan. Its name and description are markup.
async fn fill_in_plan(browser: &Browser, seats: &str, days: &str, features: &str) {
    for (label, text) in [
        ("Name", MARKUP),
        ("Description", MARKUP),
        ("Seats", seats),
        ("Valid for (days)", days),
        ("Features", features),
    ] {
        browser.fill(label, text).await;
    }
}

#[tokio::test]
async fn an_edit_leaves_existing_licenses_alone() {
    let app = App::start().await;
    let product = app.product("Studio").await;
    let terms = json!({ "maxSeats": 5, "expiresInDays": 365, "features": ["sso", "export"],
        "description": "for teams" });
    let plan = app.plan_of(&product, terms).await;
    let license = app.license_of(&plan).await;
    let path = format!("/api/v1/admin/licenses/{license}");
    let before = app.get(&path).await.data().clone();
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(&format!("/dashboard/live/plans/{plan}")).await;
    browser.sees("Existing licenses keep their terms.").await;
    assert_eq!(browser.value("Features").await, "sso\nexport");
    browser.fill("Name", "Crew").await;
    for label in ["Description", "Seats", "Valid for (days)", "Features"] {
        browser.fill(label, "").await;
    }
    browser.click("Save").await;
    browser.sees("Plan saved.").await;
    browser.sees("no limit").await;
    let changed = app.get(&format!("/api/v1/admin/plans/{plan}")).await;
    assert_eq!(changed["name"], "Crew");
    for member in ["description", "maxSeats", "expiresInDays"] {
        assert!(changed[member].is_null(), "{member}: {changed}");
    }
    assert_eq!(changed["features"], json!([]));
    assert_eq!(app.get(&path).await.data(), &before);
    browser.fill("Seats", "many").await;
    browser.click("Save").await;
    browser.sees("The number of seats must be a whole number from 1 to 1000000.").await;
    assert_eq!(browser.value("Seats").await, "many");

    browser.click("Studio").await;
    browser.is_at(&format!("{PRODUCTS}/{product}")).await;
    browser.sees("Renaming does not affect licenses or validations.").await;
    browser.sees("Crew").await;
    browser.fill("Product name", "Atelier").await;
    browser.click("Save").await;
    browser.sees("Product saved.").await;
    assert_eq!(app.get(&format!("/api/v1/admin/products/{product}")).await["name"], "Atelier");
}

/// Sent again, a form leads to the record that it created the first time.
#[tokio::test]
async fn a_form_that_is_sent_twice_creates_one_record() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    let send_twice = async |page: &str, label: &str, noun: &str, created: &str| {
        let mut paths = Vec::new();
        for _ in 0..2 {
            browser.open(page).await;
            // As if it were one page: each has a text of its own here.
            let script = format!("document.querySelector('[name=once]').value = 'new-{noun}'");
            browser.script(&script).await;
            browser.fill(label, "first").await;
            browser.click(&format!("Create {noun}")).await;
            browser.sees(created).await;
            paths.push(browser.path().await);
        }
        assert_eq!(paths[0], paths[1]);
        paths.swap_remove(0)
    };
    send_twice("/dashboard/live/users", "External ID", "user", "User created.").await;
    let product = send_twice(PRODUCTS, "Product name", "product", "Product created.").await;
    send_twice(&product, "Name", "plan", "Plan created.").await;
    for list in ["users", "products", "plans"] {
        let found = app.get(&format!("/api/v1/admin/{list}")).await;
        assert_eq!(found.list().len(), 1, "{found}");
    }
}

#[tokio::test]
async fn products_and_plans_are_shown_in_portions() {
    let app = App::start().await;
    let first = app.product("product 00").await;
    for number in 0..=50 {
        app.plan_of(&first, json!({ "name": format!("plan {number:02}") })).await;
    }
    let browser = signed_in_as(&app, Role::Read, Mode::Live).await;
    browser.open(PRODUCTS).await;
    browser.sees("plan 50").await;
    assert!(!browser.text().await.contains("plan 45"));
    browser.click("all plans").await;
    browser.sees("plan 01").await;
    browser.click("Older").await;
    browser.sees("plan 00").await;
    assert!(!browser.text().await.contains("plan 01"));
    // A read key's session looks.
    let text = browser.text().await;
    assert!(!text.contains("Save") && !text.contains("Create a plan"), "{text}");
    browser.click("plan 00").await;
    browser.sees("Plan of product 00").await;
    assert!(!browser.text().await.contains("Save"));
    for number in 1..=10 {
        app.product(&format!("product {number:02}")).await;
    }
    browser.open(PRODUCTS).await;
    browser.sees("product 10").await;
    assert!(!browser.text().await.contains("product 00"));
    assert!(!browser.text().await.contains("Create a product"));
    browser.click("Older").await;
    browser.sees("product 00").await;
    browser.click("Newest").await;
    browser.sees("product 10").await;
}

#[tokio::test]
async fn the_pages_of_products_are_fit_for_everyone() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    // As long as texts may be.
    let long = "eighteencharacters ".repeat(13) + "12345678";
    let product = app.product(&long).await;
    let features: Vec<String> = (0..9).map(|at| at.to_string().repeat(30)).collect();
    let terms = json!({ "name": long, "description": long, "maxSeats": 5, "features": features });
    let plan = app.plan_of(&product, terms).await;
    app.plan_of(&product, json!({ "expiresInDays": 1 })).await;
    is_fit_for_everyone(&browser, PRODUCTS).await;
    is_fit_for_everyone(&browser, &format!("{PRODUCTS}/{product}")).await;
    is_fit_for_everyone(&browser, &format!("/dashboard/live/plans/{plan}")).await;
}

/// Records created by mistake are deleted on their pages, the license first. Records in use stay.
#[tokio::test]
async fn a_mistake_is_deleted() {
    let app = App::start().await;
    let product = app.product("Stduio").await;
    let plan = app.plan_of(&product, json!({})).await;
    let (license, assigned) = (app.license_of(&plan).await, app.license_of(&plan).await);
    app.assign(&assigned, "ada").await.data();
    let browser = signed_in(&app).await;
    for (kind, id, said) in [
        ("license", &assigned, "Not deleted: the license is or was assigned."),
        ("license", &license, "License deleted."),
        ("plan", &plan, "Not deleted: the plan has licenses."),
        ("product", &product, "Not deleted: the product has plans."),
    ] {
        browser.open(&format!("/dashboard/live/{kind}s/{id}")).await;
        if kind == "license" {
            browser.click("More…").await;
        }
        browser.click(&format!("Delete this {kind}…")).await;
        browser.click(&format!("Delete this {kind} now")).await;
        browser.sees(said).await;
    }
    let other = app.product("Other").await;
    let spare = app.plan_of(&other, json!({})).await;
    for (kind, id, said) in
        [("plan", &spare, "Plan deleted."), ("product", &other, "Product deleted.")]
    {
        browser.open(&format!("/dashboard/live/{kind}s/{id}")).await;
        browser.click(&format!("Delete this {kind}…")).await;
        browser.click(&format!("Delete this {kind} now")).await;
        browser.sees(said).await;
        browser.is_at("/dashboard/live/products").await;
    }
    browser.open("/dashboard/live/events").await;
    browser.sees("product.deleted").await;
    assert_eq!(app.get("/api/v1/admin/licenses").await.list().len(), 1);
}

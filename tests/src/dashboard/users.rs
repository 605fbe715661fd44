//! Users: found, created, edited, deleted, and helped when they are refused.

use common::{Mode, Role};
use serde_json::json;

use super::{MARKUP, is_fit_for_everyone, signed_in, signed_in_as};
use crate::harness::{App, Browser, clock_passes, until};

const USERS: &str = "/dashboard/live/users";

/// The address of the user's page.
async fn page_of(app: &App, user: &str) -> String {
    format!("{USERS}/{}", app.user(user).await["id"].as_str().unwrap())
}

async fn new_user(app: &App, user: &str) {
    app.post("/api/v1/admin/users", json!({ "externalId": user })).await.data();
}

/// The end of a license's id, as pages show it.
fn end(license: &str) -> String {
    format!("…{}", &license[license.len() - 6..])
}

/// The life of a user, using only forms, with markup in every text.
#[tokio::test]
async fn a_user_is_created_edited_and_deleted() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(USERS).await;
    browser.sees("No users yet.").await;
    let external_id = MARKUP;
    browser.fill("External ID", &format!(" {MARKUP} ")).await;
    browser.fill("Name", MARKUP).await;
    browser.fill("Email", "ada@example.com").await;
    browser.click("Create user").await;
    browser.sees("User created.").await;
    let created = app.user(external_id).await;
    assert_eq!((&created["name"], &created["email"]), (&MARKUP.into(), &"ada@example.com".into()));
    let id = created["id"].as_str().unwrap();
    let path = format!("/api/v1/admin/users/{id}");
    app.patch(&path, json!({ "metadata": { "note": MARKUP } })).await.data();

    browser.open(USERS).await;
    browser.click(MARKUP).await;
    browser.is_at(&format!("{USERS}/{id}")).await;
    assert_eq!(browser.heading().await, MARKUP);
    browser.sees(&format!("{MARKUP} · ada@example.com")).await;
    browser.sees(&json!(MARKUP).to_string()).await;
    browser.sees("user.updated").await;
    browser.sees("by first key").await;
    new_user(&app, "someone else").await;
    browser.click("All events").await;
    browser.sees("user.updated").await;
    assert!(!browser.text().await.contains("someone else"));
    browser.open(&format!("{USERS}/{id}")).await;
    browser.fill("Name", "").await;
    browser.fill("Email", &format!("{}@x", "x".repeat(256))).await;
    browser.click("Save").await;
    browser.sees("The email must be a string of 1 to 255 characters").await;
    assert_eq!(browser.value("Name").await, "");
    browser.fill("Email", "lovelace@example.com").await;
    browser.click("Save").await;
    browser.sees("User saved.").await;
    let changed = app.user(external_id).await;
    let email = "lovelace@example.com";
    assert_eq!((&changed["name"], &changed["email"]), (&json!(null), &email.into()));
    assert_eq!(changed["metadata"], json!({ "note": MARKUP }));

    let license = app.license(json!({ "maxSeats": 5 })).await;
    app.assign(&license, external_id).await.data();
    assert_eq!(app.validate(external_id).await.verdict(), "valid");
    browser.reload().await;
    browser.click(&format!("Delete {MARKUP}…")).await;
    browser.sees("removes the user from 1 license and frees 1 seat.").await;
    browser.click(&format!("Delete {MARKUP} now")).await;
    browser.sees("User deleted.").await;
    assert!(app.user(external_id).await.is_null());
    assert_eq!(app.usage(&license).await["totalActivations"], 0);
}

#[tokio::test]
async fn a_user_is_found_by_the_beginning_of_a_text() {
    let app = App::start().await;
    for (user, name) in [("ada", "Lovelace"), ("adam", "Smith"), ("<i>", "Grace")] {
        let body = json!({ "externalId": user, "name": name });
        app.post("/api/v1/admin/users", body).await.data();
    }
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(USERS).await;
    let search = async |text: &str| {
        browser.fill("External ID, email or name", text).await;
        browser.click("Find").await;
    };
    search("ada").await;
    browser.sees("Lovelace").await;
    let text = browser.text().await;
    assert!(text.find("Lovelace") < text.find("Smith"), "{text}");
    assert!(!text.contains("Grace"), "{text}");
    // No other user begins like this.
    search("adam").await;
    browser.is_at(&page_of(&app, "adam").await).await;
    browser.open(USERS).await;
    search("grace").await;
    browser.is_at(&page_of(&app, "<i>").await).await;
    // The search on every page leads to the same place.
    browser.fill("Find a user, license, key or product", "<b>x</b>").await;
    browser.press("Enter").await;
    browser.sees("matches “<b>x</b>”").await;
    assert_eq!(browser.value("External ID").await, "<b>x</b>");
    browser.click("Create user").await;
    browser.sees("User created.").await;
    assert_eq!(browser.heading().await, "<b>x</b>");
}

/// The list has pages, and a search has an end.
#[tokio::test]
async fn many_users_are_shown_in_portions() {
    let app = App::start().await;
    for number in 1..=51 {
        new_user(&app, &format!("many-{number:02}")).await;
    }
    let browser = signed_in(&app).await;
    browser.open(USERS).await;
    browser.sees("many-51").await;
    assert!(!browser.text().await.contains("many-01"));
    browser.click("Older").await;
    browser.sees("many-01").await;
    assert!(!browser.text().await.contains("many-02"));
    browser.click("Newest").await;
    browser.sees("many-51").await;
    browser.open(&format!("{USERS}?q=many-")).await;
    browser.sees("More users match “many-”.").await;
    browser.open(&format!("{USERS}?q=many-0")).await;
    browser.sees("many-09").await;
    assert!(!browser.text().await.contains("More users match"));
}

/// The page shows what a validation would answer, each license in its order, and what happened.
#[tokio::test]
async fn a_users_page_explains_the_answer_of_a_validation() {
    let app = App::start().await;
    let plan = app.plan(json!({ "name": MARKUP, "maxSeats": 1 })).await;
    let [revoked, full] = [app.license_of(&plan).await, app.license_of(&plan).await];
    let endless = app.license_of(&plan).await;
    app.assign(&full, "linus").await.data();
    app.validate("linus").await.data();
    for license in [&revoked, &full, &endless] {
        app.assign(license, "grace").await.data();
    }
    app.set_status(&revoked, "revoked").await.data();
    assert_eq!(app.validate("grace").await.verdict(), "exceeded_seats");
    let browser = signed_in_as(&app, Role::Read, Mode::Live).await;
    let page = page_of(&app, "grace").await;
    until("the refusal is written", async || {
        browser.open(&page).await;
        browser.text().await.contains("1×")
    })
    .await;
    browser.sees("Refused for Studio: no free seat.").await;
    browser.sees("What would help: unassign this user from it, as a").await;
    let explained = app.explain("grace").await;
    let licenses_shown = browser
        .script("return [...document.querySelectorAll('.ladder > li')].map(li => li.innerText)")
        .await;
    let licenses_shown: Vec<&str> =
        licenses_shown.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let licenses = explained["licenses"].as_array().unwrap();
    assert_eq!((licenses_shown.len(), licenses.len()), (3, 3));
    for (shown_license, license) in licenses_shown.iter().zip(licenses) {
        for shown in ["sentence", "planName"] {
            let text = license[shown].as_str().unwrap();
            assert!(shown_license.contains(text), "{shown} in {shown_license}");
        }
        // The reason stands above, once.
        let verdict = license["verdict"].as_str().unwrap();
        assert_eq!(shown_license.contains(verdict), verdict != "exceeded_seats", "{shown_license}");
        assert!(
            shown_license.contains(&end(license["license"]["id"].as_str().unwrap())),
            "{shown_license}"
        );
        assert!(shown_license.contains("holds no seat"), "{shown_license}");
    }
    assert!(
        licenses_shown[1].contains("1 of 1") && licenses_shown[2].contains("0 of 1"),
        "{licenses_shown:?}"
    );
    let decides = browser.script("return document.querySelector('.decides').innerText").await;
    assert_eq!(decides, licenses_shown[1]);
    browser.sees("license.assigned").await;
    let forms = "return document.querySelectorAll('main form').length";
    assert_eq!(browser.script(forms).await, 0);
    browser.open(USERS).await;
    browser.sees("linus").await;
    assert!(!browser.text().await.contains("Create a user"));

    app.unassign(&full, "linus").await.data();
    assert_eq!(app.validate("grace").await.verdict(), "valid");
    browser.open(&page).await;
    browser.sees("Licensed for Studio.").await;
    browser.sees("holds a seat, last checked").await;
}

#[tokio::test]
async fn a_user_without_a_license_gets_one() {
    let app = App::start().await;
    let studio = app.product("Studio").await;
    let team = app.plan_of(&studio, json!({ "maxSeats": 5, "expiresInDays": 365 })).await;
    let others = app.license_of(&team).await;
    new_user(&app, MARKUP).await;
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open(&page_of(&app, MARKUP).await).await;
    browser.sees("Refused: no license assigned.").await;
    // Nothing of other customers.
    assert!(!browser.text().await.contains(&end(&others)));
    browser.choose("Create a license for this user", "Studio · Team, 5 seats, 365 days").await;
    browser.click("Create license").await;
    browser.sees("License created and assigned.").await;
    browser.sees("Licensed for Studio.").await;
    assert_eq!(app.validate(MARKUP).await.verdict(), "valid");
    assert_ne!(app.validate(MARKUP).await["license"]["id"], others);

    browser.click("Add another license…").await;
    browser
        .fill("Or assign an existing license, by its name or the end of its ID", &end(&others))
        .await;
    browser.click("Find license").await;
    browser.sees("0 of 5").await;
    browser.click(&format!("Assign {}", end(&others))).await;
    browser.sees("License assigned.").await;
    assert_eq!(app.explain(MARKUP).await["licenses"].as_array().unwrap().len(), 2);
    browser.click("Add another license…").await;
    browser.fill("Or assign an existing license, by its name or the end of its ID", "zzzzzz").await;
    browser.click("Find license").await;
    browser.sees("No other license has a name or ID like “zzzzzz”.").await;
}

fn words(reason: &str) -> &str {
    if reason == "exceeded_seats" { "no free seat" } else { reason }
}

/// A browser on the page of a user who is refused for a reason.
async fn refused(app: &App, browser: &Browser, user: &str, reason: &str) {
    assert_eq!(app.validate(user).await.verdict(), reason);
    browser.open(&page_of(app, user).await).await;
    browser.sees(&format!("Refused for Studio: {}.", words(reason))).await;
}

/// Checks that the visitor is back on the user's page, and that a validation is valid.
async fn is_helped(app: &App, browser: &Browser, user: &str) {
    browser.sees("Licensed for Studio.").await;
    assert!(browser.path().await.starts_with(&page_of(app, user).await));
    assert_eq!(app.validate(user).await.verdict(), "valid");
}

#[tokio::test]
async fn a_full_license_gets_room_from_the_users_page() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 2 })).await;
    for user in [MARKUP, "linus", "grace"] {
        app.assign(&license, user).await.data();
    }
    app.validate(MARKUP).await.data();
    let checked = app.validate("linus").await["activation"]["lastCheckedAt"].clone();
    clock_passes(checked.as_str().unwrap()).await;
    app.validate(MARKUP).await.data();
    let browser = signed_in(&app).await;
    browser.without_script().await;
    refused(&app, &browser, "grace", "exceeded_seats").await;
    browser.click("Free a seat…").await;
    browser.sees("Longest unused first").await;
    // The first seat was taken by the other, who was seen again since.
    let text = browser.text().await;
    assert!(text.find("\nlinus\n") < text.find(&format!("\n{MARKUP}\n")), "{text}");
    browser.click(&format!("Unassign {MARKUP}")).await;
    browser.click_in("loses the license and its seat", &format!("Unassign {MARKUP}")).await;
    browser.sees("License unassigned.").await;
    is_helped(&app, &browser, "grace").await;
    assert_eq!(app.validate(MARKUP).await.verdict(), "no_license");

    app.assign(&license, MARKUP).await.data();
    app.update(&license, json!({ "maxSeats": 1 })).await.data();
    refused(&app, &browser, MARKUP, "exceeded_seats").await;
    browser.click("Free a seat…").await;
    browser.sees("To free a seat, unassign 2 users.").await;
    browser.click("Raise limit to 3 (adds 2 seats)").await;
    is_helped(&app, &browser, MARKUP).await;
}

#[tokio::test]
async fn a_license_is_put_in_force_from_the_users_page() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    app.assign(&license, "grace").await.data();
    let browser = signed_in(&app).await;
    browser.without_script().await;
    for status in ["suspended", "revoked", "expired"] {
        app.set_status(&license, status).await.data();
        refused(&app, &browser, "grace", status).await;
        browser.click("Activate license").await;
        if status == "revoked" {
            browser.click("Activate it").await;
        }
        is_helped(&app, &browser, "grace").await;
    }
    app.update(&license, json!({ "expiresAt": "2020-01-31T00:00:00Z" })).await.data();
    refused(&app, &browser, "grace", "expired").await;
    browser.sees("was valid through 30 Jan 2020").await;
    assert!(!browser.text().await.contains("Activate license"));
    browser.click("Renew through a day…").await;
    browser.fill("Last valid day", "2030-01-31").await;
    browser.click("Renew").await;
    is_helped(&app, &browser, "grace").await;
    browser.sees("valid through 31 Jan 2030").await;
}

#[tokio::test]
async fn the_pages_of_users_are_fit_for_everyone() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.license(json!({})).await;
    // As long as texts may be.
    let long = "eighteencharacters ".repeat(13) + "12345678";
    for user in [&long, "grace"] {
        app.assign(&license, user).await.data();
        app.validate(user).await.data();
    }
    let body =
        json!({ "externalId": long, "name": long, "email": long, "metadata": { "a": long } });
    app.post("/api/v1/admin/users", body).await.data();
    let browser = signed_in(&app).await;
    is_fit_for_everyone(&browser, USERS).await;
    is_fit_for_everyone(&browser, &page_of(&app, &long).await).await;
    let refused = page_of(&app, "grace").await;
    is_fit_for_everyone(&browser, &refused).await;
    browser.open(&refused).await;
    browser.click("Free a seat…").await;
    browser.click("Add another license…").await;
    browser.click("Delete grace…").await;
    browser.narrow().await;
    browser.is_accessible().await;
    assert!(!browser.overflows().await);
}

/// Two clicks, and the name of the customer is next to the license.
#[tokio::test]
async fn a_refused_user_takes_over_a_seat() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    app.update(&license, json!({ "name": "Ember Construction" })).await.data();
    for user in ["victor", "jonas"] {
        app.assign(&license, user).await.data();
    }
    let jonas = app.user("jonas").await;
    let path = format!("/api/v1/admin/users/{}", jonas["id"].as_str().unwrap());
    app.patch(&path, json!({ "name": "Jonas Jansen" })).await.data();
    assert_eq!(app.validate("victor").await.verdict(), "valid");
    let browser = signed_in(&app).await;
    refused(&app, &browser, "jonas", "exceeded_seats").await;
    assert_eq!(browser.heading().await, "Jonas Jansen");
    browser.sees("Ember Construction").await;
    browser.click("Free a seat…").await;
    browser.click("Take over the seat of victor").await;
    browser.sees("License and seat handed from victor to jonas.").await;
    is_helped(&app, &browser, "jonas").await;
    assert_eq!(app.validate("victor").await.verdict(), "no_license");
}

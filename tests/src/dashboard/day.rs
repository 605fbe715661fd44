//! A licensing day of a vendor who never opens a terminal. The vendor's application is `app`.

use super::signed_in;
use crate::harness::{App, Browser, until};

#[tokio::test]
async fn a_licensing_day_needs_no_terminal() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.open("/dashboard").await;
    browser.sees("Nothing has been validated yet.").await;
    sell_a_first_license(&browser).await;
    let application = app.with_key(&create_a_key(&browser).await);
    assert_eq!(application.validate("ada").await.verdict(), "valid");

    assert_eq!(application.validate("grace").await.verdict(), "exceeded_seats");
    help_a_customer_who_is_refused(&browser).await;
    assert_eq!(application.validate("grace").await.verdict(), "valid");
    assert_eq!(application.validate("ada").await.verdict(), "no_license");

    let_the_license_grow(&browser, &ending(&app).await).await;
    assert_eq!(application.validate("ada").await.verdict(), "valid");

    until("the use of the key is counted", async || is_used(&app, "studio-app").await).await;
    revoke_a_leaked_key(&browser).await;
    assert_eq!(application.validate("ada").await.status, 401);
    browser.click("Events").await;
    browser.sees("key.revoked").await;
}

async fn sell_a_first_license(browser: &Browser) {
    browser.click("Create a product").await;
    browser.fill("Product name", "Studio").await;
    browser.click("Create product").await;
    browser.sees("Product created. Next: add a plan.").await;
    browser.fill("Name", "Team").await;
    browser.fill("Seats", "1").await;
    browser.fill("Valid for (days)", "365").await;
    browser.fill("Features", "export\nsso").await;
    browser.click("Create plan").await;
    browser.sees("Plan created. Next: create a license.").await;
    browser.click("Create license").await;
    browser.fill("Users to assign", "ada\ngrace").await;
    browser.click("Create license").await;
    browser.sees("Create 2 new users?").await;
    browser.click("Create users and license").await;
    browser.sees("License created.").await;
}

async fn create_a_key(browser: &Browser) -> String {
    browser.click("Keys").await;
    browser.fill("Name", "studio-app").await;
    browser.click("Create key").await;
    browser.sees("It is not shown again").await;
    let secret = browser.script("return document.getElementById('secret').textContent").await;
    secret.as_str().unwrap().to_owned()
}

async fn help_a_customer_who_is_refused(browser: &Browser) {
    browser.fill("Find a user by external id, email or name", "grace").await;
    browser.press("Enter").await;
    browser.sees("Refused for Studio: no free seat.").await;
    browser.click("Free a seat…").await;
    browser.click_in("Longest unused first", "Unassign ada").await;
    browser.click_in("loses the license", "Unassign ada").await;
    browser.sees("Licensed for Studio.").await;
}

async fn let_the_license_grow(browser: &Browser, ending: &str) {
    browser.click("Licenses").await;
    browser.click_in("Licenses, newest first", ending).await;
    browser.fill("Seats allowed", "2").await;
    browser.click("Save limit").await;
    browser.sees("1 of 2 used").await;
    browser.fill("Assign a user by external id", "ada").await;
    browser.click("Assign").await;
    browser.sees("License assigned.").await;
}

async fn revoke_a_leaked_key(browser: &Browser) {
    browser.click("Keys").await;
    browser.click_in("Keys, newest first", "studio-app").await;
    browser.click("Revoke studio-app…").await;
    browser.sees("This stops something that is in use.").await;
    browser.click("Revoke this key now").await;
    browser.sees("Key revoked.").await;
}

/// Uses of keys are written every few seconds.
async fn is_used(app: &App, name: &str) -> bool {
    let keys = app.get("/api/v1/admin/keys").await;
    let named = keys.list().iter().find(|key| key["name"] == name).unwrap();
    !named["lastUsedAt"].is_null()
}

/// The end of the only license's id, by which pages name it.
async fn ending(app: &App) -> String {
    let licenses = app.get("/api/v1/admin/licenses").await;
    let id = licenses.list()[0]["id"].as_str().unwrap().to_owned();
    format!("…{}", &id[id.len() - 6..])
}

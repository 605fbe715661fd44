//! Keys: created, shown once, used, rolled, and revoked.

use common::{Mode, Role};
use serde_json::json;

use super::{MARKUP, is_fit, is_fit_for_everyone, signed_in, signed_in_as};
use crate::harness::{App, until};

/// The life of a key, using only forms: the API agrees immediately with what the page says.
#[tokio::test]
async fn a_key_is_created_shown_once_used_and_revoked() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open("/dashboard/live/keys").await;
    browser.fill("Name", MARKUP).await;
    browser.click("read").await;
    browser.choose("Expires", "in 30 days").await;
    browser.click("Create key").await;
    browser.sees("It is not shown again").await;
    browser.sees(MARKUP).await;
    // The warning, the key and the way on stand together.
    let box_of_key = "return document.querySelector('.warn:has(#secret)').innerText";
    let warning = browser.script(box_of_key).await;
    let warning = warning.as_str().unwrap();
    assert!(warning.starts_with("Copy the key now."), "{warning}");
    assert!(warning.ends_with("I have copied the key"), "{warning}");
    let secret = browser.script("return document.getElementById('secret').textContent").await;
    let reader = app.with_key(secret.as_str().unwrap());
    assert_eq!(reader.get("/api/v1/key").await.data()["role"], "read");
    until("the use of the key is written", async || {
        let keys = app.get("/api/v1/admin/keys").await;
        keys.list().iter().any(|key| key["name"] == MARKUP && !key["lastUsedAt"].is_null())
    })
    .await;
    browser.sees("licctl login --server http://127.0.0.1").await;

    browser.click("I have copied the key").await;
    browser.is_at("/dashboard/live/keys").await;
    browser.sees(MARKUP).await;
    assert!(!browser.text().await.contains(secret.as_str().unwrap()));
    browser.click(MARKUP).await;
    browser.sees("Use").await;
    browser.click(&format!("Revoke {MARKUP}…")).await;
    browser.sees("This key is in use.").await;
    browser.click("Revoke this key now").await;
    browser.sees("Key revoked.").await;
    assert_eq!(reader.get("/api/v1/key").await.status, 401);

    let events = app.get("/api/v1/admin/events?type=key.revoked").await;
    let actor = &events.list()[0]["actor"];
    assert_eq!(actor["type"], "session");
    assert!(actor["id"].as_str().unwrap().starts_with("ses_"));
    assert!(actor["keyId"].as_str().unwrap().starts_with("key_"));
    assert_eq!(actor["name"], "key of a test");
}

/// Using only forms: the new key works, and the old one works until the time that the page names.
#[tokio::test]
async fn a_key_is_rolled_and_the_old_one_works_for_a_while() {
    let app = App::start().await;
    let new = json!({ "name": "studio-app", "role": "validate" });
    let old = app.post("/api/v1/admin/keys", new).await;
    let page = format!("/dashboard/live/keys/{}", old.id());
    let first = app.with_key(old["key"].as_str().unwrap());
    let browser = signed_in(&app).await;
    browser.without_script().await;
    let secret = async || {
        let shown = browser.script("return document.getElementById('secret').textContent").await;
        app.with_key(shown.as_str().unwrap())
    };
    browser.open(&page).await;
    browser.choose("The old key keeps working for", "7 days").await;
    browser.click("Roll this key").await;
    browser.sees("Key studio-app created").await;
    browser.sees("The old key works until").await;
    let second = secret().await;
    assert_eq!(second.validate("ada").await.verdict(), "no_license");
    assert_eq!(first.validate("ada").await.verdict(), "no_license");
    browser.reload().await;
    browser.sees("This key was created a moment ago and cannot be shown again.").await;
    let keys = app.get("/api/v1/admin/keys").await;
    assert_eq!(keys.list().iter().filter(|key| key["name"] == "studio-app").count(), 2);

    browser.open(&page).await;
    browser.sees("At most until it expires").await;
    browser.choose("The old key keeps working for", "not at all").await;
    browser.click("Roll this key").await;
    browser.sees("Stop the old key immediately?").await;
    assert_eq!(first.validate("ada").await.verdict(), "no_license");
    browser.click("Roll and stop the old key").await;
    browser.sees("The old key no longer works.").await;
    let third = secret().await;
    assert_eq!(third.validate("ada").await.verdict(), "no_license");
    assert_eq!(first.validate("ada").await.status, 401);
    browser.open(&page).await;
    browser.sees("revoked").await;
    assert!(!browser.text().await.contains("Roll this key"));
}

/// A session lasts no longer than its key.
#[tokio::test]
async fn a_revoked_key_ends_its_sessions() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.open("/dashboard/live/keys").await;
    browser.click_in("Keys, newest first", "key of a test").await;
    browser.click("Revoke key of a test…").await;
    browser.sees("You will be signed out.").await;
    browser.click("Revoke this key now").await;
    browser.sees("Your session has ended").await;
    browser.open("/dashboard/live/keys").await;
    browser.sees("Sign in").await;
}

/// The last key with which anything could be changed stays.
#[tokio::test]
async fn the_last_admin_key_is_kept() {
    let app = App::start().await;
    let browser = signed_in_as(&app, Role::Admin, Mode::Live).await;
    let listed = app.get("/api/v1/admin/keys").await;
    let other = listed.list().iter().find(|key| key["name"] == "first key").unwrap();
    let path = format!("/api/v1/admin/keys/{}/revoke", other["id"].as_str().unwrap());
    app.post(&path, json!({})).await.data();
    browser.open("/dashboard/live/keys").await;
    browser.click_in("Keys, newest first", "key of a test").await;
    browser.click("Revoke key of a test…").await;
    browser.click("Revoke this key now").await;
    browser.sees("The last live admin key of a tenant cannot be revoked").await;
    browser.sees("Sign out").await;
}

#[tokio::test]
async fn a_mistake_stands_beside_its_field_and_costs_nothing() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.without_script().await;
    browser.open("/dashboard/live/keys").await;
    browser.fill("Name", "   ").await;
    browser.click("admin").await;
    browser.choose("Expires", "on a date").await;
    browser.click("Create key").await;
    browser.sees("The name must not be empty.").await;
    browser.fill("Name", "ci").await;
    browser.click("Create key").await;
    browser.sees("The date must not be empty.").await;
    assert_eq!(browser.value("Name").await, "ci");
    browser.fill("Date", "2020-01-31").await;
    browser.click("Create key").await;
    browser.sees("The date must be in the future.").await;
    browser.fill("Date", "2090-01-31").await;
    browser.click("Create key").await;
    browser.sees("valid through 31 Jan 2090").await;
    let keys = app.get("/api/v1/admin/keys").await;
    assert_eq!(keys.list().iter().filter(|key| key["name"] == "ci").count(), 1);
}

/// Loading the page with the key again sends its form again.
#[tokio::test]
async fn a_form_that_is_sent_twice_creates_one_key() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.open("/dashboard/live/keys").await;
    browser.fill("Name", "ci").await;
    browser.click("Create key").await;
    browser.sees("It is not shown again").await;
    browser.reload().await;
    browser.sees("This key was created a moment ago and cannot be shown again.").await;
    let warns = "return document.querySelector('.notice').classList.contains('warn')";
    assert_eq!(browser.script(warns).await, true);
    let keys = app.get("/api/v1/admin/keys").await;
    let [key] = &*keys.list().iter().filter(|key| key["name"] == "ci").collect::<Vec<_>>() else {
        panic!("{keys}")
    };
    let page = format!("/dashboard/live/keys/{}", key["id"].as_str().unwrap());
    // A notice is shown once, and no part of the address.
    browser.sees("cannot be shown again").await;
    browser.is_at(&page).await;
}

#[tokio::test]
async fn a_read_key_sees_keys_and_cannot_change_them() {
    let app = App::start().await;
    let browser = signed_in_as(&app, Role::Read, Mode::Live).await;
    browser.open("/dashboard/live/keys").await;
    browser.sees("first key").await;
    browser.sees("read only").await;
    let text = browser.text().await;
    assert!(!text.contains("Create key") && !text.contains("End session"), "{text}");
    browser.click("first key").await;
    browser.sees("Last used").await;
    let text = browser.text().await;
    assert!(!text.contains("Revoke") && !text.contains("Roll"), "{text}");
}

#[tokio::test]
async fn the_pages_of_keys_are_fit_for_everyone() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    is_fit_for_everyone(&browser, "/dashboard/live/keys").await;
    browser.open("/dashboard/live/keys").await;
    browser.click_in("Keys, newest first", "key of a test").await;
    browser.sees("Revoke this key").await;
    let page = browser.path().await;
    is_fit_for_everyone(&browser, &page).await;
    browser.open("/dashboard/live/keys").await;
    browser.fill("Name", &"eighteencharacters ".repeat(13)).await;
    browser.click("Create key").await;
    browser.sees("It is not shown again").await;
    is_fit(&browser).await;
}

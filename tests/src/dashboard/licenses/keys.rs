//! License keys on the page of their license: made, shown once, replaced and revoked.

use common::KeyText;
use serde_json::json;

use super::page_of;
use crate::dashboard::{is_fit, signed_in};
use crate::harness::App;

#[tokio::test]
async fn a_license_key_is_made_shown_once_replaced_and_revoked() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 5 })).await;
    let claim = async |user: &str, key: &str| {
        let answer = app.post("/api/v1/claim", json!({ "userId": user, "key": key })).await;
        answer.body["code"].as_str().unwrap_or("claimed").to_owned()
    };
    let browser = signed_in(&app).await;
    let shown = async || {
        let text = browser.script("return document.getElementById('secret').textContent").await;
        text.as_str().unwrap().to_owned()
    };
    browser.open(&page_of(&license)).await;
    browser.fill("Users who may claim with a new key", "none").await;
    browser.click("Create key").await;
    browser.sees("The number of users must be").await;
    browser.fill("Users who may claim with a new key", "2").await;
    browser.click("Create key").await;
    browser.sees("It is not shown again").await;
    let first = shown().await;
    is_fit(&browser).await;
    assert_eq!(claim("ada", &first).await, "claimed");
    browser.click("I have copied the key").await;
    browser.sees("1 of 2").await;
    assert!(!browser.text().await.contains(&first));
    is_fit(&browser).await;

    let end = |key: &str| format!("…{}", &key.replace('-', "")[19..]);
    // As the page shows it, or read out by a customer.
    for found in [end(&first), first[22..].to_lowercase()] {
        browser.open(&format!("/dashboard/live/users?q={found}")).await;
        browser.is_at(&page_of(&license)).await;
    }
    // The whole key, as customers send it; it is never a part of an address.
    browser.open("/dashboard/live/users").await;
    browser.fill("Find a user, license, key or product", &format!(" {} ", &first)).await;
    browser.press("Enter").await;
    browser.is_at(&page_of(&license)).await;
    let unknown = KeyText::generate().expose().to_owned();
    browser.fill("Find a user, license, key or product", &unknown).await;
    browser.press("Enter").await;
    browser.sees("No user, license, key or product matches").await;
    browser.is_at(&format!("/dashboard/live/users?q={}", &unknown.replace('-', "")[19..])).await;
    browser.open(&page_of(&license)).await;

    browser.click(&format!("Replace {}", end(&first))).await;
    browser
        .click_in(
            "Users can no longer claim with the old text",
            &format!("Replace {}", end(&first)),
        )
        .await;
    browser.sees("It is not shown again").await;
    let second = shown().await;
    assert_eq!(claim("bob", &first).await, "license_key_revoked");
    assert_eq!(claim("bob", &second).await, "claimed");
    browser.reload().await;
    browser.open(&page_of(&license)).await;
    browser.click(&format!("Revoke {}", end(&second))).await;
    browser.click_in("can no longer claim", &format!("Revoke {}", end(&second))).await;
    browser.sees("License key revoked.").await;
    browser.sees("2 of 2").await;
    assert_eq!(claim("eve", &second).await, "license_key_revoked");
    assert_eq!(claim("ada", &second).await, "claimed", "who has the license keeps it");
}

//! Licenses: created from a plan, assigned, changed, and what the API says of it then.

mod forms;
mod keys;
mod list;
mod new;
mod users;

use common::{Mode, Role};
use reqwest::Response;
use reqwest::header::LOCATION;
use serde_json::json;

use super::{MARKUP, is_fit_for_everyone, signed_in, signed_in_as};
use crate::harness::{App, Browser};
use crate::pages::admin;

/// The address of a license's page.
fn page_of(license: &str) -> String {
    format!("/dashboard/live/licenses/{license}")
}

/// Returns the address to which a response sends the browser.
fn location(answer: &Response) -> &str {
    assert_eq!(answer.status(), 303);
    answer.headers()[LOCATION].to_str().unwrap()
}

#[tokio::test]
async fn a_read_key_sees_licenses_and_cannot_change_them() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1, "features": ["export"] })).await;
    for user in ["ada", "grace"] {
        app.assign(&license, user).await.data();
        app.validate(user).await.data();
    }
    let browser = signed_in_as(&app, Role::Read, Mode::Live).await;
    browser.open("/dashboard/live/licenses").await;
    browser.sees("1 of 1").await;
    assert!(!browser.text().await.contains("Create"));
    browser.open(&page_of(&license)).await;
    for text in ["ada", "grace", "export", "seat.taken", "all seats are taken"] {
        browser.sees(text).await;
    }
    let forms = "return document.querySelectorAll('main form, main details').length";
    assert_eq!(browser.script(forms).await, 0);
    browser.open("/dashboard/live/licenses/new").await;
    browser.sees("Not allowed").await;
}

#[tokio::test]
async fn the_pages_of_licenses_are_fit_for_everyone() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1, "expiresInDays": 9 })).await;
    app.update(&license, json!({ "features": ["export", "sso"] })).await.data();
    for user in ["ada", "grace"] {
        app.assign(&license, user).await.data();
        app.validate(user).await.data();
    }
    app.license(json!({})).await;
    let browser = signed_in(&app).await;
    for path in [
        "/dashboard/live/licenses",
        "/dashboard/live/licenses?status=revoked",
        "/dashboard/live/licenses?ends=ended&user=ada",
        "/dashboard/live/licenses/new",
        &page_of(&license),
    ] {
        is_fit_for_everyone(&browser, path).await;
    }
    app.set_status(&license, "suspended").await.data();
    is_fit_for_everyone(&browser, &page_of(&license)).await;
    every_question_is_open(&browser).await;
    browser.is_accessible().await;
}

async fn every_question_is_open(browser: &Browser) {
    let open = "for (const it of document.querySelectorAll('main details')) it.open = true";
    browser.script(open).await;
}

//! Pages as their users meet them, in a real browser.

mod events;
mod keys;
mod licenses;
mod long_texts;
mod overview;
mod pictures;
mod products;
mod reference;
mod sign_in;
mod users;
mod webhooks;

use common::{Mode, Role};

use crate::harness::{App, Browser};

/// Text that must be shown as it is, wherever a user's text is shown.
const MARKUP: &str = r#"<b>bold</b> & "quoted" 'text' <script>alert(1)</script>"#;

/// A browser with a session of a key of this role and mode.
async fn signed_in_as(app: &App, role: Role, mode: Mode) -> Browser {
    let key = app.new_key("default", role, mode).await;
    let browser = Browser::start(app).await;
    sign_in(&browser, &key).await;
    browser
}

/// A browser with a session of a live admin key.
async fn signed_in(app: &App) -> Browser {
    signed_in_as(app, Role::Admin, Mode::Live).await
}

async fn sign_in(browser: &Browser, key: &str) {
    browser.open("/dashboard").await;
    browser.fill("API key", key).await;
    browser.click("Sign in").await;
    browser.sees("Sign out").await;
}

/// The page has no fault that axe-core finds, in light and in dark, and fits a narrow screen.
async fn is_fit_for_everyone(browser: &Browser, path: &str) {
    browser.open(path).await;
    is_fit(browser).await;
}

/// Checks the current page, which may be the response to a form.
async fn is_fit(browser: &Browser) {
    let path = browser.path().await;
    browser.is_accessible().await;
    browser.dark().await;
    browser.is_accessible().await;
    browser.narrow().await;
    browser.is_accessible().await;
    assert!(!browser.overflows().await, "{path} is wider than the screen");
    browser.wide().await;
    browser.light().await;
}

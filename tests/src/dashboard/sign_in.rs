//! Signing in and out, and what a session is.

use super::{is_fit_for_everyone, sign_in, signed_in};
use crate::harness::{App, Browser};
use common::{Mode, Role};

#[tokio::test]
async fn signing_in_goes_on_to_the_page_that_was_wanted() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Admin, Mode::Live).await;
    let browser = Browser::start(&app).await;
    browser.without_script().await;
    browser.open("/dashboard/live/keys?before=").await;
    browser.fill("API key", "sk_live_wrong").await;
    browser.click("Sign in").await;
    browser.sees("This key is not valid.").await;
    let validate = app.new_key("default", Role::Validate, Mode::Live).await;
    browser.fill("API key", &validate).await;
    browser.click("Sign in").await;
    browser.sees("This is a validate key. Only read and admin keys can sign in.").await;
    browser.fill("API key", &key).await;
    browser.click("Sign in").await;
    browser.is_at("/dashboard/live/keys?before=").await;
    let cookies = browser.cookies().await;
    assert_eq!(cookies.len(), 1);
    let (cookie, path) = (&cookies[0], "/dashboard");
    assert_eq!((&cookie["httpOnly"], &cookie["sameSite"]), (&true.into(), &"Strict".into()));
    assert_eq!(cookie["path"], path);
}

/// Nothing of the session is left, neither in the browser's back button nor in the database.
#[tokio::test]
async fn signing_out_leaves_nothing() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.open("/dashboard/live/keys").await;
    browser.sees("Sessions in the dashboard").await;
    assert_eq!(app.number("select count(*) from sessions").await, 1);
    browser.click("Sign out").await;
    browser.sees("You are signed out.").await;
    assert_eq!(app.number("select count(*) from sessions").await, 0);
    browser.back().await;
    browser.sees("API key").await;
    assert!(!browser.text().await.contains("Sessions in the dashboard"));
}

/// Live and test mode differ in a word, a colour and the icon, and only permitted visitors enter
/// the other mode.
#[tokio::test]
async fn the_mode_is_unmistakable_and_switched_where_the_key_allows() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.open("/dashboard/live/keys").await;
    let icon = "return document.querySelector('link[rel=icon]').href";
    let live_icon = browser.script(icon).await;
    browser.click("Switch to test").await;
    browser.is_at("/dashboard/test").await;
    browser.open("/dashboard/test/keys").await;
    browser.sees("TEST MODE").await;
    assert_ne!(browser.script(icon).await, live_icon);

    for (role, mode, other) in [
        (Role::Admin, Mode::Test, "/dashboard/live/keys"),
        (Role::Read, Mode::Live, "/dashboard/test/keys"),
    ] {
        browser.forget_cookies().await;
        sign_in(&browser, &app.new_key("default", role, mode).await).await;
        assert!(!browser.text().await.contains("Switch to"));
        browser.open(other).await;
        browser.sees("Not allowed").await;
    }
}

#[tokio::test]
async fn the_pages_to_sign_in_and_of_errors_are_fit_for_everyone() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    is_fit_for_everyone(&browser, "/dashboard/live/nowhere").await;
    browser.forget_cookies().await;
    is_fit_for_everyone(&browser, "/dashboard/sign-in").await;
}

#[tokio::test]
async fn a_session_that_was_ended_leads_to_signing_in_again() {
    let app = App::start().await;
    let other = app.new_key("default", Role::Read, Mode::Test).await;
    let browser = Browser::start(&app).await;
    sign_in(&browser, &other).await;
    browser.forget_cookies().await;
    sign_in(&browser, &app.new_key("default", Role::Admin, Mode::Live).await).await;
    browser.open("/dashboard/live/keys").await;
    browser.click_in("End session", "End session of key of a test from 127.0.0.1").await;
    browser.sees("Session ended.").await;
    assert_eq!(app.number("select count(*) from sessions").await, 1);
    let mut conn = app.db().write().await.unwrap();
    conn.query("delete from sessions").execute().await.unwrap();
    drop(conn);
    browser.open("/dashboard/live/keys").await;
    browser.sees("Your session has ended").await;
    browser.is_at("/dashboard/sign-in?next=%2Fdashboard%2Flive%2Fkeys").await;
}

/// A link in a ticket opens the page, though the browser sends no cookie with it.
#[tokio::test]
async fn a_link_from_another_site_opens_the_page() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    browser.come_from_elsewhere("/dashboard/live/keys").await;
    browser.sees("Sessions in the dashboard").await;
    browser.is_at("/dashboard/live/keys").await;
    browser.forget_cookies().await;
    browser.come_from_elsewhere("/dashboard/live/keys").await;
    browser.is_at("/dashboard/sign-in?next=%2Fdashboard%2Flive%2Fkeys").await;
}

/// From signing in to a user's page without a mouse.
#[tokio::test]
async fn the_keyboard_is_enough() {
    let app = App::start().await;
    let license = app.license(serde_json::json!({})).await;
    app.assign(&license, "ada").await.data();
    let key = app.new_key("default", Role::Admin, Mode::Live).await;
    let browser = Browser::start(&app).await;
    browser.open("/dashboard").await;
    browser.has_focus("API key").await;
    browser.fill("API key", &key).await;
    browser.press("Enter").await;
    browser.sees("Sign out").await;
    browser.press("Tab").await;
    browser.has_focus("Skip to content").await;
    browser.press("/").await;
    browser.has_focus("Find a user, license, key or product").await;
    browser.fill("Find a user, license, key or product", "ada").await;
    browser.press("Enter").await;
    browser.sees("Licensed for Studio.").await;
}

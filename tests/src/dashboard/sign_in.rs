//! Signing in and out, and what a session is.

use common::{Mode, Role};
use reqwest::header::{LOCATION, SET_COOKIE};
use reqwest::{Client, Response, redirect};

use super::{is_fit_for_everyone, sign_in, signed_in, signed_in_as};
use crate::harness::{App, Browser};

#[tokio::test]
async fn signing_in_goes_on_to_the_page_that_was_wanted() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Admin, Mode::Live).await;
    let browser = Browser::start(&app).await;
    browser.without_script().await;
    browser.open("/dashboard/live/keys?before=").await;
    browser.fill("API key", "sk_live_wrong").await;
    browser.click("Sign in").await;
    browser.sees("This key is not valid, or has expired or been revoked.").await;
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
    assert!(!browser.text().await.contains("first key"));
}

#[tokio::test]
async fn a_session_can_be_ended_by_another() {
    let app = App::start().await;
    let reader = app.new_key("default", Role::Read, Mode::Test).await;
    let signed_in_elsewhere = post(&app, "/dashboard/sign-in", &[("key", &reader)], &[]).await;
    let cookie = cookie_of(&signed_in_elsewhere);
    let keys = "/dashboard/test/keys";
    assert_eq!(get(&app, keys, &[("cookie", &cookie)]).await.status(), 200);
    let browser = signed_in(&app).await;
    browser.open("/dashboard/live/keys").await;
    browser.click_in("End session", "End session of key of a test from 127.0.0.1").await;
    browser.sees("The session has ended.").await;
    let refused = get(&app, keys, &[("cookie", &cookie)]).await;
    assert_eq!(refused.status(), 303);
    assert!(refused.headers()[LOCATION].to_str().unwrap().starts_with("/dashboard/sign-in?next="));
}

/// Live and test are told apart by a word, a colour and the icon, and only who may enters the other.
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

/// A session is over after 12 hours, whatever its cookie says.
#[tokio::test]
async fn a_session_ends_after_its_time() {
    let app = App::start().await;
    let browser = signed_in_as(&app, Role::Read, Mode::Live).await;
    let mut conn = app.db().write().await.unwrap();
    let end: common::Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
    let changed = conn.query("update sessions set expires_at = $1").bind(end).execute().await;
    assert_eq!(changed.unwrap(), 1);
    drop(conn);
    browser.open("/dashboard/live/keys").await;
    browser.sees("Your session has ended").await;
    browser.is_at("/dashboard/sign-in?next=%2Fdashboard%2Flive%2Fkeys").await;
}

#[tokio::test]
async fn forms_of_other_sites_are_refused() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Admin, Mode::Live).await;
    let cookie = cookie_of(&post(&app, "/dashboard/sign-in", &[("key", &key)], &[]).await);
    let fields = [("name", "stolen"), ("role", "admin"), ("expires", "30")];
    let own = app.base.clone();
    for (name, value, status) in [
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "same-origin", 201),
        ("origin", own.as_str(), 201),
    ] {
        let headers = [("cookie", cookie.as_str()), (name, value)];
        let answer = post(&app, "/dashboard/live/keys", &fields, &headers).await;
        assert_eq!(answer.status(), status, "{name}: {value}");
    }
    let keys = app.get("/api/v1/admin/keys").await;
    assert_eq!(keys.list().iter().filter(|key| key["name"] == "stolen").count(), 2);
}

/// Wrong keys of an address must wait after ten, and the right one need not.
#[tokio::test]
async fn wrong_keys_of_an_address_are_limited() {
    let app = App::start().await;
    let (wrong, right) = ("sk_live_wrong", app.new_key("default", Role::Read, Mode::Live).await);
    for _ in 0..10 {
        let answer = post(&app, "/dashboard/sign-in", &[("key", wrong)], &[]).await;
        assert_eq!(answer.status(), 401);
    }
    let answer = post(&app, "/dashboard/sign-in", &[("key", wrong)], &[]).await;
    assert_eq!(answer.status(), 429);
    assert!(answer.text().await.unwrap().contains("Too many wrong keys came from your address."));
    assert_eq!(post(&app, "/dashboard/sign-in", &[("key", &right)], &[]).await.status(), 303);
}

/// Behind TLS the cookie can be neither sent in the clear nor set by a neighbour.
#[tokio::test]
async fn behind_tls_the_cookie_is_bound_to_the_host() {
    let app = App::start().await;
    let key = app.new_key("default", Role::Read, Mode::Live).await;
    let tls = [("x-forwarded-proto", "https")];
    let answer = post(&app, "/dashboard/sign-in", &[("key", &key)], &tls).await;
    let set = answer.headers()[SET_COOKIE].to_str().unwrap();
    assert!(set.starts_with("__Host-licd-session="), "{set}");
    assert!(set.ends_with("; Path=/; Secure; Max-Age=43200; HttpOnly; SameSite=Strict"), "{set}");
    let cookie = cookie_of(&answer);
    let behind_tls = [("cookie", cookie.as_str()), tls[0]];
    assert_eq!(get(&app, "/dashboard/live/keys", &behind_tls).await.status(), 200);
    let plain = [("cookie", cookie.as_str())];
    assert_eq!(get(&app, "/dashboard/live/keys", &plain).await.status(), 303);
}

#[tokio::test]
async fn the_pages_to_sign_in_and_of_errors_are_fit_for_everyone() {
    let app = App::start().await;
    let browser = signed_in(&app).await;
    is_fit_for_everyone(&browser, "/dashboard/live/nowhere").await;
    browser.forget_cookies().await;
    is_fit_for_everyone(&browser, "/dashboard/sign-in").await;
}

fn client() -> Client {
    Client::builder().no_proxy().redirect(redirect::Policy::none()).build().unwrap()
}

async fn get(app: &App, path: &str, headers: &[(&str, &str)]) -> Response {
    let request = client().get(format!("{}{path}", app.base));
    let request = headers.iter().fold(request, |it, (name, value)| it.header(*name, *value));
    request.send().await.unwrap()
}

async fn post(
    app: &App,
    path: &str,
    fields: &[(&str, &str)],
    headers: &[(&str, &str)],
) -> Response {
    let request = client().post(format!("{}{path}", app.base));
    let request = headers.iter().fold(request, |it, (name, value)| it.header(*name, *value));
    let body = fields.iter().map(|(name, value)| format!("{name}={value}"));
    let form = "application/x-www-form-urlencoded";
    let request = request.header("content-type", form).body(body.collect::<Vec<_>>().join("&"));
    request.send().await.unwrap()
}

/// What a browser would send back.
fn cookie_of(response: &Response) -> String {
    let set = response.headers()[SET_COOKIE].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}

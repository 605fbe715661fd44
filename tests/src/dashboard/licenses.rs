//! Licenses: created from a plan, assigned, changed, and what the API says of it then.

mod forms;
mod list;
mod new;
mod users;

use common::{Mode, Role};
use reqwest::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, Response, Url, redirect};
use serde_json::json;

use super::{MARKUP, is_fit_for_everyone, signed_in, signed_in_as};
use crate::harness::{App, Browser};

/// The address of a license's page.
fn page_of(license: &str) -> String {
    format!("/dashboard/live/licenses/{license}")
}

/// A session of a live admin key without a browser, for forms that no page has.
struct Session {
    client: Client,
    base: String,
    cookie: String,
}

impl Session {
    async fn start(app: &App) -> Self {
        let key = app.new_key("default", Role::Admin, Mode::Live).await;
        let client = Client::builder().no_proxy().redirect(redirect::Policy::none());
        let client = client.build().unwrap();
        let mut session = Self { client, base: app.base.clone(), cookie: String::new() };
        let answer = session.post("/dashboard/sign-in", &[("key", &key)]).await;
        let set = answer.headers()[SET_COOKIE].to_str().unwrap();
        session.cookie = set.split(';').next().unwrap().to_owned();
        session
    }

    async fn get(&self, path: &str) -> Response {
        let request = self.client.get(format!("{}{path}", self.base));
        request.header(COOKIE, &self.cookie).send().await.unwrap()
    }

    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let encoded = Url::parse_with_params("http://localhost", fields).unwrap();
        let request = self.client.post(format!("{}{path}", self.base));
        let request = request.header(COOKIE, &self.cookie);
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        request.body(encoded.query().unwrap_or_default().to_owned()).send().await.unwrap()
    }
}

/// Where an answer sends the browser.
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
    for text in ["ada", "grace", "export", "seat.taken", "all seats are held"] {
        browser.sees(text).await;
    }
    let forms = "return document.querySelectorAll('main form, main details').length";
    assert_eq!(browser.script(forms).await, 0);
    browser.open("/dashboard/live/licenses/new").await;
    browser.sees("Not allowed").await;
}

/// An id of one world opens nothing in another.
#[tokio::test]
async fn a_license_is_shown_in_its_own_world_alone() {
    let app = App::start().await;
    let license = app.license(json!({})).await;
    let of_test = app.test_mode().await.license(json!({})).await;
    let of_other = app.other_tenant().await.license(json!({})).await;
    let session = Session::start(&app).await;
    assert_eq!(session.get(&page_of(&license)).await.status(), 200);
    for stranger in [of_test.as_str(), of_other.as_str(), "lic_nonsense"] {
        assert_eq!(session.get(&page_of(stranger)).await.status(), 404, "{stranger}");
        for (form, field, value) in [
            ("status", "status", "revoked"),
            ("limit", "maxSeats", "1"),
            ("expiry", "expiresAt", "2090-01-31"),
            ("features", "features", "x"),
            ("assign", "userId", "ada"),
            ("unassign", "userId", "ada"),
        ] {
            let path = format!("{}/{form}", page_of(stranger));
            assert_eq!(session.post(&path, &[(field, value)]).await.status(), 404, "{path}");
        }
    }
    assert_eq!(session.get(&page_of(&license)).await.status(), 200);
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
        "/dashboard/live/licenses?expiry=30&user=ada",
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

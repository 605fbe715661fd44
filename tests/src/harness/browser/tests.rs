//! Tests the browser of the tests, on pages of their own: a check that never fails checks nothing.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Redirect};
use axum::routing::{get, post};
use futures_util::FutureExt;
use tokio::net::TcpListener;

use super::Browser;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src * data:; \
    form-action 'self'";

/// Timeout of steps that must fail.
const BRIEF: Duration = Duration::from_millis(300);

const FORM: &str = r#"<main><h1>A form</h1>
    <form method="post" action="/save">
      <label for="name">Name</label> <input id="name" name="name" value="old" required>
      <label>Day <input type="date" name="day"></label>
      <label>Role <select name="role"><option>read</option><option>admin</option></select></label>
      <label><input type="checkbox" name="live"> Live</label>
      <button>Save</button>
    </form>
    <table><tr><th scope="row">One<td><a href="/rows/1">Edit</a>
      <tr><th scope="row">Two<td><a href="/rows/2">Edit</a></table>
    <p hidden>secret</p></main>"#;

/// A page without a fault but those in its body.
fn page(body: &str) -> impl IntoResponse + use<> {
    let head = r#"<!doctype html><html lang="en"><meta name="viewport"
        content="width=device-width"><title>A page</title><link rel="icon" href="data:,">
        <link rel="stylesheet" href="/style.css"><script src="/script.js"></script>"#;
    ([(CONTENT_SECURITY_POLICY, POLICY)], Html(format!("{head}<body>{body}</body>")))
}

async fn browser() -> Browser {
    drop(rustls::crypto::ring::default_provider().install_default());
    let shown = async |RawQuery(query): RawQuery| page(&format!("<h1>{}</h1>", query.unwrap()));
    let style = "body { background: white } .wide { width: 400px }
        @media (prefers-color-scheme: dark) { body { background: black } }";
    let script = "addEventListener('load', () => document.body.dataset.ran = 'yes')";
    let pages = Router::new()
        .route("/", get(async || page(FORM)))
        .route("/save", post(async |body: String| Redirect::to(&format!("/shown?{body}"))))
        .route("/shown", get(shown))
        .route("/wide", get(async || page(r#"<h1>Wide</h1><p class="wide">...</p>"#)))
        .route("/missing", get(async || page(r#"<img alt="" src="/none.png">"#)))
        .route("/elsewhere", get(async || page(r#"<img alt="" src="http://example.com/a.png">"#)))
        .route("/inline", get(async || page(r#"<p style="color: red">red</p>"#)))
        .route("/faulty", get(async || page(r#"<script src="/faulty.js"></script>"#)))
        .route("/barrier", get(async || page("<main><h1>Barrier</h1><input></main>")))
        .route("/style.css", get(async move || ([(CONTENT_TYPE, "text/css")], style)))
        .route("/script.js", get(async move || ([(CONTENT_TYPE, "text/javascript")], script)))
        .route("/faulty.js", get(async || ([(CONTENT_TYPE, "text/javascript")], "none.of.it")));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, pages).await });
    Browser::at(&base).await
}

/// Returns the message of the failure.
async fn failure(step: impl Future<Output = ()>) -> String {
    let failed = AssertUnwindSafe(step).catch_unwind().await.unwrap_err();
    *failed.downcast::<String>().unwrap()
}

#[tokio::test]
async fn a_step_that_stays_impossible_fails_and_shows_the_page() {
    let mut browser = browser().await;
    browser.open("/").await;
    browser.patience = BRIEF;
    let told = failure(browser.click("Delete")).await;
    assert!(told.starts_with(r#"cannot click "Delete""#), "{told}");
    assert!(told.contains(r#"["Live","Save","Edit","Edit"]"#), "{told}");
    assert!(told.contains("-- / shows:\nA form\n"), "{told}");
}

#[tokio::test]
async fn a_name_must_be_of_one_element() {
    let mut browser = browser().await;
    browser.open("/").await;
    browser.patience = BRIEF;
    let told = failure(browser.click("Edit")).await;
    assert!(told.contains("there are several with this name"), "{told}");
}

#[tokio::test]
async fn what_the_console_says_fails_the_test() {
    for (path, complaint) in [
        ("/missing", "/none.png - Failed to load resource: the server responded with"),
        ("/elsewhere", "example.com/a.png - Failed to load resource: net::ERR_NAME_NOT_RESOLVED"),
        ("/inline", "Content Security Policy directive 'style-src 'self''"),
        ("/faulty", "none is not defined"),
    ] {
        let browser = browser().await;
        let told = failure(async {
            browser.open(path).await;
            browser.text().await;
        });
        let told = told.await;
        assert!(told.contains("the console says") && told.contains(complaint), "{path}: {told}");
    }
}

#[tokio::test]
async fn a_page_is_seen_on_any_screen() {
    let browser = browser().await;
    browser.open("/wide").await;
    assert!(!browser.overflows().await);
    browser.narrow().await;
    assert!(browser.overflows().await);
    browser.open("/").await;
    assert!(!browser.overflows().await);
    let color = "return getComputedStyle(document.body).backgroundColor";
    for _ in 0..2 {
        browser.dark().await;
        assert_eq!(browser.script(color).await, "rgb(0, 0, 0)");
        browser.open("/wide").await;
        assert_eq!(browser.script(color).await, "rgb(0, 0, 0)");
        browser.light().await;
        assert_eq!(browser.script(color).await, "rgb(255, 255, 255)");
    }
}

#[tokio::test]
async fn a_picture_is_written_only_when_that_is_wanted() {
    let browser = browser().await;
    browser.open("/").await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images/form.webp");
    let told = failure(browser.keep_picture(&path, false)).await;
    assert!(told.contains("form.webp is missing"), "{told}");
    browser.keep_picture(&path, true).await;
    assert_eq!(std::fs::read(&path).unwrap()[8..12], *b"WEBP");
    std::fs::write(&path, "kept").unwrap();
    browser.keep_picture(&path, false).await;
    assert_eq!(std::fs::read(&path).unwrap(), b"kept");
}

#[tokio::test]
async fn a_page_runs_no_script_when_there_is_none() {
    let browser = browser().await;
    let ran = "return document.body.dataset.ran ?? 'no'";
    browser.open("/").await;
    assert_eq!(browser.script(ran).await, "yes");
    browser.without_script().await;
    browser.open("/").await;
    assert_eq!(browser.script(ran).await, "no");
    browser.fill("Name", "new").await;
    browser.click("Save").await;
    browser.is_at("/shown?name=new&day=&role=read").await;
}

#[tokio::test]
async fn axe_finds_a_field_without_a_label() {
    let browser = browser().await;
    browser.open("/").await;
    browser.is_accessible().await;
    browser.open("/barrier").await;
    let told = failure(browser.is_accessible()).await;
    assert!(told.contains("label (critical): Form elements must have labels"), "{told}");
    assert!(told.contains("<input>"), "{told}");
}

//! `/docs`, on which Redoc renders the reference.

use crate::harness::{App, Browser};

/// Redoc writes nothing to the console and asks no other host, or the browser fails the test.
#[tokio::test]
async fn the_reference_is_rendered_without_a_complaint() {
    let app = App::start().await;
    let browser = Browser::start(&app).await;
    browser.open("/docs").await;
    browser.sees("Download OpenAPI specification").await;
    assert_eq!(browser.title().await, "licd: reference");
    assert_eq!(browser.heading().await, "licd (0.1.0)");
    for part in ["Validation", "Licenses", "/api/v1/validate"] {
        browser.sees(part).await;
    }
}

/// A visitor without scripts sees where the document is.
#[tokio::test]
async fn without_scripts_the_reference_leads_to_the_document() {
    let app = App::start().await;
    let browser = Browser::start(&app).await;
    browser.without_script().await;
    browser.open("/docs").await;
    browser.click("api/v1/openapi.json").await;
    browser.is_at("/api/v1/openapi.json").await;
    browser.sees(r#""openapi":"3.1.0""#).await;
}

//! Headers: those that every answer has, and requests whose headers contradict themselves.

use reqwest::Method;
use reqwest::header::AUTHORIZATION;
use serde_json::json;

use crate::harness::App;

/// No browser guesses another type, and no response to a key is cached.
#[tokio::test]
async fn answers_are_neither_sniffed_nor_stored() {
    let app = App::start().await;
    for answer in [
        app.get("/api/v1/key").await,
        app.validate("ada").await,
        app.post("/api/v1/admin/keys", json!({ "name": "CI", "role": "read" })).await,
        app.get("/api/v1/admin/users").await,
        app.without_key().get("/api/v1/key").await,
        app.get("/api/v1/nothing").await,
        app.get("/healthz").await,
    ] {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer}");
    }
}

/// RFC 9110: a 401 names the scheme that would do.
#[tokio::test]
async fn a_401_asks_for_a_bearer() {
    let app = App::start().await;
    let refused = app.without_key().validate("ada").await;
    assert_eq!(refused.header("www-authenticate"), Some(r#"Bearer realm="licd""#));
    assert_eq!(app.get("/api/v1/key").await.header("www-authenticate"), None);
}

/// Two keys, or two names for a request: whichever counted, the caller may have meant the other.
#[tokio::test]
async fn headers_given_twice_are_refused() {
    let app = App::start().await;
    let bearer = format!("Bearer {}", app.key.clone().unwrap());
    for path in ["/api/v1/key", "/api/v1/validate"] {
        let method = if path.ends_with("key") { Method::GET } else { Method::POST };
        let answer = app
            .send(method, path, |request| {
                request.header(AUTHORIZATION, &bearer).json(&json!({ "userId": "ada" }))
            })
            .await;
        assert_eq!(answer.refusal(), "401 unauthorized", "{path}");
    }
    let answer = app
        .send(Method::POST, "/api/v1/admin/products", |request| {
            let request = request.header("idempotency-key", "a").header("idempotency-key", "b");
            request.json(&json!({ "name": "Studio" }))
        })
        .await;
    assert_eq!(answer.refusal(), "400 invalid_request Idempotency-Key");
    assert!(app.get("/api/v1/admin/products").await.list().is_empty(), "nothing was done");
}

//! Requests without a key: liveness, readiness, and the OpenAPI document.

use serde_json::json;

use crate::harness::App;

#[tokio::test]
async fn health_and_readiness_need_no_key() {
    let app = App::start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(app.without_key().get(path).await.status, 200, "{path}");
    }
}

/// "Never limited."
#[tokio::test]
async fn health_is_never_limited() {
    let app = App::with_limit("1/m").await;
    assert_eq!(app.get("/api/v1/key").await.status, 200);
    assert_eq!(app.get("/api/v1/key").await.status, 429);
    for _ in 0..5 {
        for path in ["/healthz", "/readyz"] {
            let answer = app.get(path).await;
            assert_eq!((answer.status, answer.header("ratelimit-limit")), (200, None));
        }
    }
}

/// The document that is served is the one that every answer here is checked against.
#[tokio::test]
async fn the_openapi_document_is_served() {
    let app = App::start().await;
    let served = app.without_key().get("/api/v1/openapi.json").await;
    assert_eq!(served.status, 200);
    assert_eq!(served.body["openapi"], "3.1.0");
    assert_eq!(served.body, json!(licd::routes::document()));
}

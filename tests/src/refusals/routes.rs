//! Addresses and methods that lead nowhere, and the request's id.

use reqwest::Method;

use crate::harness::App;

#[tokio::test]
async fn an_unknown_route_is_404_in_the_envelope() {
    let app = App::start().await;
    assert_eq!(app.get("/api/v1/nothing").await.refusal(), "404 not_found");
    for path in ["/", "/api", "/api/v1", "/api/v2/validate", "/api/v1/validate/", "/api/v1/Key"] {
        for caller in [app.clone(), app.without_key()] {
            let refused = caller.get(path).await;
            assert_eq!(refused.refusal(), "404 not_found", "{path}");
            let says =
                refused.body["error"].as_str().unwrap().contains("Remove the slash at its end");
            assert_eq!(says, path.len() > 1 && path.ends_with('/'), "{path}");
        }
    }
}

/// 405, with the methods that the address does take.
#[tokio::test]
async fn a_wrong_method_is_405_with_allow() {
    let app = App::start().await;
    assert_eq!(app.get("/api/v1/validate").await.refusal(), "405 method_not_allowed");
    for (method, path, allowed) in [
        (Method::GET, "/api/v1/validate", vec!["POST"]),
        (Method::PUT, "/api/v1/validate", vec!["POST"]),
        (Method::DELETE, "/api/v1/key", vec!["GET", "HEAD"]),
        (Method::PATCH, "/api/v1/admin/products", vec!["GET", "HEAD", "POST"]),
        (Method::POST, "/api/v1/admin/plans/x", vec!["DELETE", "GET", "HEAD", "PATCH"]),
        (Method::POST, "/api/v1/admin/licenses/x/status", vec!["PATCH"]),
        (Method::GET, "/api/v1/admin/licenses/x/assign", vec!["DELETE", "POST"]),
        (Method::OPTIONS, "/api/v1/admin/users", vec!["GET", "HEAD", "POST"]),
    ] {
        let refused = app.send(method.clone(), path, |request| request).await;
        assert_eq!(refused.refusal(), "405 method_not_allowed", "{method} {path}");
        let mut told: Vec<_> = refused.header("allow").unwrap().split(',').map(str::trim).collect();
        told.sort_unstable();
        assert_eq!(told, allowed, "{method} {path}");
    }
}

/// A caller's own request id is kept when it is short and printable; else there is a new one.
#[tokio::test]
async fn every_answer_has_a_request_id() {
    let app = App::start().await;
    let long = "x".repeat(128);
    let too_long = "x".repeat(129);
    for (given, kept) in [
        ("my-id.7", true),
        (&*long, true),
        (&*too_long, false),
        ("", false),
        ("two words", false),
        ("ümlaut", false),
    ] {
        for path in ["/api/v1/key", "/api/v1/nothing", "/healthz"] {
            let answer =
                app.send(Method::GET, path, |request| request.header("x-request-id", given)).await;
            let id = answer.header("x-request-id").unwrap();
            assert_eq!(id == given, kept, "{given:?} at {path}");
        }
    }
    let (one, other) = (app.get("/api/v1/key").await, app.get("/api/v1/key").await);
    assert_ne!(one.header("x-request-id"), other.header("x-request-id"));
}

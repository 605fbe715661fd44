//! A refusal costs neither itself nor what comes after it on the same connection, whenever and
//! however large the body comes that it did not wait for.

use common::{ApiKey, Mode};
use futures_util::future::join_all;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};

use super::raw::{Raw, head, json_headers};
use crate::harness::App;

/// A request that is refused before its body is read, or needs none.
struct Refused {
    method: &'static str,
    path: &'static str,
    headers: Vec<String>,
    status: u16,
}

/// Every kind of such a request, with a body of this length.
async fn refused(app: &App, length: usize) -> Vec<Refused> {
    let (admin, asker) = (app.key.clone(), app.asker().await.key);
    let unknown = ApiKey::generate(Mode::Live);
    let with = |method, path, key: Option<&str>, status| {
        let headers = json_headers(key, length);
        Refused { method, path, headers, status }
    };
    let replaced = |name: &str, line: &str| {
        let mut refused = with("POST", "/api/v1/validate", admin.as_deref(), 415);
        refused.headers.retain(|header| !header.starts_with(name));
        refused.headers.push(line.into());
        refused
    };
    let products = "/api/v1/admin/products";
    vec![
        with("POST", products, None, 401),
        with("POST", "/api/v1/validate", None, 401),
        with("POST", products, Some(unknown.expose()), 401),
        with("POST", products, asker.as_deref(), 403),
        with("POST", "/api/v1/nothing", admin.as_deref(), 404),
        with("POST", "/api/v1/admin/license-keys/unknown/revoke", admin.as_deref(), 404),
        with("PUT", "/api/v1/validate", admin.as_deref(), 405),
        with("GET", "/api/v1/key", admin.as_deref(), 200),
        replaced(CONTENT_TYPE.as_str(), "content-type: text/plain"),
        replaced(CONTENT_ENCODING.as_str(), "content-encoding: gzip"),
    ]
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nhost: licd\r\n\r\n";

/// Sends the head together with another request, and the body after the response to that one, so
/// that licd has certainly begun with the head. Then another request must succeed too.
async fn refuse_late(connection: &mut Raw, refused: &Refused, body: &[u8]) {
    let Refused { method, path, headers, status } = refused;
    connection.send(HEALTH.to_owned() + &head(method, path, headers)).await;
    assert_eq!(connection.answer().await.status, 200);
    connection.send(body).await;
    let answer = connection.answer().await;
    assert_eq!(answer.status, *status, "{method} {path}: {answer:?}");
    assert!(!answer.closes(), "{method} {path}");
    connection.send(HEALTH).await;
    assert_eq!(connection.answer().await.status, 200, "the request after {method} {path}");
}

#[tokio::test]
async fn the_request_after_a_refusal_is_not_lost() {
    let app = App::start().await;
    let mut connection = Raw::connect(&app.base).await;
    for refused in refused(&app, 40).await {
        for _ in 0..5 {
            refuse_late(&mut connection, &refused, &[b' '; 40]).await;
        }
    }
}

/// 429 and 413 are refusals like the others.
#[tokio::test]
async fn nor_is_the_one_after_a_spent_rate_or_a_large_body() {
    let app = App::with_limit("1/m").await;
    let mut connection = Raw::connect(&app.base).await;
    let products = "/api/v1/admin/products";
    let large = json_headers(app.key.as_deref(), 2 << 20);
    let large = Refused { method: "POST", path: products, headers: large, status: 413 };
    refuse_late(&mut connection, &large, &vec![b' '; 2 << 20]).await;
    let spent = json_headers(app.key.as_deref(), 40);
    let spent = Refused { method: "POST", path: products, headers: spent, status: 429 };
    for _ in 0..5 {
        refuse_late(&mut connection, &spent, &[b' '; 40]).await;
    }
}

/// Callers that read only after sending the whole body receive the answer.
#[tokio::test]
async fn the_refusal_of_a_large_body_arrives() {
    let app = App::start().await;
    for size in [900_000, 5 << 20, 15 << 20] {
        let body = vec![b' '; size];
        for Refused { method, path, headers, status } in refused(&app, size).await {
            let mut connection = Raw::connect(&app.base).await;
            connection.send(head(method, path, &headers)).await;
            connection.send(&body).await;
            let answer = connection.answer().await;
            assert_eq!(answer.status, status, "{size} bytes to {method} {path}");
        }
    }
}

/// The answer does not wait long for a body that does not come, and says that it will not.
#[tokio::test]
async fn a_missing_body_closes_the_connection_after_the_answer() {
    let app = App::start().await;
    let refused = refused(&app, 40).await;
    join_all(refused.into_iter().map(async |Refused { method, path, headers, status }| {
        let mut connection = Raw::connect(&app.base).await;
        connection.send(head(method, path, &headers) + "half").await;
        let answer = connection.answer().await;
        assert_eq!((answer.status, answer.closes()), (status, true), "{method} {path}");
        connection.send([b' '; 36]).await;
        assert!(connection.end().await.unwrap().is_empty(), "closed, and not broken off");
    }))
    .await;
}

/// A refused request gets no `100 Continue`.
#[tokio::test]
async fn a_refused_request_gets_no_100_continue() {
    let app = App::start().await;
    for Refused { method, path, mut headers, status } in refused(&app, 40).await {
        headers.push("expect: 100-continue".into());
        let mut connection = Raw::connect(&app.base).await;
        connection.send(head(method, path, &headers)).await;
        let answer = connection.answer().await;
        assert_eq!((answer.status, answer.closes()), (status, true), "{method} {path}");
    }
}

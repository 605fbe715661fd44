//! HTTP itself: keep-alive, pipelining, and heads that break its rules.

use super::wire::{RawAnswer, Wire};
use crate::harness::App;

/// Sends this and reads the answer.
async fn ask(app: &App, bytes: impl AsRef<[u8]>) -> RawAnswer {
    let mut wire = Wire::connect(&app.base).await;
    wire.send(bytes).await;
    wire.answer().await
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    let app = App::start().await;
    let mut wire = Wire::connect(&app.base).await;
    let requests = (0..200).map(|n| {
        format!("GET /api/v1/key HTTP/1.1\r\nhost: licd\r\nx-request-id: number-{n}\r\n\r\n")
    });
    wire.send(requests.collect::<String>()).await;
    for n in 0..200 {
        let answer = wire.answer().await;
        assert_eq!(answer.refusal(), "401 unauthorized");
        assert!(answer.head.contains(&format!("x-request-id: number-{n}\r\n")), "{}", answer.head);
    }
}

/// HTTP/1.1 is kept alive unless the client says otherwise, HTTP/1.0 only if it says so.
#[tokio::test]
async fn connections_are_kept_alive_as_asked() {
    let app = App::start().await;
    for (version, line, kept) in [
        ("1.1", "", true),
        ("1.1", "connection: close\r\n", false),
        ("1.0", "", false),
        ("1.0", "connection: keep-alive\r\n", true),
    ] {
        let mut wire = Wire::connect(&app.base).await;
        let request = format!("GET /healthz HTTP/{version}\r\nhost: licd\r\n{line}\r\n");
        wire.send(&request).await;
        assert_eq!(wire.answer().await.status, 200);
        if kept {
            wire.send(&request).await;
            assert_eq!(wire.answer().await.status, 200, "{request}");
        } else {
            assert_eq!(wire.read_to_end().await, "", "{request}");
        }
    }
}

/// One Host, which HTTP/1.0 may leave out, and no transfer coding but chunks.
#[tokio::test]
async fn heads_that_others_could_read_differently_are_400() {
    let app = App::start().await;
    for (head, refusal) in [
        ("GET /healthz HTTP/1.1\r\n", "Host"),
        ("GET /healthz HTTP/1.1\r\nhost: licd\r\nhost: licd\r\n", "Host"),
        ("GET /healthz HTTP/1.1\r\nhost: a/b\r\n", "Host"),
        ("GET http://licd/healthz HTTP/1.1\r\n", "Host"),
        (
            "POST /api/v1/validate HTTP/1.1\r\nhost: licd\r\ntransfer-encoding: identity, chunked\r\n",
            "Transfer-Encoding",
        ),
    ] {
        let answer = ask(&app, format!("{head}\r\n")).await;
        assert_eq!(answer.refusal(), format!("400 invalid_request {refusal}"), "{head}");
    }
    assert_eq!(ask(&app, "GET /healthz HTTP/1.0\r\n\r\n").await.status, 200);
}

/// Refusals of hyper itself have the same shape, also after valid requests.
#[tokio::test]
async fn heads_that_cannot_be_read_are_refused_like_all_others() {
    let app = App::start().await;
    let many: String = (0..101).map(|n| format!("x-{n}: y\r\n")).collect();
    let long = "y".repeat(20_000);
    for (head, refusal) in [
        ("GET /health z HTTP/1.1\r\n".into(), "400 invalid_request"),
        ("GET /healthz\r\n".into(), "400 invalid_request"),
        ("GET /healthz HTTP/1.1\r\nhost: licd\r\nno colon\r\n".into(), "400 invalid_request"),
        (
            "POST /healthz HTTP/1.1\r\nhost: licd\r\ncontent-length: 1\r\ncontent-length: 2\r\n"
                .into(),
            "400 invalid_request",
        ),
        (format!("GET /healthz HTTP/1.1\r\n{many}"), "431 request_header_fields_too_large"),
        (format!("GET /{long} HTTP/1.1\r\n"), "431 request_header_fields_too_large"),
        (format!("GET / HTTP/1.1\r\nx: {long}\r\n"), "431 request_header_fields_too_large"),
    ] {
        let answer = ask(&app, format!("{head}\r\n")).await;
        assert_eq!(answer.refusal(), refusal, "{head}");
        let good = "GET /healthz HTTP/1.1\r\nhost: licd\r\n\r\n";
        let mut wire = Wire::connect(&app.base).await;
        wire.send(format!("{good}{good}{head}\r\n")).await;
        assert_eq!(wire.answer().await.status, 200);
        assert_eq!(wire.answer().await.status, 200);
        assert_eq!(wire.answer().await.refusal(), refusal, "{head}");
        assert_eq!(wire.read_to_end().await, "", "the connection ends after it");
    }
}

/// A client that is still sending receives an early refusal.
#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    /// More than the buffers of both kernels hold.
    const BODY_BYTES: usize = 20_000_000;
    let app = App::start().await;
    for _ in 0..5 {
        let mut wire = Wire::connect(&app.base).await;
        wire.send(format!(
            "POST /api/v1/admin/products HTTP/1.1\r\nhost: licd\r\n\
             content-type: application/json\r\ncontent-length: {BODY_BYTES}\r\n\r\n"
        ))
        .await;
        wire.send(vec![b' '; BODY_BYTES]).await;
        assert_eq!(wire.answer().await.refusal(), "401 unauthorized");
    }
}

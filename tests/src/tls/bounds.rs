//! The bounds on connections: a handshake counts as a head, and a reader that does not read is ended.

use std::time::Duration;

use licd::http::ConnectionLimits;
use serde_json::Value;

use super::client::{connect, hello, until_answered};
use super::pair::Pair;
use super::reload::start;
use super::serve;
use crate::connections::slow::LIMITS;
use crate::connections::wire::Wire;
use crate::harness::TestDatabase;
use crate::refusals::log::log_with;

const SHORT_TIMEOUT: Duration = Duration::from_millis(200);
/// A short one within which a handshake ends on a busy machine.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);

/// Silence, the beginning of a handshake, and a whole one without a request.
#[tokio::test]
async fn a_handshake_that_does_not_end_is_ended() {
    let pair = Pair::new();
    let app = serve(&pair, ConnectionLimits { head_timeout: HANDSHAKE_TIMEOUT, ..LIMITS }).await;
    assert_eq!(Wire::connect(&app.base).await.read_to_end().await, "");
    let mut half = Wire::connect(&app.base).await;
    half.send([0x16, 3, 1, 2, 0, 1, 0]).await;
    assert_eq!(half.read_to_end().await, "");
    assert_eq!(connect(&app.base, &pair).await.read_to_end().await, "");
}

/// Handshakes that never end make room for others, as all do that wait without a request.
#[tokio::test]
async fn silent_handshakes_make_room() {
    let pair = Pair::new();
    let app = serve(&pair, ConnectionLimits { max_connections: Some(4), ..LIMITS }).await;
    let mut known = connect(&app.base, &pair).await;
    known.get("/healthz").await;
    assert_eq!(known.answer().await.status, 200);
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut wire = Wire::connect(&app.base).await;
        wire.send([0x16, 3, 1, 2, 0, 1, 0]).await;
        silent.push(wire);
    }
    until_answered(&app.base, &pair).await;
    known.get("/healthz").await;
    assert_eq!(known.answer().await.status, 200, "who has asked before is ended last");
}

/// A client that waits in the middle of a handshake takes no permit from clients that begin one.
#[tokio::test]
async fn half_handshakes_hold_nobody_up() {
    let pair = Pair::new();
    let app = serve(&pair, LIMITS).await;
    let mut half = Vec::new();
    for _ in 0..200 {
        let mut wire = Wire::connect(&app.base).await;
        wire.send(hello()).await;
        half.push(wire);
    }
    let mut other = connect(&app.base, &pair).await;
    other.get("/healthz").await;
    assert_eq!(other.answer().await.status, 200);
}

#[tokio::test]
async fn an_idle_connection_is_ended() {
    let pair = Pair::new();
    let app = serve(&pair, ConnectionLimits { idle_timeout: SHORT_TIMEOUT, ..LIMITS }).await;
    let mut idle = connect(&app.base, &pair).await;
    idle.get("/healthz").await;
    assert_eq!(idle.answer().await.status, 200);
    assert_eq!(idle.read_to_end().await, "");
}

/// Answers to a client that does not read fill the kernel's buffers, and then licd closes it.
#[tokio::test]
async fn a_client_that_never_reads_is_closed() {
    let pair = Pair::new();
    let app = serve(&pair, ConnectionLimits { write_timeout: SHORT_TIMEOUT, ..LIMITS }).await;
    let mut deaf = connect(&app.base, &pair).await;
    let request = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: licd\r\n\r\n".repeat(100);
    deaf.send_until_ended(request).await;
    let mut other = connect(&app.base, &pair).await;
    other.get("/healthz").await;
    assert_eq!(other.answer().await.status, 200);
}

/// If the kernel accepts no more, a part of the responses waits in TLS's own buffer. It leaves when
/// the client reads, without another answer to push it. How much the kernel takes differs, so that
/// answers of many lengths are left unread for a while.
#[tokio::test]
async fn what_tls_holds_back_arrives() {
    let pair = Pair::new();
    let app = serve(&pair, LIMITS).await;
    let request = "GET /healthz HTTP/1.1\r\nhost: licd\r\n\r\n";
    let mut late = Vec::new();
    for answers in (100..3100).step_by(200) {
        let mut wire = connect(&app.base, &pair).await;
        wire.send(request.repeat(answers)).await;
        late.push((wire, answers));
    }
    let mut other = connect(&app.base, &pair).await;
    for _ in 0..3000 {
        other.send(request).await;
        assert_eq!(other.answer().await.status, 200);
    }
    for (mut wire, answers) in late {
        for _ in 0..answers {
            assert_eq!(wire.answer().await.status, 200);
        }
    }
}

/// A request that is being handled is not the client's delay, nor is a long answer that is read.
#[tokio::test]
async fn a_client_that_reads_gets_everything() {
    let pair = Pair::new();
    let limits =
        ConnectionLimits { head_timeout: HANDSHAKE_TIMEOUT, idle_timeout: SHORT_TIMEOUT, ..LIMITS };
    let app = serve(&pair, limits).await;
    let mut reader = connect(&app.base, &pair).await;
    reader.send("GET /api/v1/openapi.json HTTP/1.1\r\nhost: licd\r\n\r\n".repeat(40)).await;
    let first = reader.answer().await;
    assert_eq!(Wire::connect(&app.base).await.read_to_end().await, "");
    for _ in 1..40 {
        assert_eq!(reader.answer().await.body, first.body);
    }
}

fn failed(line: &Value) -> bool {
    line["message"] == "a connection was ended" && line["reason"] == "failed_handshake"
}

/// A malformed handshake is logged with its address.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_handshake_is_logged() {
    let (database, pair) = (TestDatabase::ready().await, Pair::new());
    let licd = start(&database, &pair);
    let mut wire = Wire::connect(&licd.base).await;
    wire.send([0x16, 3, 1, 0, 4, 1, 2, 3, 4]).await;
    wire.read_to_end().await;
    let log = log_with(&licd, failed).await;
    let line = log.iter().find(|line| failed(line)).unwrap();
    assert!(line["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
}

//! Slow clients: each phase of a connection has its own time-out.

use std::time::Duration;

use licd::http::ConnectionLimits;

use super::start;
use super::wire::Wire;

const SHORT_TIMEOUT: Duration = Duration::from_millis(200);
/// A time-out that no test reaches.
pub const NO_TIMEOUT: Duration = Duration::from_secs(3600);

/// Limits of which a test shortens one.
pub const LIMITS: ConnectionLimits = ConnectionLimits {
    max_connections: None,
    head_timeout: NO_TIMEOUT,
    idle_timeout: NO_TIMEOUT,
    write_timeout: NO_TIMEOUT,
};

#[tokio::test]
async fn a_connection_without_a_request_is_ended() {
    let app = start(ConnectionLimits { head_timeout: SHORT_TIMEOUT, ..LIMITS }).await;
    assert_eq!(Wire::connect(&app.base).await.read_to_end().await, "");
}

/// A byte now and then gives a head no more time.
#[tokio::test]
async fn a_head_that_dribbles_is_ended() {
    let app = start(ConnectionLimits { head_timeout: SHORT_TIMEOUT, ..LIMITS }).await;
    let mut slow = Wire::connect(&app.base).await;
    slow.send("GET /healthz HTTP/1.1\r\nhost: licd\r\nx: ").await;
    // Each byte waits until a connection that was opened after the last one was ended.
    let mut bytes = 0;
    while slow.try_send("y").await.is_ok() {
        assert_eq!(Wire::connect(&app.base).await.read_to_end().await, "");
        bytes += 1;
        assert!(bytes < 10, "{bytes} bytes were waited for");
    }
}

/// The second request comes later than a head may take, on a connection that is kept alive longer.
#[tokio::test]
async fn an_idle_connection_has_longer_than_a_head() {
    let app = start(ConnectionLimits { head_timeout: SHORT_TIMEOUT, ..LIMITS }).await;
    let mut idle = Wire::connect(&app.base).await;
    idle.get("/healthz").await;
    assert_eq!(idle.answer().await.status, 200);
    for _ in 0..2 {
        assert_eq!(Wire::connect(&app.base).await.read_to_end().await, "");
    }
    idle.get("/healthz").await;
    assert_eq!(idle.answer().await.status, 200);
}

#[tokio::test]
async fn an_idle_connection_is_ended() {
    let app = start(ConnectionLimits { idle_timeout: SHORT_TIMEOUT, ..LIMITS }).await;
    let mut idle = Wire::connect(&app.base).await;
    idle.get("/healthz").await;
    assert_eq!(idle.answer().await.status, 200);
    assert_eq!(idle.read_to_end().await, "");
}

/// Answers to a client that does not read fill the kernel's buffers, and then licd closes it.
#[tokio::test]
async fn a_client_that_never_reads_is_closed() {
    let app = start(ConnectionLimits { write_timeout: SHORT_TIMEOUT, ..LIMITS }).await;
    let mut deaf = Wire::connect(&app.base).await;
    let request = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: licd\r\n\r\n".repeat(100);
    deaf.send_until_ended(request).await;
    assert_eq!(app.get("/healthz").await.status, 200);
}

/// A request that is being handled is not the client's delay, nor is a long answer that is read.
#[tokio::test]
async fn a_client_that_reads_gets_everything() {
    let limits =
        ConnectionLimits { head_timeout: SHORT_TIMEOUT, idle_timeout: SHORT_TIMEOUT, ..LIMITS };
    let app = start(limits).await;
    let mut reader = Wire::connect(&app.base).await;
    reader.send("GET /api/v1/openapi.json HTTP/1.1\r\nhost: licd\r\n\r\n".repeat(40)).await;
    let first = reader.answer().await;
    assert_eq!(Wire::connect(&app.base).await.read_to_end().await, "");
    for _ in 1..40 {
        assert_eq!(reader.answer().await.body, first.body);
    }
}

//! Strangers who abuse HTTP/2: with heads that fill the memory, frames that ask for nothing, and
//! streams that are reset at once.

use axum::http::Request;
use serde_json::Value;

use super::client::{HTTP2, Http2, connect};
use super::pair::Pair;
use super::reload::start;
use super::serve;
use crate::connections::slow::LIMITS;
use crate::connections::wire::Wire;
use crate::harness::TestDatabase;
use crate::nodes::process::first_key;
use crate::refusals::log::log_with;

/// What a client of HTTP/2 says first, and that it takes our settings.
const PREFACE: &[u8] =
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0";

/// 100 connections with 32 large heads each, whose bodies never come: what is beyond the budget is
/// refused, small requests are answered, and the memory stays small.
#[tokio::test(flavor = "multi_thread")]
async fn large_heads_cost_little_memory() {
    let (database, pair) = (TestDatabase::empty().await, Pair::new());
    let licd = start(&database, &pair);
    let before = licd.peak_memory();
    let (key, padding) = (first_key(), "p".repeat(15_500));
    let (mut connections, mut begun) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let connection = Http2::connect(&licd.base, &pair).await;
        for _ in 0..32 {
            let request = Request::post("https://localhost/api/v1/validate")
                .header("authorization", format!("Bearer {key}"))
                .header("content-type", "application/json")
                .header("content-length", "1000")
                .header("x-padding", &padding);
            begun.push(connection.ask(request.body(()).unwrap(), true).await);
        }
        connections.push(connection);
    }
    let refused = begun.pop().unwrap().answer().await.unwrap();
    assert_eq!(refused.refusal(), "503 overloaded");
    let other = Http2::connect(&licd.base, &pair).await;
    assert_eq!(other.get("/healthz").await.status, 200);
    let grown = licd.peak_memory() - before;
    assert!(grown < 100 * 1024, "it took {grown} KiB");
}

/// Frames that ask for nothing: room for answers that nobody wants, priorities, an unknown type.
#[tokio::test]
async fn frames_that_ask_for_nothing_end_the_connection() {
    let pair = Pair::new();
    let app = serve(&pair, LIMITS).await;
    for frame in [
        &b"\0\0\x04\x08\0\0\0\0\0\0\0\0\x01"[..],
        b"\0\0\x05\x02\0\x7f\xff\xff\xfd\0\0\0\x01\0",
        b"\0\0\0\x42\0\0\0\0\0",
    ] {
        let mut wire = Wire::over(connect(&app.base, &pair, HTTP2).await);
        wire.send(PREFACE).await;
        wire.send_until_ended(frame.repeat(5000)).await;
    }
}

fn broken(line: &Value) -> bool {
    line["message"] == "connections were ended" && line["broken_http2"] == 1
}

/// Streams that are reset at once end their connection. What is logged is one line, with an address.
#[tokio::test(flavor = "multi_thread")]
async fn resets_in_a_hurry_are_logged_once() {
    let (database, pair) = (TestDatabase::empty().await, Pair::new());
    let licd = start(&database, &pair);
    let mut wire = Wire::over(connect(&licd.base, &pair, HTTP2).await);
    // GET /, and its reset.
    let streams = (0..60_u8).flat_map(|number| {
        let (high, low) = (0, 2 * number + 1);
        let head = [0, 0, 6, 1, 5, 0, 0, high, low, 0x82, 0x84, 0x87, 0x41];
        let reset = [0, 0, 4, 3, 0, 0, 0, high, low, 0, 0, 0, 8];
        let authority = [1, b'x'];
        let mut frames = head.to_vec();
        frames.extend(authority);
        frames.extend(reset);
        frames
    });
    wire.send([PREFACE.to_vec(), streams.collect()].concat()).await;
    wire.read_to_end().await;
    drop(wire);
    let log = log_with(&licd, broken).await;
    let line = log.iter().find(|line| broken(line)).unwrap();
    assert!(line["last_client"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    assert!(!licd.log().contains("h2::"), "{}", licd.log());
}

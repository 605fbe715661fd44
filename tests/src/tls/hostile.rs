//! Strangers who abuse HTTP/2: with heads that fill the memory.

use axum::http::Request;

use super::client::Http2;
use super::pair::Pair;
use super::reload::start;
use crate::harness::TestDatabase;
use crate::nodes::process::first_key;

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

//! The stop: what is in flight is answered over both protocols, and nothing else holds it up.

use std::time::{Duration, Instant};

use super::client::{Http2, body_of_validation, get, http1};
use super::pair::Pair;
use super::start;
use crate::crashes::shutdown::until_nobody_listens;
use crate::harness::until;

#[tokio::test]
async fn requests_in_flight_are_answered_before_the_end() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let key = app.key.clone().unwrap();
    let address = app.base.strip_prefix("http://").unwrap().to_owned();
    let mut first = http1(&app.base, &pair).await;
    first
        .send(format!(
            "POST /api/v1/validate HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: 16\r\nexpect: 100-continue\r\n\r\n"
        ))
        .await;
    assert_eq!(first.answer().await.status, 100);
    let second = Http2::connect(&app.base, &pair).await;
    let mut in_flight = second.begin(&key).await;
    // Requests begin in their order.
    assert_eq!(second.get("/healthz").await.status, 200);
    let idle = Http2::connect(&app.base, &pair).await;
    assert_eq!(idle.get("/healthz").await.status, 200);

    let begun = Instant::now();
    let stopping = tokio::spawn(app.stop());
    until_nobody_listens(&address).await;
    assert!(idle.end().await, "it is told to end");
    let takes_none = async || second.try_ask(get("/healthz"), false).await.is_none();
    until("no request is taken", takes_none).await;
    first.send(body_of_validation("ada")).await;
    in_flight.send(body_of_validation("ada"));
    let answer = first.answer().await;
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("connection: close\r\n"), "{}", answer.head);
    assert_eq!(in_flight.answer().await.unwrap().status, 200);
    assert!(second.end().await, "it ends when all is answered");
    drop(first);
    stopping.await.unwrap();
    // Requests in flight would have 20 seconds.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// Handshakes, clients that keep silent, and one that never answers hold up nothing.
#[tokio::test]
async fn those_that_wait_do_not_hold_up_the_stop() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let shaking = crate::connections::wire::Wire::connect(&app.base).await;
    let silent = http1(&app.base, &pair).await;
    let mut idle = http1(&app.base, &pair).await;
    idle.get("/healthz").await;
    assert_eq!(idle.answer().await.status, 200);
    let begun = Instant::now();
    app.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    drop((shaking, silent, idle));
}

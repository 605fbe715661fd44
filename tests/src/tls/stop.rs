//! The stop: requests in flight are completed, and nothing else delays it.

use std::time::{Duration, Instant};

use super::client::{body_of_validation, connect};
use super::pair::Pair;
use super::start;
use crate::crashes::shutdown::until_nobody_listens;

#[tokio::test]
async fn requests_in_flight_are_answered_before_the_end() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let key = app.key.clone().unwrap();
    let address = app.base.strip_prefix("http://").unwrap().to_owned();
    let mut first = connect(&app.base, &pair).await;
    first
        .send(format!(
            "POST /api/v1/validate HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: 16\r\nexpect: 100-continue\r\n\r\n"
        ))
        .await;
    assert_eq!(first.answer().await.status, 100);
    let mut idle = connect(&app.base, &pair).await;
    idle.get("/healthz").await;
    assert_eq!(idle.answer().await.status, 200);

    let begun = Instant::now();
    let stopping = tokio::spawn(app.stop());
    until_nobody_listens(&address).await;
    assert_eq!(idle.read_to_end().await, "", "it is ended");
    first.send(body_of_validation("ada")).await;
    let answer = first.answer().await;
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("connection: close\r\n"), "{}", answer.head);
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
    let silent = connect(&app.base, &pair).await;
    let mut idle = connect(&app.base, &pair).await;
    idle.get("/healthz").await;
    assert_eq!(idle.answer().await.status, 200);
    let begun = Instant::now();
    app.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    drop((shaking, silent, idle));
}

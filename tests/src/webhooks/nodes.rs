//! Webhooks over two nodes: one of them sends at a time, and a crash costs no event.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::json;

use super::WEBHOOKS;
use super::receiver::Receiver;
use crate::harness::until;
use crate::nodes::Pair;

const PRODUCTS: usize = 10;
const ROUNDS: usize = 6;

/// A node is killed again and again while events are sent: none is lost, and what comes twice is at
/// most what was under way.
#[tokio::test(flavor = "multi_thread")]
async fn killed_nodes_lose_no_event() {
    let (mut pair, receiver) = (Pair::start().await, Receiver::start().await);
    let db = pair.database.open().await;
    let body = json!({ "url": receiver.url, "types": ["product.*"] });
    let id = pair.callers[1].post(WEBHOOKS, body).await.id();
    for round in 0..ROUNDS {
        let names = (0..PRODUCTS).map(|n| format!("product {round} {n}"));
        let caller = pair.callers[1].clone();
        join_all(names.map(|name| {
            let caller = caller.clone();
            async move { caller.product(&name).await }
        }))
        .await;
        pair.kill_first();
        // As if its half minute were over.
        let end = "update webhooks set claimed_until = null";
        db.write().await.unwrap().query(end).execute().await.unwrap();
        pair.start_first();
    }
    let all = ROUNDS * PRODUCTS;
    until("all came", async || distinct(&receiver).len() == all).await;
    until("that is settled", async || {
        let record = pair.callers[1].get(&format!("{WEBHOOKS}/{id}")).await;
        record["pending"] == 0 && record["held"] == 0 && record["givenUp"] == 0
    })
    .await;
    let repeated = receiver.taken().len() - all;
    // Each time at most all that there was.
    let most = (1..=ROUNDS).map(|round| round * PRODUCTS).sum();
    assert!(repeated <= most, "{repeated} came twice");
    pair.end().await;
}

/// Two nodes that work send each event once.
#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_send_each_event_once() {
    let (pair, receiver) = (Pair::start().await, Receiver::start().await);
    let body = json!({ "url": receiver.url, "types": ["product.*"] });
    pair.callers[0].post(WEBHOOKS, body).await.data();
    let writers = (0..100).map(|n| {
        let caller = pair.callers[n % 2].clone();
        async move { caller.product(&format!("product {n}")).await }
    });
    join_all(writers).await;
    until("all came", async || distinct(&receiver).len() == 100).await;
    assert_eq!(receiver.taken().len(), 100);
    pair.end().await;
}

fn distinct(receiver: &Receiver) -> BTreeSet<i64> {
    receiver.taken().into_iter().collect()
}

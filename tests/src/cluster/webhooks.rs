//! Webhooks over a node that freezes, and over a fail-over that loses what was committed last.

use std::collections::BTreeSet;

use serde_json::json;

use super::Cluster;
use super::failover::url;
use crate::harness::{Caller, until};
use crate::nodes::process::{Process, first_key};
use crate::webhooks::receiver::Receiver;

const WEBHOOKS: &str = "/api/v1/admin/webhooks";
const PRODUCTS: usize = 40;

async fn webhook(caller: &Caller, receiver: &Receiver) -> String {
    let body = json!({ "url": receiver.url, "types": ["product.*"] });
    caller.post(WEBHOOKS, body).await.id()
}

async fn products(caller: &Caller, name: &str) {
    for number in 0..PRODUCTS {
        caller.product(&format!("{name} {number}")).await;
    }
}

/// Returns the products of which the receiver got an event.
fn told(receiver: &Receiver) -> BTreeSet<String> {
    let name = |event: &serde_json::Value| event["data"]["object"]["name"].to_string();
    receiver.received().iter().map(|it| name(&it.event)).collect()
}

async fn settled(caller: &Caller, id: &str) {
    until("all is settled", async || {
        let record = caller.get(&format!("{WEBHOOKS}/{id}")).await;
        record["pending"] == 0 && record["held"] == 0 && record["state"] == "healthy"
    })
    .await;
}

/// A node that freezes while it sends loses its claim; when it goes on, it changes nothing, and what
/// it had read comes twice at most.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_frozen_node_loses_and_disturbs_nothing() {
    let (cluster, key, receiver) = (Cluster::start().await, first_key(), Receiver::start().await);
    let frozen = Process::start(&cluster.url("licd"), &key);
    let id = webhook(&frozen.caller(&key), &receiver).await;
    products(&frozen.caller(&key), "before").await;
    until("it sends", async || !receiver.received().is_empty()).await;
    frozen.send("STOP");
    let node = Process::start(&cluster.url("licd"), &key);
    let caller = node.caller(&key);
    // As if its half minute were over.
    cluster.execute("update webhooks set claimed_until = now()").await;
    products(&caller, "meanwhile").await;
    until("all came", async || told(&receiver).len() == 2 * PRODUCTS).await;
    frozen.send("CONT");
    products(&frozen.caller(&key), "after").await;
    until("all came", async || told(&receiver).len() == 3 * PRODUCTS).await;
    settled(&caller, &id).await;
    assert!(receiver.taken().len() <= 4 * PRODUCTS, "{}", receiver.taken().len());
    for node in [frozen, node] {
        assert!(node.stop().success());
    }
}

/// A standby that did not have the last commits takes over: what is there afterwards is sent, also
/// under sequences that were used before.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL's programs; tests/run runs it"]
async fn a_fail_over_that_loses_commits_sends_what_it_has() {
    let (primary, key, receiver) = (Cluster::start().await, first_key(), Receiver::start().await);
    let standby = primary.standby().await;
    let node = Process::start(&url(&primary, &standby), &key);
    let caller = node.caller(&key);
    let id = webhook(&caller, &receiver).await;
    products(&caller, "kept").await;
    settled(&caller, &id).await;
    primary.execute("alter system reset synchronous_standby_names").await;
    primary.execute("select pg_reload_conf()").await;
    standby.shut_down();
    products(&caller, "lost").await;
    until("they came", async || told(&receiver).len() == 2 * PRODUCTS).await;
    primary.freeze();
    standby.begin();
    until("the loss is noticed", async || caller.get("/readyz").await.status == 503).await;
    standby.promote();
    until("the new primary is found", async || caller.get("/readyz").await.status == 200).await;
    products(&caller, "new").await;
    until("they came", async || told(&receiver).len() == 3 * PRODUCTS).await;
    settled(&caller, &id).await;
    let sequences = receiver.taken();
    let distinct: BTreeSet<_> = sequences.iter().collect();
    assert!(distinct.len() < sequences.len(), "sequences were used twice");
    assert!(node.stop().success());
}

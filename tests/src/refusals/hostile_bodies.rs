//! Hostile bodies: many at the same time, and never finished.

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use serde_json::json;

use super::raw::{Raw, head, json_headers};
use crate::harness::{Caller, TestDatabase};
use crate::nodes::process::{Process, first_key, licd};

/// The peak memory that licd stays below.
const MAX_MEMORY_KIB: u64 = 200_000;

/// Begins this many requests whose bodies have this length, and holds back the last byte of each.
async fn half_send(caller: &Caller, path: &str, count: usize, length: usize) -> Vec<Raw> {
    let head = head("POST", path, &json_headers(caller.key.as_deref(), length));
    let request = [head.as_bytes(), &vec![b' '; length - 1]].concat();
    let half_sent = (0..count).map(async |_| {
        let mut connection = Raw::connect(&caller.base).await;
        connection.send(&request).await;
        connection
    });
    join_all(half_sent).await
}

/// Waits until this many of the requests were refused. An unfinished request can get no other
/// response.
async fn wait_for_refusals(half_sent: &mut [Raw], count: usize) {
    let mut answers: FuturesUnordered<_> = half_sent.iter_mut().map(Raw::answer).collect();
    for _ in 0..count {
        let answer = answers.next().await.unwrap();
        assert_eq!((answer.status, &answer.body["code"]), (503, &json!("overloaded")));
        let wait = answer.body["retryAfter"].as_u64().unwrap();
        assert!((1..=4).contains(&wait), "{wait}");
        assert_eq!(answer.header("retry-after"), Some(&*wait.to_string()));
    }
}

/// 120 MiB of bodies that are nearly whole: licd keeps as many as fit into its budget, refuses the
/// others with a time to retry, and serves honest callers.
#[tokio::test(flavor = "multi_thread")]
async fn unfinished_bodies_share_a_budget() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let node = Process::start(&database.url, &key);
    let admin = node.caller(&key);
    let mut half_sent = half_send(&admin, "/api/v1/admin/users", 120, 1 << 20).await;
    wait_for_refusals(&mut half_sent, 80).await;
    admin.validate("ada").await.data();
    admin.product("Studio").await;
    drop(half_sent);
    let peak = node.peak_memory();
    assert!(peak < MAX_MEMORY_KIB, "{peak} KiB");
}

/// A key that ships inside an application cannot keep out those who administer, nor honest
/// validations.
#[tokio::test(flavor = "multi_thread")]
async fn unfinished_validations_block_no_caller() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let node = Process::start(&database.url, &key);
    let admin = node.caller(&key);
    let made = admin.post("/api/v1/admin/keys", json!({ "name": "app", "role": "validate" })).await;
    let asker = node.caller(made["key"].as_str().unwrap());
    let mut half_sent = half_send(&asker, "/api/v1/validate", 500, 1 << 14).await;
    wait_for_refusals(&mut half_sent, 100).await;
    asker.validate("ada").await.data();
    let user = json!({ "externalId": "ada", "metadata": { "notes": "x".repeat(10_000) } });
    admin.post("/api/v1/admin/users", user).await.data();
    drop(half_sent);
    let peak = node.peak_memory();
    assert!(peak < MAX_MEMORY_KIB, "{peak} KiB");
}

/// Bodies of all sizes fill what one tenant may have of both budgets.
#[tokio::test(flavor = "multi_thread")]
async fn unfinished_bodies_leave_room_for_other_tenants() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let node = Process::start(&database.url, &key);
    let greedy = node.caller(&key);
    let made = licd(&["tenants", "create", "Neighbour", "--database-url", &database.url]);
    let neighbour = node.caller(String::from_utf8(made.stdout).unwrap().trim());
    let mut half_sent = Vec::new();
    for (path, count, length, refused) in [
        ("/api/v1/admin/users", 40, 1 << 20, 8),
        ("/api/v1/admin/users", 40, 1 << 14, 20),
        ("/api/v1/validate", 400, 1 << 14, 50),
        ("/api/v1/validate", 10, 1 << 13, 5),
    ] {
        let mut bodies = half_send(&greedy, path, count, length).await;
        wait_for_refusals(&mut bodies, refused).await;
        half_sent.push(bodies);
    }
    let notes = "x".repeat(10_000);
    let user = json!({ "externalId": "ada", "metadata": { "notes": notes } });
    neighbour.post("/api/v1/admin/users", user).await.data();
    neighbour.post("/api/v1/validate", json!({ "userId": "ada", "notes": notes })).await.data();
}

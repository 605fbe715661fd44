//! Tenants next to a greedy one, which cannot take their responses or licd's memory.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use tokio::sync::Notify;

use crate::harness::{Caller, TestDatabase, until};
use crate::nodes::process::{Process, first_key, licd};
use crate::refusals::raw::{Raw, head, json_headers};

/// The peak memory that licd may reach.
const MAX_MEMORY_KIB: u64 = 200 * 1024;

/// Requests a hundred licenses of a hundred long features for each of ten users, all at the same
/// time, again and again.
async fn greed(caller: &Caller) -> Vec<String> {
    let features: Vec<String> = (0..100).map(|n| format!("{n}{}", "🦀".repeat(96))).collect();
    let plan = caller.plan(json!({ "features": features })).await;
    let users: Vec<String> = (0..10).map(|n| format!("greedy-{n}")).collect();
    for _ in 0..100 {
        let license = &caller.license_of(&plan).await;
        join_all(users.iter().map(|user| caller.assign(license, user))).await;
    }
    users
}

/// Answers of 80 KB each are not looked into: that would take the test longer than licd.
async fn validate_unchecked(caller: &Caller, user: &str) -> u16 {
    let request = caller.request(Method::POST, "/api/v1/validate");
    let response = request.json(&json!({ "userId": user })).send().await.unwrap();
    let status = response.status().as_u16();
    response.bytes().await.unwrap();
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greedy_tenant_leaves_its_neighbour_answers_and_licd_memory() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let node = Process::start(&database.url, &key);
    let greedy = node.caller(&key);
    let made = licd(&["tenants", "create", "Neighbour", "--database-url", &database.url]);
    let neighbour = String::from_utf8(made.stdout).unwrap();
    let neighbour = node.caller(neighbour.trim());
    let license = neighbour.license(json!({ "maxSeats": 1 })).await;
    neighbour.assign(&license, "ada").await.data();
    let users = &greed(&greedy).await;

    let enough = &Notify::new();
    let flood = join_all((0..64).map(|n| {
        let (greedy, user) = (&greedy, &users[n % users.len()]);
        async move {
            let mut enough = std::pin::pin!(enough.notified());
            enough.as_mut().enable();
            loop {
                tokio::select! {
                    biased;
                    () = &mut enough => return,
                    status = validate_unchecked(greedy, user) => {
                        assert!(matches!(status, 200 | 503), "{status}");
                    }
                }
            }
        }
    }));
    let calm = async {
        for _ in 0..20 {
            assert_eq!(neighbour.validate("ada").await.verdict(), "valid");
            assert_eq!(neighbour.set_status(&license, "active").await.status, 200);
        }
        enough.notify_waiters();
    };
    tokio::join!(flood, calm);
    let peak = node.peak_memory();
    assert!(peak < MAX_MEMORY_KIB, "licd had {peak} KiB in use");
    assert!(node.stop().success());
}

/// 60 explanations of 4 MB each, of which only the first line is read: licd keeps as many as fit
/// into its budget, and refuses the others.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_reads_have_a_budget() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let node = Process::start(&database.url, &key);
    let greedy = node.caller(&key);
    let features: Vec<String> = (0..100).map(|n| format!("{n}{}", "🦀".repeat(96))).collect();
    let plan = greedy.plan(json!({ "features": features })).await;
    for _ in 0..100 {
        let license = greedy.license_of(&plan).await;
        greedy.assign(&license, "fat").await.data();
    }
    let body = r#"{"userId":"fat"}"#;
    let head = head("POST", "/api/v1/admin/explain", &json_headers(Some(&key), body.len()));
    let (mut unread, mut answered) = (Vec::new(), 0);
    for _ in 0..60 {
        let mut connection = Raw::connect_narrow(&node.base).await;
        connection.send(format!("{head}{body}")).await;
        match connection.status().await {
            200 => answered += 1,
            status => assert_eq!(status, 503),
        }
        unread.push(connection);
    }
    assert!((4..=30).contains(&answered), "{answered} were answered");
    assert_eq!(greedy.validate("ada").await.status, 200, "small answers are not refused");
    let peak = node.peak_memory();
    assert!(peak < MAX_MEMORY_KIB, "licd had {peak} KiB in use");
    drop(unread);
    until("a large answer has room again", async || {
        let mut connection = Raw::connect(&node.base).await;
        connection.send(format!("{head}{body}")).await;
        connection.answer().await.status == 200
    })
    .await;
}

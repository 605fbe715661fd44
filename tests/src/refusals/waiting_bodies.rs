//! Requests that wait for their bodies: their cost, and its duration.

use std::time::Duration;

use super::raw::{Raw, head};
use super::{OPERATIONS, with_unknown_ids};
use crate::harness::{TestDatabase, Visitor};
use crate::nodes::process::{Process, first_key};

/// Number of requests that wait for each operation: enough to make the pages negligible that SQLite
/// keeps in memory.
const REQUESTS: u64 = 400;
/// Maximum memory of one request with its connection, in KiB. The future of a handler that holds
/// its operation while it waits takes more than this.
const MAX_KIB: u64 = 44;

const FORM: &str = "content-type: application/x-www-form-urlencoded";

/// The addresses of the dashboard to which forms are sent.
fn forms() -> Vec<String> {
    let routes = include_str!("../../../server/src/routes/dashboard.rs");
    let lines = routes.lines().filter(|line| line.contains("post("));
    let paths = lines.filter_map(|line| line.split('"').nth(1));
    let paths = paths.map(|path| path.replace("{mode}", "live").replace("{id}", "none"));
    // It would end the session.
    paths.filter(|path| path != "/dashboard/sign-out").collect()
}

/// Each operation that reads a body, as the lines of a head: strangers' and callers'.
async fn operations(node: &Process, key: &str) -> Vec<(&'static str, String, Vec<String>)> {
    let json =
        vec![format!("authorization: Bearer {key}"), "content-type: application/json".to_owned()];
    let visitor = Visitor::at(&node.base, key).await;
    let form = vec![format!("cookie: {}", visitor.cookie.unwrap()), FORM.to_owned()];
    let with_body = OPERATIONS.iter().filter(|(_, _, body)| !body.is_empty());
    let api = with_body.map(|(method, path, _)| (*method, with_unknown_ids(path), json.clone()));
    let pages = forms().into_iter().map(|path| ("POST", path, form.clone()));
    api.chain(pages).collect()
}

/// For all callers and operations, above all for a stranger's sign-in.
#[tokio::test(flavor = "multi_thread")]
async fn no_operation_costs_much_while_its_body_is_awaited() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let node = Process::start(&database.url, &key);
    let operations = operations(&node, &key).await;
    let mut looked_at = 0;
    for (method, path, mut lines) in operations {
        // Memory that an earlier operation has freed is used again, so only the excess is seen
        // here.
        let before = node.peak_memory();
        // licd says so once the operation asks for its body.
        lines.extend(["expect: 100-continue".to_owned(), "content-length: 2".to_owned()]);
        let head = head(method, &path, &lines);
        let mut waiting = Vec::new();
        for _ in 0..REQUESTS {
            let mut connection = Raw::connect(&node.base).await;
            connection.send(&head).await;
            if connection.answer().await.status != 100 {
                break;
            }
            waiting.push(connection);
        }
        if waiting.is_empty() {
            assert!(path.starts_with("/dashboard"), "{path} reads no body");
            continue;
        }
        assert_eq!(waiting.len(), REQUESTS as usize, "{method} {path}");
        looked_at += 1;
        let grown = node.peak_memory().saturating_sub(before);
        assert!(grown < REQUESTS * MAX_KIB, "{method} {path}: {grown} KiB");
        for connection in &mut waiting {
            connection.send("{}").await;
            connection.answer().await;
        }
    }
    assert!(looked_at > 25, "{looked_at}");
}

/// The body of a sign-in is a key: it is short, and arrives soon.
#[tokio::test(flavor = "multi_thread")]
async fn the_body_of_a_sign_in_has_narrower_bounds() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let node = Process::start(&database.url, &key);
    let sign_in = |length: usize| {
        let lines = [FORM.to_owned(), format!("content-length: {length}")];
        head("POST", "/dashboard/sign-in", &lines)
    };
    let mut large = Raw::connect(&node.base).await;
    large.send(format!("{}{}", sign_in(4097), "x".repeat(4097))).await;
    assert_eq!(large.answer().await.status, 413);

    // Other bodies have 20 seconds.
    let mut other = Raw::connect(&node.base).await;
    let lines = ["content-type: application/json".to_owned(), "content-length: 9".to_owned()];
    let lines = [vec![format!("authorization: Bearer {key}")], lines.to_vec()].concat();
    other.send(head("POST", "/api/v1/admin/products", &lines)).await;
    let mut silent = Raw::connect(&node.base).await;
    silent.send(sign_in(9)).await;
    assert_eq!(silent.answer().await.status, 408);
    let early = tokio::time::timeout(Duration::from_millis(1), other.answer()).await;
    assert!(early.is_err(), "the other waits still");
}

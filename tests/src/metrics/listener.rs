//! The listener for metrics: off unless asked for, open before the database, bounded, and gone with
//! the service.

use std::net::TcpListener;

use serde_json::Value;

use super::{Shown, address_of_metrics};
use crate::connections::wire::Wire;
use crate::harness::{TestDatabase, until};
use crate::nodes::process::{Process, first_key, licd_with};

/// Without the setting there are no metrics, on no address.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_off_by_default() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let licd = Process::start(&database.url, &key);
    assert_eq!(address_of_metrics(&licd), None);
    assert_eq!(licd.caller(&key).get("/metrics").await.refusal(), "404 not_found");
}

/// The listener shows only metrics, and the other listener shows none.
#[tokio::test(flavor = "multi_thread")]
async fn the_listener_shows_metrics_alone() {
    let database = TestDatabase::ready().await;
    let shown = Shown::start(&database.url);
    shown.scrape().await;
    for path in ["/", "/healthz", "/readyz", "/metrics/", "/api/v1/key", "/dashboard"] {
        let answer = reqwest::get(format!("{}{path}", shown.base)).await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
    }
    assert_eq!(shown.admin.get("/metrics").await.refusal(), "404 not_found");
}

/// An address that is taken stops the start before a database is made.
#[tokio::test(flavor = "multi_thread")]
async fn the_address_is_taken_before_the_database_is_opened() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("licd.db");
    let url = format!("sqlite://{}", file.display());
    let settings = [
        ("LICD_DATABASE_URL", &*url),
        ("LICD_LISTEN", "127.0.0.1:0"),
        ("LICD_METRICS_LISTEN", &address),
    ];
    let output = tokio::task::block_in_place(|| licd_with(&settings, &["serve"]));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    assert!(!file.exists());
}

/// Clients that hold connections to it delay neither scrapes nor the stop, and take few files.
#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_hold_up_no_scrape_and_no_stop() {
    let database = TestDatabase::ready().await;
    let shown = Shown::start(&database.url);
    let before = shown.scrape().await.value("process_open_fds", &[]).unwrap();
    let mut silent = Vec::new();
    for _ in 0..60 {
        silent.push(Wire::connect(&shown.base).await);
    }
    let scrape = shown.scrape().await;
    let more = scrape.value("process_open_fds", &[]).unwrap() - before;
    assert!(more <= 20.0, "{more} more files");
    assert_eq!(scrape.value("licd_http_connections", &[]), Some(0.0), "they are no clients");
    let base = shown.base.clone();
    assert!(tokio::task::spawn_blocking(|| shown.licd.stop()).await.unwrap().success());
    assert!(reqwest::get(format!("{base}/metrics")).await.is_err());
}

/// A scrape says so when the node cannot serve, and which tasks fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_serve_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("licd.db");
    let shown = Shown::start(&format!("sqlite://{}", file.display()));
    assert_eq!(shown.scrape().await.value("licd_ready", &[]), Some(1.0));
    std::fs::remove_file(file).unwrap();
    until("the node is not ready", async || {
        shown.scrape().await.value("licd_ready", &[]) == Some(0.0)
    })
    .await;
    until("tasks fail", async || {
        let scrape = shown.scrape().await;
        scrape.by_label("licd_task_failures_total", "task").values().any(|count| *count > 0.0)
    })
    .await;
    let log: Vec<Value> =
        shown.licd.log().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(log.iter().any(|line| line["message"] == "this node cannot write"));
}

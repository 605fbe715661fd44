//! The log of requests: a short line each, with the client's address, and a bounded number of lines
//! for requests without a valid key.

use std::time::Instant;

use serde_json::{Value, json};

use super::raw::Raw;
use crate::harness::{TestDatabase, find};
use crate::nodes::process::{Process, first_key};

/// A licd that logs its requests, and its first key.
async fn start(database: &TestDatabase) -> (Process, String) {
    let key = first_key();
    let settings = [("LICD_BOOTSTRAP_KEY", &*key), ("LICD_LOG", "info")];
    (Process::launch_with(&database.url, &settings).wait(), key)
}

/// Waits until the log has a line that is `wanted`, and returns the whole log.
pub async fn log_with(licd: &Process, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    find("the log has the line", async || {
        let log = licd.log();
        let lines: Vec<Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.iter().any(&wanted).then_some(lines)
    })
    .await
}

/// The method, the path and the request's id are the caller's own words, of any length.
#[tokio::test]
async fn every_log_line_is_short() {
    let database = TestDatabase::empty().await;
    let (licd, key) = start(&database).await;
    let mut connection = Raw::connect(&licd.base).await;
    let long = "A".repeat(15_000);
    connection.send(format!("{long} /healthz HTTP/1.1\r\nhost: licd\r\n\r\n")).await;
    assert_eq!(connection.answer().await.status, 405);
    let path = format!("GET /{} HTTP/1.1\r\nhost: licd\r\n", &long[..7_000]);
    let id = format!("x-request-id: {}\r\n\r\n", &long[..7_000]);
    connection.send(path + &id).await;
    assert_eq!(connection.answer().await.status, 404);
    licd.caller(&key).get("/api/v1/key").await.data();

    let log = log_with(&licd, |line| line["route"] == "/api/v1/key").await;
    let line = |status| log.iter().find(|line| line["status"] == status).unwrap();
    assert_eq!((&line(405)["method"], &line(405)["route"]), (&"-".into(), &"/healthz".into()));
    assert_eq!((&line(404)["method"], &line(404)["route"]), (&"GET".into(), &"-".into()));
    assert_eq!(line(200)["client"], "127.0.0.1");
    assert!(log.iter().all(|line| line.to_string().len() < 1000), "{log:#?}");
}

/// licd counts validations that it answers in time; `debug` writes a line for each.
#[tokio::test]
async fn validations_are_counted_instead_of_logged() {
    for (level, lines) in [("info", 0), ("debug", 2)] {
        let (database, key) = (TestDatabase::empty().await, first_key());
        let filter = format!("info,licd::http::context={level}");
        let settings = [("LICD_BOOTSTRAP_KEY", &*key), ("LICD_LOG", &*filter)];
        let licd = Process::launch_with(&database.url, &settings).wait();
        let admin = licd.caller(&key);
        admin.assign(&admin.license(json!({})).await, "ada").await.data();
        assert_eq!(admin.validate("ada").await.verdict(), "valid");
        assert_eq!(admin.validate("grace").await.verdict(), "no_license");
        let mistake = admin.post("/api/v1/validate", json!({ "userId": "" })).await;
        assert_eq!(mistake.status, 400);
        licd.send("TERM");
        let log = log_with(&licd, |line| line["requests"].is_u64()).await;
        let of = |status| {
            let validations = log.iter().filter(|line| line["route"] == "/api/v1/validate");
            validations.filter(|line| line["status"] == status).count()
        };
        assert_eq!((of(200), of(400)), (lines, 1), "{level}");
        let counted = log.iter().filter_map(|line| line["requests"].as_u64()).sum::<u64>();
        assert_eq!(counted, 2, "{level}");
    }
}

/// A flood of requests without a key leaves a hundred lines or so, and the number of the others;
/// requests with a key are all logged.
#[tokio::test]
async fn requests_without_a_valid_key_do_not_flood_the_log() {
    const FLOOD_REQUESTS: usize = 3000;
    let database = TestDatabase::empty().await;
    let (licd, key) = start(&database).await;
    let begun = Instant::now();
    let mut connection = Raw::connect(&licd.base).await;
    for _ in 0..FLOOD_REQUESTS / 100 {
        connection.send("GET /api/v1/key HTTP/1.1\r\nhost: licd\r\n\r\n".repeat(100)).await;
        for _ in 0..100 {
            assert_eq!(connection.answer().await.status, 401);
        }
    }
    for _ in 0..200 {
        licd.caller(&key).get("/api/v1/key").await.data();
    }
    let left_out = |line: &Value| line["lines"].as_u64().unwrap_or(0) as usize;
    log_with(&licd, |line| left_out(line) > 0).await;
    // Once this one is there, all before it are.
    licd.caller(&key).get("/api/v1/admin/products").await.data();
    let log = log_with(&licd, |line| line["route"] == "/api/v1/admin/products").await;
    let strangers = log.iter().filter(|line| line["status"] == 401).count();
    let most = 110 + 10 * begun.elapsed().as_secs() as usize;
    assert!((100..=most).contains(&strangers), "{strangers} lines");
    let omitted: usize = log.iter().map(left_out).sum();
    assert!(omitted > 0 && strangers + omitted <= FLOOD_REQUESTS, "{strangers} and {omitted}");
    let known = |line: &&Value| line["status"] == 200 && line["route"] == "/api/v1/key";
    assert_eq!(log.iter().filter(known).count(), 200);
}

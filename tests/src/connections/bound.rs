//! The connection limit: idle connections make room, and those with a request in flight stay.

use licd::http::ConnectionLimits;
use serde_json::Value;

use super::slow::{LIMITS, NO_TIMEOUT};
use super::start;
use super::wire::Wire;
use crate::harness::TestDatabase;
use crate::nodes::process::{Process, command_after, first_key};
use crate::refusals::log::log_with;

/// The head of a validation, whose body licd asks for: the request is then in flight for certain.
async fn begin(base: &str, key: &str) -> Wire {
    let mut wire = Wire::connect(base).await;
    wire.send(format!(
        "POST /api/v1/validate HTTP/1.1\r\nhost: licd\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: 16\r\nexpect: 100-continue\r\n\r\n"
    ))
    .await;
    assert_eq!(wire.answer().await.status, 100);
    wire
}

async fn finish(mut wire: Wire) {
    wire.send(r#"{"userId":"ada"}"#).await;
    assert_eq!(wire.answer().await.status, 200);
}

/// More silent sockets than the process may open files.
#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_no_outage() {
    let (database, key) = (TestDatabase::empty().await, first_key());
    let licd = {
        let serve = command_after("ulimit -n 256", &["serve"]);
        Process::launch_command(serve, &database.url, &[("LICD_BOOTSTRAP_KEY", &key)]).wait()
    };
    let admin = licd.caller(&key);
    let mut known = Wire::connect(&licd.base).await;
    known.get("/healthz").await;
    assert_eq!(known.answer().await.status, 200);
    let mut silent = Vec::new();
    for _ in 0..400 {
        silent.push(Wire::connect(&licd.base).await);
    }
    for _ in 0..3 {
        let mut stranger = Wire::connect(&licd.base).await;
        stranger.get("/healthz").await;
        assert_eq!(stranger.answer().await.status, 200);
    }
    assert_eq!(admin.validate("ada").await.status, 200);
    known.get("/readyz").await;
    assert_eq!(known.answer().await.status, 200, "who has asked before is ended last");
    let is_warning = |line: &Value| {
        let message = line["message"].as_str().unwrap_or_default();
        message.starts_with("all connections are in use")
    };
    let log = log_with(&licd, is_warning).await;
    assert_eq!(log.iter().filter(|line| is_warning(line)).count(), 1, "{log:#?}");
    assert!(tokio::task::spawn_blocking(|| licd.stop()).await.unwrap().success());
}

/// While licd accepts none, the kernel accepts some hundred connections. Each is served later.
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_newcomers_is_kept() {
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let burst = allowed.trim().parse().unwrap_or(600).min(600);
    let (database, key) = (TestDatabase::empty().await, first_key());
    let licd = Process::start(&database.url, &key);
    assert_eq!(licd.caller(&key).validate("ada").await.status, 200);
    licd.send("STOP");
    let mut newcomers = Vec::new();
    for _ in 0..burst {
        newcomers.push(Wire::connect(&licd.base).await);
    }
    licd.send("CONT");
    for newcomer in &mut newcomers {
        newcomer.get("/healthz").await;
        assert_eq!(newcomer.answer().await.status, 200);
    }
}

/// Connections with a request in flight are never closed for new ones.
#[tokio::test]
async fn a_request_in_flight_keeps_its_connection() {
    let app = start(ConnectionLimits { max_connections: Some(4), ..Default::default() }).await;
    let key = app.key.clone().unwrap();
    let in_flight = [begin(&app.base, &key).await, begin(&app.base, &key).await];
    let mut newcomers = Vec::new();
    for _ in 0..8 {
        let mut newcomer = Wire::connect(&app.base).await;
        newcomer.get("/healthz").await;
        assert_eq!(newcomer.answer().await.status, 200);
        newcomers.push(newcomer);
    }
    for wire in in_flight {
        finish(wire).await;
    }
}

/// Bodies that do not arrive hold half of the connections at most, the newest.
#[tokio::test]
async fn unfinished_bodies_leave_connections_to_others() {
    let app = start(ConnectionLimits { max_connections: Some(8), ..Default::default() }).await;
    let key = app.key.clone().unwrap();
    let mut unfinished = Vec::new();
    for _ in 0..8 {
        unfinished.push(begin(&app.base, &key).await);
    }
    let mut newcomer = Wire::connect(&app.base).await;
    newcomer.get("/healthz").await;
    assert_eq!(newcomer.answer().await.status, 200);
    let newest = unfinished.split_off(4);
    for mut oldest in unfinished {
        assert_eq!(oldest.answer().await.status, 503);
    }
    for wire in newest {
        finish(wire).await;
    }
}

/// Clients that ask and do not read hold no place that another needs.
#[tokio::test]
async fn answers_that_nobody_reads_make_room() {
    let limits = ConnectionLimits { max_connections: Some(8), write_timeout: NO_TIMEOUT, ..LIMITS };
    let app = start(limits).await;
    let mut deaf = Vec::new();
    for _ in 0..8 {
        let mut wire = Wire::connect(&app.base).await;
        wire.send("GET /api/v1/openapi.json HTTP/1.1\r\nhost: licd\r\n\r\n".repeat(100)).await;
        deaf.push(wire);
    }
    for _ in 0..3 {
        let mut newcomer = Wire::connect(&app.base).await;
        newcomer.get("/healthz").await;
        assert_eq!(newcomer.answer().await.status, 200);
        deaf.push(newcomer);
    }
}

/// 200 heads of which 400 KB arrive and the end never: each is refused, and the memory stays small.
#[tokio::test(flavor = "multi_thread")]
async fn endless_heads_cost_little_memory() {
    let (database, key) = (TestDatabase::empty().await, first_key());
    let licd = Process::start(&database.url, &key);
    let before = licd.peak_memory();
    let endless = format!("GET /healthz HTTP/1.1\r\nhost: licd\r\nx: {}", "y".repeat(400_000));
    let mut wires = Vec::new();
    for _ in 0..200 {
        let mut wire = Wire::connect(&licd.base).await;
        wire.send(&endless).await;
        let refusal = wire.answer().await.refusal();
        assert_eq!(refusal, "431 request_header_fields_too_large");
        wires.push(wire);
    }
    let grown = licd.peak_memory() - before;
    assert!(grown < 40 * 1024, "it took {grown} KiB");
}

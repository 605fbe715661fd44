//! SIGTERM, SIGHUP and Ctrl-C: licd accepts no new work, completes requests in flight, and exits
//! with 0. A second signal ends licd immediately.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{TestDatabase, until};
use crate::nodes::process::{Process, command_after, first_key};

const BODY: &str = r#"{"userId":"ada"}"#;

/// Sends the head of a validation and waits until licd asks for the body: the request is then in
/// flight for certain.
pub async fn begin(address: &str, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/v1/validate HTTP/1.1\r\nhost: licd\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        BODY.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut told = Vec::new();
    while !told.ends_with(b"\r\n\r\n") {
        told.push(stream.read_u8().await.unwrap());
    }
    assert!(told.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&told));
    stream
}

/// Waits until licd takes no more connections: it has noticed the signal.
pub async fn until_nobody_listens(address: &str) {
    until("nobody listens", async || TcpStream::connect(address).await.is_err()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_flight_are_answered_before_the_end() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    for signal in ["TERM", "HUP", "INT"] {
        requests_in_flight_survive(signal, &database, &key).await;
    }
}

async fn requests_in_flight_survive(signal: &str, database: &TestDatabase, key: &str) {
    let licd = Process::start(&database.url, key);
    let admin = licd.caller(key);
    let license = admin.license(json!({})).await;
    admin.assign(&license, "ada").await.data();
    let address = licd.base.strip_prefix("http://").unwrap().to_owned();
    let mut in_flight = Vec::new();
    for _ in 0..50 {
        in_flight.push(begin(&address, key).await);
    }
    // Idle connections must not keep it alive either.
    let idle = TcpStream::connect(&address).await.unwrap();
    licd.send(signal);
    let ending = tokio::task::spawn_blocking(|| licd.end());
    until_nobody_listens(&address).await;
    for stream in &mut in_flight {
        stream.write_all(BODY.as_bytes()).await.unwrap();
    }
    for mut stream in in_flight {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains(r#""valid":true"#), "{answer}");
    }
    assert!(ending.await.unwrap().success());
    drop(idle);
}

/// A second signal ends licd immediately and aborts requests in flight.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_at_once() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let licd = Process::start(&database.url, &key);
    let address = licd.base.strip_prefix("http://").unwrap().to_owned();
    let mut in_flight = begin(&address, &key).await;
    licd.send("TERM");
    until_nobody_listens(&address).await;
    licd.send("INT");
    let ended = tokio::task::spawn_blocking(|| licd.end()).await.unwrap();
    assert_eq!(ended.code(), Some(1));
    let mut answer = Vec::new();
    // An end or a reset of the connection, but no answer.
    drop(in_flight.read_to_end(&mut answer).await);
    assert!(answer.is_empty());
}

/// `nohup` has programs outlive the terminal they were started from.
#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_hangup_stays_ignored() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let serve = command_after("trap '' HUP", &["serve"]);
    let settings = [("LICD_BOOTSTRAP_KEY", &*key)];
    let licd = Process::launch_command(serve, &database.url, &settings).wait();
    licd.send("HUP");
    licd.caller(&key).get("/api/v1/key").await.data();
    assert!(!licd.log().contains("stopping"), "{}", licd.log());
    assert!(licd.stop().success());
}

/// SIGTERM without requests: licd ends immediately, and starts again on the same database.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_service_ends_and_starts_again() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    for round in 0..2 {
        let licd = Process::start(&database.url, &key);
        let admin = licd.caller(&key);
        assert_eq!(admin.get("/api/v1/admin/users").await.list().len(), round);
        admin.validate(&format!("user-{round}")).await;
        let ended = tokio::task::spawn_blocking(|| licd.stop()).await.unwrap();
        assert!(ended.success());
    }
}

//! SIGTERM: no new work is taken, what is in flight is answered, and the exit code is 0.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::TestDatabase;
use crate::nodes::process::{Process, first_key};

const BODY: &str = r#"{"userId":"ada"}"#;

/// Sends the head of a validation and waits until licd asks for the body: the request is then in
/// flight for certain.
async fn begin(address: &str, key: &str) -> TcpStream {
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

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_flight_are_answered_before_the_end() {
    let (database, key) = (TestDatabase::empty().await, first_key());
    let licd = Process::start(&database.url, &key);
    let admin = licd.caller(&key);
    let license = admin.license(json!({})).await;
    admin.assign(&license, "ada").await.data();
    let address = licd.base.strip_prefix("http://").unwrap().to_owned();
    let mut in_flight = Vec::new();
    for _ in 0..50 {
        in_flight.push(begin(&address, &key).await);
    }
    // Idle connections must not keep it alive either.
    let idle = TcpStream::connect(&address).await.unwrap();
    let ending = tokio::task::spawn_blocking(|| licd.stop());
    while TcpStream::connect(&address).await.is_ok() {
        tokio::task::yield_now().await;
    }
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

/// SIGTERM with nothing to do: it ends at once, and starts again on the same database.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_service_ends_and_starts_again() {
    let (database, key) = (TestDatabase::empty().await, first_key());
    for round in 0..2 {
        let licd = Process::start(&database.url, &key);
        let admin = licd.caller(&key);
        assert_eq!(admin.get("/api/v1/admin/users").await.list().len(), round);
        admin.validate(&format!("user-{round}")).await;
        let ended = tokio::task::spawn_blocking(|| licd.stop()).await.unwrap();
        assert!(ended.success());
    }
}

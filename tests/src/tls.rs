//! TLS of licd's own: its versions, certificates that change while licd runs, and the bounds on
//! connections, which hold as they do without it.

mod bounds;
pub mod client;
pub mod pair;
mod reload;
mod start;
mod stop;

use common::{Mode, Role};
use licd::config::Config;
use licd::http::{ConnectionLimits, Tls};
use rustls::ProtocolVersion;
use rustls::version::{TLS12, TLS13};

use crate::connections::wire::Wire;
use crate::harness::App;
use crate::journey::Shell;
use client::{HTTP1, connect, connect_with, validation};
use pair::Pair;

/// A licd with this certificate. Its own callers speak plain HTTP, and are of no use.
async fn serve(pair: &Pair, connections: ConnectionLimits) -> App {
    let tls = Some(Tls::open(pair.certificate_path(), pair.key_path()).unwrap());
    App::with(Config { connections, tls, ..Config::default() }).await
}

async fn start(pair: &Pair) -> App {
    serve(pair, ConnectionLimits::default()).await
}

/// A client that prefers HTTP/2 learns that only HTTP/1.1 is offered.
#[tokio::test]
async fn validates_over_all_versions_in_http1() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let key = app.key.clone().unwrap();
    for (version, expected) in
        [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)]
    {
        for (offered, chosen) in
            [(&[HTTP1][..], Some(HTTP1)), (&[b"h2", HTTP1], Some(HTTP1)), (&[], None)]
        {
            let stream = connect_with(&app.base, &pair, version, offered).await.unwrap();
            let (_, session) = stream.get_ref();
            assert_eq!(session.protocol_version(), Some(expected));
            assert_eq!(session.alpn_protocol(), chosen);
            let mut wire = Wire::over(stream);
            wire.send(validation(&key, "ada")).await;
            let answer = wire.answer().await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            assert!(answer.body.contains(r#""reason":"no_license""#), "{}", answer.body);
        }
        assert!(connect_with(&app.base, &pair, version, &[b"h2"]).await.is_err());
    }
}

/// Browsers then use TLS by themselves. Behind a proxy the proxy decides this, and in plain HTTP it
/// does not apply.
#[tokio::test]
async fn over_tls_of_its_own_licd_asks_for_tls_from_then_on() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let mut wire = connect(&app.base, &pair).await;
    for path in ["/dashboard/sign-in", "/api/v1/key"] {
        wire.get(path).await;
        let head = wire.answer().await.head;
        assert!(head.contains("\r\nstrict-transport-security: max-age="), "{head}");
    }
    let behind_a_proxy = App::start().await;
    let mut plain = Wire::connect(&behind_a_proxy.base).await;
    let proxied = "GET /healthz HTTP/1.1\r\nhost: licd\r\nx-forwarded-proto: https\r\n\r\n";
    plain.send(proxied).await;
    let head = plain.answer().await.head;
    assert!(!head.contains("strict-transport-security"), "{head}");
}

#[tokio::test]
async fn a_key_may_be_in_sec1() {
    let pair = Pair::new();
    pair.write_key_in_sec1();
    let app = start(&pair).await;
    let mut wire = connect(&app.base, &pair).await;
    wire.get("/healthz").await;
    assert_eq!(wire.answer().await.status, 200);
}

/// The cookie of the dashboard is bound to the host and never sent in the clear, whatever the client
/// says of the way it came.
#[tokio::test]
async fn the_session_s_cookie_is_for_tls_alone() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let key = app.new_key("default", Role::Read, Mode::Live).await;
    for line in ["", "x-forwarded-proto: http\r\n"] {
        let mut wire = connect(&app.base, &pair).await;
        let form = format!("key={key}");
        wire.send(format!(
            "POST /dashboard/sign-in HTTP/1.1\r\nhost: localhost\r\n{line}\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
            form.len()
        ))
        .await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        let cookie = answer.head.lines().find(|line| line.starts_with("set-cookie: ")).unwrap();
        assert!(cookie.starts_with("set-cookie: __host-licd-session="), "{cookie}");
        assert!(cookie.contains("; secure"), "{cookie}");
    }
}

/// A refusal of hyper itself has the same shape as without TLS.
#[tokio::test]
async fn heads_that_cannot_be_read_are_refused_like_all_others() {
    let pair = Pair::new();
    let app = start(&pair).await;
    for (head, refusal) in [
        ("GET /health z HTTP/1.1\r\n\r\n".to_owned(), "400 invalid_request"),
        (
            format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(20_000)),
            "431 request_header_fields_too_large",
        ),
    ] {
        let mut wire = connect(&app.base, &pair).await;
        wire.get("/healthz").await;
        assert_eq!(wire.answer().await.status, 200);
        wire.send(head).await;
        assert_eq!(wire.answer().await.refusal(), refusal);
        assert_eq!(wire.read_to_end().await, "", "the connection ends after it");
    }
}

#[tokio::test]
async fn plain_http_is_told_of_tls() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let mut wire = Wire::connect(&app.base).await;
    wire.get("/healthz").await;
    let answer = wire.answer().await;
    assert_eq!(answer.refusal(), "400 invalid_request");
    assert!(answer.body.contains("https://"), "{}", answer.body);
    assert_eq!(wire.read_to_end().await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn licctl_works_with_it() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let shell = Shell::at(&app);
    let server = app.base.replace("http://127.0.0.1", "https://localhost");
    let ca = pair.certificate_path();
    let line = format!("licctl validate ada --server {server} --ca-cert {}", ca.display());
    let ran = tokio::task::spawn_blocking(move || shell.run(&line)).await.unwrap();
    assert_eq!(ran.code, 10, "{}", ran.stderr);
    assert!(ran.stdout.contains("no_license"), "{}", ran.stdout);
}

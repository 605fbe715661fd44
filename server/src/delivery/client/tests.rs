//! Requests to receivers of every kind, each a few bytes over a socket.

use std::net::Ipv4Addr;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::ring::default_provider;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::super::addresses::AddressRules;
use super::*;

fn client(allowed: &str, roots: RootCertStore) -> Client {
    let rules = AddressRules { allowed: allowed.parse().unwrap(), ..AddressRules::default() };
    Client::new(Connector::new(rules, || roots))
}

fn message() -> Message {
    let tenant = TenantId::new(Timestamp::now());
    Message { tenant, id: "evt_1".into(), body: Bytes::from_static(b"{\"a\":1}") }
}

async fn send(
    client: &Client,
    kept: &mut Option<ReceiverConnection>,
    url: &str,
) -> DeliveryAttempt {
    let secret: WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
    client.send(kept, &url.parse().unwrap(), &[secret], &message()).await
}

/// A request with the body of [`message`], as text.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut text = Vec::new();
    while !text.ends_with(b"{\"a\":1}") {
        text.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(text).ok()
}

/// Starts a receiver that sends these responses to the requests of each connection and then closes
/// it. Returns its URL and the requests.
async fn receiver(
    answers: &'static [&'static str],
) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/hook?t=1", listener.local_addr().unwrap());
    let (tell, told) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            for answer in answers {
                let Some(request) = read_request(&mut stream).await else { break };
                tell.send(request).unwrap();
                drop(stream.write_all(answer.as_bytes()).await);
            }
        }
    });
    (url, told)
}

async fn attempt_on(response: &'static [&'static str]) -> DeliveryAttempt {
    let (url, _told) = receiver(response).await;
    send(&client("127.0.0.1", RootCertStore::empty()), &mut None, &url).await
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn a_request_is_signed_and_a_connection_used_again() {
    let (url, mut told) = receiver(&[OK, OK]).await;
    let client = client("127.0.0.1", RootCertStore::empty());
    let mut kept = None;
    for number in 1..=3 {
        let attempt = send(&client, &mut kept, &url).await;
        assert!(attempt.is_delivered() && attempt.status == Some(200), "{number}: {attempt:?}");
        let request = told.recv().await.unwrap();
        let line = |name: &str| {
            let line = request.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} is missing in {request}")).to_owned()
        };
        assert_eq!(line("POST "), "/hook?t=1 HTTP/1.1");
        assert_eq!(format!("http://{}/hook?t=1", line("host: ")), url);
        assert_eq!(line("content-type: "), "application/json");
        assert_eq!(line("webhook-id: "), "evt_1");
        let timestamp: u64 = line("webhook-timestamp: ").parse().unwrap();
        assert!(Timestamp::now().millis() / 1000 - timestamp < 60);
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        assert_eq!(
            line("webhook-signature: "),
            sign_webhook(&[secret], "evt_1", timestamp, &message().body)
        );
    }
    assert!(kept.is_some());
}

#[tokio::test]
async fn each_response_has_an_error_code() {
    for (answer, error, is_refusal) in [
        ("HTTP/1.1 204 No Content\r\n\r\n", None, false),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", None, false),
        ("HTTP/1.1 400 Bad\r\ncontent-length: 0\r\n\r\n", Some(WebhookError::Status), true),
        ("HTTP/1.1 500 Bad\r\ncontent-length: 9\r\n\r\n", Some(WebhookError::Status), true),
        ("HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n", Some(WebhookError::Status), false),
        ("HTTP/1.1 502 Bad\r\ncontent-length: 0\r\n\r\n", Some(WebhookError::Status), false),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n",
            Some(WebhookError::Redirect),
            true,
        ),
        ("SSH-2.0-OpenSSH_9.9\r\n", Some(WebhookError::Reset), false),
        ("", Some(WebhookError::Reset), false),
    ] {
        let attempt = attempt_on(vec![answer].leak()).await;
        assert_eq!((attempt.error, attempt.is_refusal()), (error, is_refusal), "{answer}");
    }
}

#[test]
fn a_redirect_names_its_target_without_what_may_be_a_token() {
    let url = "http://example.com/hooks/token".parse().unwrap();
    for (location, expected) in [
        ("https://example.com/hooks/token/", Some("redirects to https://example.com/…ken/")),
        ("/login", Some("redirects to http://example.com/…")),
        ("mailto:ada@example.com", None),
        ("https://me:secret@example.com/", None),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, location.parse().unwrap());
        assert_eq!(redirected_to(&url, &headers).as_deref(), expected, "{location}");
    }
}

#[tokio::test]
async fn a_pause_is_asked_for_in_seconds_or_with_a_date() {
    let head = |status: &str, after: &str| {
        let text =
            format!("HTTP/1.1 {status}\r\nretry-after: {after}\r\ncontent-length: 0\r\n\r\n");
        &*vec![&*text.leak()].leak()
    };
    let after = async |status, after| attempt_on(head(status, after)).await.retry_after;
    assert_eq!(after("429 Slow", "7").await, Some(Duration::from_secs(7)));
    assert_eq!(after("503 Down", "99999").await, Some(MAX_RETRY_AFTER));
    assert_eq!(after("429 Slow", "soon").await, None);
    assert_eq!(after("400 Bad", "7").await, None);
    let past = after("429 Slow", "Wed, 21 Oct 2015 07:28:00 GMT").await;
    assert_eq!(past, Some(Duration::ZERO));
    assert_eq!(after("429 Slow", "Wed, 21 Oct 2122 07:28:00 GMT").await, Some(MAX_RETRY_AFTER));
}

#[tokio::test]
async fn a_response_takes_bounded_time_and_memory() {
    let large = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "a".repeat(400 * 1024));
    let attempt = attempt_on(vec![&*large.leak()].leak()).await;
    assert_eq!(attempt.error, Some(WebhookError::Reset));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: 1\r\n".repeat(65));
    assert_eq!(attempt_on(vec![&*many.leak()].leak()).await.error, Some(WebhookError::Reset));
    // licd does not wait for the end of a body, and does not reuse the connection.
    let endless = "HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\na";
    let (url, _told) = receiver(vec![endless].leak()).await;
    let mut kept = None;
    let client = client("127.0.0.1", RootCertStore::empty());
    assert!(send(&client, &mut kept, &url).await.is_delivered());
    assert!(kept.is_none());
}

/// After a timeout the receiver may have refused this event only if it had the request.
#[tokio::test]
async fn silence_is_a_timeout() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let timeout_after = Duration::from_millis(200);
    let client = Client { timeout_after, ..client("127.0.0.1", RootCertStore::empty()) };
    let attempt = send(&client, &mut None, &format!("http://{address}/")).await;
    assert_eq!((attempt.error, attempt.is_refusal()), (Some(WebhookError::Timeout), true));
    let attempt = send(&client, &mut None, &format!("https://{address}/")).await;
    assert_eq!((attempt.error, attempt.is_refusal()), (Some(WebhookError::Timeout), false));
    drop(listener);
    let attempt = send(&client, &mut None, &format!("http://{address}/")).await;
    assert_eq!((attempt.error, attempt.is_refusal()), (Some(WebhookError::Connect), false));
}

#[tokio::test]
async fn only_allowed_addresses_are_reached() {
    let (url, told) = receiver(&[OK]).await;
    let port = url.rsplit(':').next().unwrap().split('/').next().unwrap();
    for (allowed, host, error) in [
        ("", "127.0.0.1", WebhookError::BlockedAddress),
        ("127.0.0.2", "127.0.0.1", WebhookError::BlockedAddress),
        ("", "0x7f.1", WebhookError::BlockedAddress),
        ("", "[::ffff:127.0.0.1]", WebhookError::BlockedAddress),
        ("", "[64:ff9b::127.0.0.1]", WebhookError::BlockedAddress),
        ("", "localhost", WebhookError::NoPublicAddress),
        ("127.0.0.2", "localhost", WebhookError::NoPublicAddress),
    ] {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{port}/");
            let attempt = send(&client(allowed, RootCertStore::empty()), &mut None, &url).await;
            assert_eq!(attempt.error, Some(error), "{url}");
        }
    }
    assert!(told.is_empty(), "no request arrived");
    let connector = client("10.0.0.0/8", RootCertStore::empty()).connector;
    for (url, allowed) in [
        ("http://10.0.0.1/", true),
        ("https://10.0.0.1/", true),
        ("https://192.168.0.1/", false),
        ("https://8.8.8.8/", true),
        ("http://8.8.8.8/", false),
        ("https://[::1]/", false),
        ("https://example.com/", true),
        // The lookup will check that the operator allows all addresses of the name.
        ("http://example.com/", true),
    ] {
        assert_eq!(connector.allows(&url.parse().unwrap()), allowed, "{url}");
    }
    let denying = client("", RootCertStore::empty()).connector;
    assert!(!denying.allows(&"http://example.com/".parse().unwrap()));
}

/// Starts a receiver with TLS and a certificate for `name`.
async fn secured(name: &str) -> (String, RootCertStore) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([name.to_owned()]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let key = signing_key.serialize_der().try_into().unwrap();
    let config = ServerConfig::builder_with_provider(std::sync::Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            drop(answer(&mut stream).await);
        }
    });
    (format!("https://localhost:{port}/"), roots)
}

async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> std::io::Result<()> {
    read_request(stream).await;
    stream.write_all(OK.as_bytes()).await?;
    stream.shutdown().await
}

#[tokio::test]
async fn a_certificate_must_be_trusted_and_have_the_name() {
    let (url, roots) = secured("localhost").await;
    let attempt = send(&client("127.0.0.1,::1", roots), &mut None, &url).await;
    assert!(attempt.is_delivered(), "{attempt:?}");
    let attempt = send(&client("127.0.0.1,::1", RootCertStore::empty()), &mut None, &url).await;
    assert_eq!(attempt.error, Some(WebhookError::Tls));
    let (url, roots) = secured("example.com").await;
    let attempt = send(&client("127.0.0.1,::1", roots), &mut None, &url).await;
    assert_eq!(attempt.error, Some(WebhookError::Tls));
}

#[test]
fn what_a_receiver_says_is_made_printable() {
    assert_eq!(printable(b" a\0b\x1b[31m\r\n\xff "), "a b [31m  \u{fffd}");
    assert_eq!(printable("gr\u{fc}n".as_bytes()), "gr\u{fc}n");
}

//! Clients that speak TLS, and in it HTTP/1.1 or HTTP/2, as close to the wire as tests need.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Request, Response};
use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Ping, PingPong, RecvStream, SendStream};
use rustls::pki_types::ServerName;
use rustls::{
    ALL_VERSIONS, ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion, version,
};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::pair::Pair;
use crate::connections::wire::{RawAnswer, Wire};
use crate::harness::until;

pub const HTTP1: &[u8] = b"http/1.1";
pub const HTTP2: &[u8] = b"h2";

/// Longer than anything here takes on the busiest machine.
pub const IO_TIMEOUT: Duration = Duration::from_secs(60);

pub type Secured = TlsStream<TcpStream>;

fn config(roots: RootCertStore, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Shakes hands with licd, which must show the certificate of `pair`. `base` is as a test's licd has
/// it, `http://127.0.0.1:8080`.
pub async fn connect_with(
    base: &str,
    pair: &Pair,
    version: &'static SupportedProtocolVersion,
    protocol: Option<&[u8]>,
) -> std::io::Result<Secured> {
    let mut roots = RootCertStore::empty();
    roots.add(pair.certificate.clone()).unwrap();
    let mut config = config(roots, &[version]);
    config.alpn_protocols = protocol.into_iter().map(<[u8]>::to_vec).collect();
    let tcp = TcpStream::connect(base.strip_prefix("http://").unwrap()).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let shaken = TlsConnector::from(Arc::new(config)).connect(name, tcp);
    timeout(IO_TIMEOUT, shaken).await.expect("licd does not shake hands")
}

/// What a client says first in a handshake.
pub fn hello() -> Vec<u8> {
    let config = config(RootCertStore::empty(), ALL_VERSIONS);
    let name = ServerName::try_from("localhost").unwrap();
    let (mut hello, mut client) =
        (Vec::new(), ClientConnection::new(Arc::new(config), name).unwrap());
    client.write_tls(&mut hello).unwrap();
    hello
}

pub async fn connect(base: &str, pair: &Pair, protocol: &[u8]) -> Secured {
    connect_with(base, pair, &version::TLS13, Some(protocol)).await.unwrap()
}

pub async fn http1(base: &str, pair: &Pair) -> Wire<Secured> {
    Wire::over(connect(base, pair, HTTP1).await)
}

/// Waits until licd answers a new client. When it is full, one that takes more than a moment for its
/// handshake may have to come again.
pub async fn until_answered(base: &str, pair: &Pair) {
    until("a new client is answered", async || {
        let Ok(stream) = connect_with(base, pair, &version::TLS13, Some(HTTP1)).await else {
            return false;
        };
        let mut wire = Wire::over(stream);
        let request = "GET /healthz HTTP/1.1\r\nhost: licd\r\nconnection: close\r\n\r\n";
        wire.try_send(request).await.is_ok() && wire.read_to_end().await.starts_with("HTTP/1.1 200")
    })
    .await;
}

pub fn body_of_validation(user: &str) -> String {
    format!(r#"{{"userId":"{user}"}}"#)
}

/// A validation over HTTP/1.1.
pub fn validation(key: &str, user: &str) -> String {
    let body = body_of_validation(user);
    format!(
        "POST /api/v1/validate HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A connection over HTTP/2.
pub struct Http2 {
    requests: SendRequest<Bytes>,
    pings: PingPong,
    /// How the connection ended.
    ended: JoinHandle<Result<(), h2::Error>>,
}

/// A request whose answer has not come yet.
pub struct Asked {
    answer: ResponseFuture,
    body: SendStream<Bytes>,
}

impl Http2 {
    pub async fn over(stream: Secured) -> Self {
        Self::with(&Builder::new(), stream).await
    }

    pub async fn connect(base: &str, pair: &Pair) -> Self {
        Self::over(connect(base, pair, HTTP2).await).await
    }

    pub async fn with(settings: &Builder, stream: Secured) -> Self {
        let (requests, mut connection) = settings.handshake(stream).await.unwrap();
        let pings = connection.ping_pong().unwrap();
        Self { requests, pings, ended: tokio::spawn(connection) }
    }

    /// Sends a request, of which a body may follow. None when licd takes no more of them.
    pub async fn try_ask(&self, request: Request<()>, has_body: bool) -> Option<Asked> {
        let ready = timeout(IO_TIMEOUT, self.requests.clone().ready()).await;
        let mut requests = ready.expect("licd takes no request").ok()?;
        let (answer, body) = requests.send_request(request, !has_body).ok()?;
        Some(Asked { answer, body })
    }

    pub async fn ask(&self, request: Request<()>, has_body: bool) -> Asked {
        self.try_ask(request, has_body).await.expect("licd has ended the connection")
    }

    pub async fn get(&self, path: &str) -> RawAnswer {
        self.ask(get(path), false).await.answer().await.unwrap()
    }

    /// The head of a validation.
    pub async fn begin(&self, key: &str) -> Asked {
        let request = Request::post("https://localhost/api/v1/validate")
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json");
        self.ask(request.body(()).unwrap(), true).await
    }

    pub async fn validate(&self, key: &str, user: &str) -> RawAnswer {
        let mut asked = self.begin(key).await;
        asked.send(body_of_validation(user));
        asked.answer().await.unwrap()
    }

    /// Sends a ping, and waits for its answer.
    pub async fn ping(&mut self) {
        let pong = timeout(IO_TIMEOUT, self.pings.ping(Ping::opaque())).await;
        pong.expect("licd does not answer").unwrap();
    }

    /// How many requests licd takes at once.
    pub fn most_requests(&self) -> usize {
        self.requests.current_max_send_streams()
    }

    /// Waits until licd has ended the connection, and answers whether it did so in good order.
    pub async fn end(self) -> bool {
        timeout(IO_TIMEOUT, self.ended).await.expect("it never ends").unwrap().is_ok()
    }
}

pub fn get(path: &str) -> Request<()> {
    Request::get(format!("https://localhost{path}")).body(()).unwrap()
}

impl Asked {
    /// Sends the body.
    pub fn send(&mut self, body: String) {
        self.body.send_data(Bytes::from(body), true).unwrap();
    }

    /// Waits for the head of the answer, and leaves its body unread.
    pub async fn head(self) -> Result<Response<RecvStream>, h2::Error> {
        timeout(IO_TIMEOUT, self.answer).await.expect("no answer")
    }

    pub async fn answer(self) -> Result<RawAnswer, h2::Error> {
        let (head, mut stream) = self.head().await?.into_parts();
        let mut body = Vec::new();
        while let Some(part) = timeout(IO_TIMEOUT, stream.data()).await.expect("half an answer") {
            let part = part?;
            stream.flow_control().release_capacity(part.len())?;
            body.extend_from_slice(&part);
        }
        let lines = head
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}\r\n", value.to_str().unwrap().to_lowercase()));
        let (status, head) = (head.status.as_u16(), lines.collect());
        Ok(RawAnswer { status, head, body: String::from_utf8(body).unwrap() })
    }
}

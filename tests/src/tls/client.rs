//! Clients that speak TLS, as close to the wire as tests need.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{
    ALL_VERSIONS, ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion, version,
};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::pair::Pair;
use crate::connections::wire::Wire;
use crate::harness::until;

pub const HTTP1: &[u8] = b"http/1.1";

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
    protocols: &[&[u8]],
) -> std::io::Result<Secured> {
    let mut roots = RootCertStore::empty();
    roots.add(pair.certificate.clone()).unwrap();
    let mut config = config(roots, &[version]);
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let tcp = TcpStream::connect(base.strip_prefix("http://").unwrap()).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let shaken = TlsConnector::from(Arc::new(config)).connect(name, tcp);
    timeout(IO_TIMEOUT, shaken).await.expect("licd does not shake hands")
}

/// Returns the first message of a client in a handshake.
pub fn hello() -> Vec<u8> {
    let config = config(RootCertStore::empty(), ALL_VERSIONS);
    let name = ServerName::try_from("localhost").unwrap();
    let (mut hello, mut client) =
        (Vec::new(), ClientConnection::new(Arc::new(config), name).unwrap());
    client.write_tls(&mut hello).unwrap();
    hello
}

pub async fn connect(base: &str, pair: &Pair) -> Wire<Secured> {
    Wire::over(connect_with(base, pair, &version::TLS13, &[HTTP1]).await.unwrap())
}

/// Waits until licd answers a new client. When it is full, one that takes more than a moment for its
/// handshake may have to come again.
pub async fn until_answered(base: &str, pair: &Pair) {
    until("a new client gets a response", async || {
        let Ok(stream) = connect_with(base, pair, &version::TLS13, &[HTTP1]).await else {
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

/// A validation.
pub fn validation(key: &str, user: &str) -> String {
    let body = body_of_validation(user);
    format!(
        "POST /api/v1/validate HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

//! Handshakes, counted by how often a certificate is chosen: just before the signature.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures_util::future::AbortHandle;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Counts, and has no certificate.
#[derive(Debug, Default)]
struct Counter(AtomicUsize);

impl ResolvesServerCert for Counter {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.fetch_add(1, Relaxed);
        None
    }
}

/// Returns the first message of a client.
fn hello() -> Vec<u8> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let mut hello = Vec::new();
    ClientConnection::new(Arc::new(config), name).unwrap().write_tls(&mut hello).unwrap();
    hello
}

/// Counts the handshakes that a client costs which sends a hello, and then stays or leaves.
async fn handshakes(stays: bool) -> usize {
    let counter = Arc::new(Counter::default());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(counter.clone());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    client.write_all(&hello()).await.unwrap();
    if !stays {
        client.shutdown().await.unwrap();
    }
    let (tcp, peer) = listener.accept().await.unwrap();
    let (task, _) = AbortHandle::new_pair();
    let connection = Arc::new(TrackedConnection::new(Arc::default(), peer, task));
    let (proxies, limits) = (TrustedProxies::default(), ConnectionLimits::default());
    let protocol = Protocol::new(Router::new(), proxies, None, limits, 1);
    assert!(protocol.start_tls(Arc::new(config), tcp, &connection).await.is_none());
    let mut told = Vec::new();
    drop(client.read_to_end(&mut told).await);
    counter.0.load(Relaxed)
}

#[tokio::test]
async fn a_client_that_is_gone_costs_no_handshake() {
    assert_eq!(handshakes(true).await, 1);
    assert_eq!(handshakes(false).await, 0);
}

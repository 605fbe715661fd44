//! What is spoken on a connection: HTTP/1.1, in plain or over TLS.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::server::Acceptor;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::request;
use super::socket::Socket;
use super::state::ConnectionState;
use super::stream::{Stream, Transport};
use crate::http::TrustedProxies;

/// How large a request's head may be, and how much of a body or an answer hyper buffers.
const BUFFER: usize = 16 * 1024;
/// The first byte of every TLS handshake, and of no request in plain HTTP.
const TLS_HANDSHAKE: u8 = 0x16;

/// What all connections need. Cloning it is cheap.
#[derive(Clone)]
pub struct Protocol {
    router: Router,
    proxies: TrustedProxies,
    http1: http1::Builder,
    closing: Arc<AtomicBool>,
    /// How many TLS handshakes are computed at once.
    handshakes: Arc<Semaphore>,
}

impl Protocol {
    /// While `closing`, an answer is its connection's last.
    pub fn new(router: Router, proxies: TrustedProxies, closing: Arc<AtomicBool>) -> Self {
        let mut http1 = http1::Builder::new();
        // hyper's own timer counts a head and the idle time before it as one.
        http1.header_read_timeout(None).max_buf_size(BUFFER);
        // Half of the cores are left to requests, however many newcomers there are.
        let cores = available_parallelism().map_or(1, usize::from);
        let handshakes = Arc::new(Semaphore::new((cores / 2).max(1)));
        Self { router, proxies, http1, closing, handshakes }
    }

    /// Answers requests until the connection ends.
    pub fn http1(
        &self,
        peer: IpAddr,
        transport: Transport,
        state: Arc<ConnectionState>,
    ) -> impl Future<Output = hyper::Result<()>> + use<> {
        let is_tls = matches!(transport, Transport::Tls(_));
        let stream = TokioIo::new(Stream::new(transport, state.clone()));
        let (router, proxies) = (self.router.clone(), self.proxies.clone());
        let closing = self.closing.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let client = proxies.client(peer, is_tls, request.headers());
            let (state, closing) = (state.clone(), closing.clone());
            request::answer(request, router.clone(), client, is_tls, state, closing)
        });
        self.http1.serve_connection(stream, service)
    }

    /// Shakes hands, and answers requests over TLS.
    pub async fn tls(
        self,
        peer: IpAddr,
        config: Arc<ServerConfig>,
        socket: Socket,
        state: Arc<ConnectionState>,
    ) -> hyper::Result<()> {
        match socket.peek().await {
            Ok(Some(TLS_HANDSHAKE)) => {}
            Ok(Some(_)) => {
                refuse_plain_http(socket, state).await;
                return Ok(());
            }
            Ok(None) | Err(_) => return Ok(()),
        }
        let stream = match self.shake_hands(config, socket).await {
            Ok(stream) => stream,
            Err(error) => {
                if error.kind() == ErrorKind::InvalidData {
                    state.handshake_failed();
                }
                tracing::debug!(%error, client = %peer, "a TLS handshake failed");
                return Ok(());
            }
        };
        self.http1(peer, Transport::Tls(Box::new(stream)), state).await
    }

    /// Reads what the client says first, then computes the answer in its turn. So no more tasks than
    /// those with a turn compete with requests, and a client that is gone costs no signature.
    async fn shake_hands(
        &self,
        config: Arc<ServerConfig>,
        socket: Socket,
    ) -> io::Result<TlsStream<Socket>> {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), socket).await?;
        let handshake = {
            let _turn = self.handshakes.acquire().await.map_err(io::Error::other)?;
            if hello.io.is_closed() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            hello.into_stream(config)
        };
        handshake.await
    }
}

/// Tells a client that speaks plain HTTP what is wrong.
async fn refuse_plain_http(socket: Socket, state: Arc<ConnectionState>) {
    let mut stream = Stream::new(Transport::Plain(socket), state);
    stream.refuse_plain_http();
    // Fails only after the client has closed the connection.
    drop(stream.shutdown().await);
}

#[cfg(test)]
mod tests;

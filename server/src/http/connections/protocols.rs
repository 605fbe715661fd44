//! What is spoken on a connection: HTTP/1.1 in plain, or TLS, and in it what the client chooses,
//! HTTP/2 or HTTP/1.1.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::server::Acceptor;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::http2 as bounded_http2;
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
pub struct Protocols {
    router: Router,
    proxies: TrustedProxies,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    closing: Arc<AtomicBool>,
    /// How many TLS handshakes are computed at once.
    handshakes: Arc<Semaphore>,
}

impl Protocols {
    /// While `closing`, an answer over HTTP/1.1 is its connection's last.
    pub fn new(router: Router, proxies: TrustedProxies, closing: Arc<AtomicBool>) -> Self {
        let mut http1 = http1::Builder::new();
        // hyper's own timer counts a head and the idle time before it as one.
        http1.header_read_timeout(None).max_buf_size(BUFFER);
        let http2 = bounded_http2::builder();
        // Half of the cores are left to requests, however many newcomers there are.
        let cores = available_parallelism().map_or(1, usize::from);
        let handshakes = Arc::new(Semaphore::new((cores / 2).max(1)));
        Self { router, proxies, http1, http2, closing, handshakes }
    }

    /// Answers requests in HTTP/1.1 until the connection ends.
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
            request::answer(request, router.clone(), client, state.clone(), closing.clone())
        });
        self.http1.serve_connection(stream, service)
    }

    /// Shakes hands, and answers requests in the protocol that the client chose.
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
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let transport = Transport::Tls(Box::new(stream));
        if is_http2 {
            self.http2(peer, transport, state).await
        } else {
            self.http1(peer, transport, state).await
        }
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

    /// Answers requests in HTTP/2 until the connection ends.
    async fn http2(
        &self,
        peer: IpAddr,
        transport: Transport,
        state: Arc<ConnectionState>,
    ) -> hyper::Result<()> {
        state.speaks_http2();
        let stream = TokioIo::new(Stream::new(transport, state.clone()));
        let service = service_fn(|request: Request<Incoming>| {
            let client = self.proxies.client(peer, true, request.headers());
            bounded_http2::answer(request, self.router.clone(), client, state.clone())
        });
        let mut connection = pin!(self.http2.serve_connection(stream, service));
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = state.stop_requested() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        // A connection that merely broke has an error of the socket.
        let cause = ended.as_ref().err().and_then(Error::source);
        if cause.is_some_and(|cause| !cause.is::<io::Error>()) {
            state.http2_broken();
        }
        ended
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

//! The protocol of a connection: HTTP/1.1, in plain or over TLS.

use std::convert::Infallible;
use std::future::pending;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;

use axum::Router;
use axum::body::HttpBody;
use axum::http::{HeaderValue, Request, Response, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::server::Acceptor;
use socket2::SockRef;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout_at;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tower::Service;

use super::idle::TrackedConnection;
use super::stream::Stream;
use super::{ConnectionLimits, log_end, refusal};
use crate::http::waiting::WaitingBodies;
use crate::http::{Tls, TrustedProxies};

/// Maximum size of a request's head, and of the part of a body or an answer that hyper buffers.
const BUFFER: usize = 16 * 1024;
/// The first byte of every TLS handshake, and of no request in plain HTTP.
const TLS_HANDSHAKE: u8 = 0x16;
/// `Strict-Transport-Security`: for 180 days a browser uses only TLS for this host, and does not
/// offer to ignore an invalid certificate. So an attacker cannot lead a user with a key back to
/// plain HTTP.
const ONLY_TLS: HeaderValue = HeaderValue::from_static("max-age=15552000");

/// State that all connections share.
pub struct Protocol {
    router: Router,
    proxies: TrustedProxies,
    tls: Option<Tls>,
    limits: ConnectionLimits,
    waiting: Arc<WaitingBodies>,
    http1: http1::Builder,
    /// Permits for TLS handshakes that are computed at the same time.
    handshakes: Semaphore,
    /// Each answer is its connection's last: the service stops, or others wait for a connection.
    pub is_closing: AtomicBool,
}

impl Protocol {
    pub fn new(
        router: Router,
        proxies: TrustedProxies,
        tls: Option<Tls>,
        limits: ConnectionLimits,
        max_connections: usize,
    ) -> Self {
        let mut http1 = http1::Builder::new();
        // hyper's timer covers a head together with the idle time before it, and restarts for each
        // request. `Stream` has the timeouts.
        http1.header_read_timeout(None).max_buf_size(BUFFER);
        // Half of the cores are left to requests, however many newcomers there are.
        let cores = available_parallelism().map_or(1, usize::from);
        let handshakes = Semaphore::new((cores / 2).max(1));
        let (waiting, is_closing) =
            (WaitingBodies::on(max_connections).into(), AtomicBool::new(false));
        Self { router, proxies, tls, limits, waiting, http1, handshakes, is_closing }
    }

    /// Answers requests until the connection ends.
    pub async fn serve(self: Arc<Self>, tcp: TcpStream, connection: Arc<TrackedConnection>) {
        let transport = match &self.tls {
            None => Either::Left(tcp),
            Some(tls) => {
                // In a box, as most connections need no room for it.
                let stream = Box::pin(self.start_tls(tls.config(), tcp, &connection)).await;
                let Some(stream) = stream else { return };
                Either::Right(Box::new(stream))
            }
        };
        let stream = Stream::new(transport, connection.clone(), self.limits);
        let service = service_fn(|request| self.answer(request, &connection));
        if let Err(error) = self.http1.serve_connection(TokioIo::new(stream), service).await {
            tracing::debug!(%error, client = %connection.peer, "a connection was aborted");
        }
    }

    /// A request is handled until its answer's last byte was produced, and the body dropped.
    async fn answer(
        &self,
        mut request: Request<Incoming>,
        connection: &Arc<TrackedConnection>,
    ) -> Result<Response<impl HttpBody<Data = Bytes, Error = axum::Error> + use<>>, Infallible>
    {
        let Some(guard) = connection.begin() else { return pending().await };
        let is_tls = self.tls.is_some();
        let client = self.proxies.client(connection.peer.ip(), is_tls, request.headers());
        request.extensions_mut().insert(client);
        request.extensions_mut().insert(self.waiting.clone());
        let mut response = self.router.clone().call(request).await?;
        let headers = response.headers_mut();
        if is_tls {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, ONLY_TLS);
        }
        if self.is_closing.load(Ordering::Relaxed) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| {
            body.map_err(move |error| {
                let _held_by_the_body = &guard;
                error
            })
        }))
    }

    /// None if the client speaks something else, or takes too long.
    async fn start_tls(
        &self,
        config: Arc<ServerConfig>,
        tcp: TcpStream,
        connection: &Arc<TrackedConnection>,
    ) -> Option<TlsStream<TcpStream>> {
        let mut first = [0];
        let starting = async {
            if tcp.peek(&mut first).await? > 0 && first != [TLS_HANDSHAKE] {
                self.refuse_plain_http(tcp, connection.clone()).await;
                return Ok(None);
            }
            self.shake_hands(config, tcp).await.map(Some)
        };
        match timeout_at(connection.opened + self.limits.head_timeout, starting).await {
            Ok(Ok(stream)) => return stream,
            Ok(Err(error)) => {
                if error.kind() == ErrorKind::InvalidData {
                    log_end("failed_handshake", connection.peer);
                }
                tracing::debug!(%error, client = %connection.peer, "a TLS handshake failed");
            }
            Err(_) => log_end("slow_head", connection.peer),
        }
        None
    }

    /// Reads what the client says first, then computes the answer in its turn. So no more tasks
    /// than those with a turn compete with requests, and a client that is gone costs no signature.
    async fn shake_hands(
        &self,
        config: Arc<ServerConfig>,
        tcp: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), tcp).await?;
        let handshake = {
            let _permit = self.handshakes.acquire().await.map_err(io::Error::other)?;
            if is_closed(&hello.io) {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            hello.into_stream(config)
        };
        handshake.await
    }

    /// Tells a client that speaks plain HTTP what is wrong.
    async fn refuse_plain_http(&self, tcp: TcpStream, connection: Arc<TrackedConnection>) {
        let mut stream = Stream::new(Either::Left(tcp), connection, self.limits);
        stream.refuse(&refusal::of_plain_http());
        // Fails only after the client has closed the connection.
        drop(stream.shutdown().await);
    }
}

/// Whether the client has closed the connection, and everything was read that it sent.
fn is_closed(tcp: &TcpStream) -> bool {
    match SockRef::from(tcp).peek(&mut [std::mem::MaybeUninit::uninit()]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[cfg(test)]
mod tests;

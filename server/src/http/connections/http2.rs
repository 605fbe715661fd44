//! HTTP/2: its bounds, and its requests, of which a connection has several at once.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::{Request, Response};
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http2::Builder;
use hyper_util::rt::TokioExecutor;
use tower::Service;

use super::request::Handling;
use super::state::ConnectionState;
use crate::http::{Client, head};

/// How many requests a connection may have at once.
const MAX_REQUESTS: u32 = 32;
/// How large a request's head may be; HTTP/2 counts 32 bytes more for each header.
const MAX_HEAD: u32 = 16 * 1024;
/// How much may arrive of a body, and of all bodies of a connection, before a handler reads it. The
/// second is the least that HTTP/2 knows.
const BODY_WINDOW: u32 = 32 * 1024;
const CONNECTION_WINDOW: u32 = 65_535;
/// How much of an answer hyper takes before the client makes room for it.
const PIECE: usize = 16 * 1024;
/// How many streams may be reset by the client before they were accepted, and by us for the client's
/// mistakes, until the connection is ended.
const MAX_RESETS: usize = 20;
const MAX_MISTAKES: usize = 256;

/// HTTP/2 with these bounds. It sends no pings: whatever a peer that is gone leaves behind has a
/// time-out of its own.
pub fn builder() -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    http.max_concurrent_streams(MAX_REQUESTS)
        .max_header_list_size(MAX_HEAD)
        .initial_stream_window_size(BODY_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(PIECE)
        .max_pending_accept_reset_streams(MAX_RESETS)
        .max_local_error_reset_streams(MAX_MISTAKES);
    http
}

/// Answers a request. hyper leaves out a `Connection` header, which HTTP/2 does not know.
pub async fn answer(
    mut request: Request<Incoming>,
    mut router: Router,
    client: Client,
    state: Arc<ConnectionState>,
) -> Result<Response<PacedBody>, Infallible> {
    let handling = Handling::begin(state).await;
    let host = request.uri().authority().cloned();
    head::add_host(request.headers_mut(), host.as_ref());
    request.extensions_mut().insert(client);
    let response = router.call(request).await?;
    Ok(response.map(|body| PacedBody { body, rest: Bytes::new(), is_waiting: false, handling }))
}

/// An answer's body in small pieces. hyper asks for the next when the client has made room for the
/// last, and drops the body after that.
pub struct PacedBody {
    body: Body,
    /// What hyper has not taken of a part of the body.
    rest: Bytes,
    /// The client has yet to make room for the last piece.
    is_waiting: bool,
    handling: Handling,
}

impl PacedBody {
    fn wait(&mut self, is_waiting: bool) {
        let blocked = &self.handling.0.blocked;
        match (self.is_waiting, is_waiting) {
            (false, true) => blocked.answer_waits(),
            (true, false) => blocked.answer_goes_on(),
            _ => {}
        }
        self.is_waiting = is_waiting;
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.wait(false);
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            }
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        self.wait(true);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, mut hint) = (self.rest.len() as u64, self.body.size_hint());
        hint.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

impl Drop for PacedBody {
    fn drop(&mut self) {
        self.wait(false);
    }
}

//! A request on a connection: it is routed with its client, and lasts until its answer's
//! last byte was produced.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::{HeaderValue, Request, Response, header};
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use tower::Service;

use super::state::ConnectionState;
use crate::http::Client;

/// For 180 days a browser asks this host over TLS alone, and shows no way around a certificate that
/// is not valid: whoever signs in must not be led back to plain HTTP, with the key.
const OVER_TLS_ALONE: HeaderValue = HeaderValue::from_static("max-age=15552000");

/// Answers a request. While `closing`, the answer is the connection's last.
pub async fn answer(
    mut request: Request<Incoming>,
    mut router: Router,
    client: Client,
    is_tls: bool,
    state: Arc<ConnectionState>,
    closing: Arc<AtomicBool>,
) -> Result<Response<AnswerBody>, Infallible> {
    if !state.begin() {
        // The connection was ended a moment ago, and its task is about to be aborted.
        return std::future::pending().await;
    }
    let handling = Handling(state);
    request.extensions_mut().insert(client);
    let mut response = router.call(request).await?;
    if is_tls {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, OVER_TLS_ALONE);
    }
    if closing.load(Ordering::Relaxed) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| AnswerBody { body, _handling: handling }))
}

/// A request lasts as long as this.
struct Handling(Arc<ConnectionState>);

impl Drop for Handling {
    fn drop(&mut self) {
        self.0.answered();
    }
}

/// An answer's body. hyper drops it when it has produced everything.
pub struct AnswerBody {
    body: Body,
    _handling: Handling,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

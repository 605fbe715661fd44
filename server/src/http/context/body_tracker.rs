//! The arrival of a request's body: the time until which the answer is due, and the part of the
//! body that the handler does not read.
//!
//! A handler that refuses, or needs no body, drops it unread. hyper then closes the connection, and
//! the caller's next request on it is lost, or even this answer if the caller is still sending. So
//! the body stays here, and the rest of it is read and discarded: for a second before the answer,
//! among the requests that wait for their bodies, and then by the connection, until others need it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::{CONNECTION, EXPECT};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::Error;
use crate::http::waiting::{Standing, WaitingBodies, hold};

/// Time for which a caller waits for an answer, from the arrival of the request or, if that was
/// later, of its body. Then the handler is cancelled, and its transaction rolled back.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for which an answer waits for the rest of a body, so that the connection can be kept.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of bytes of an unread body that are discarded before the answer.
const MAX_DRAINED: u64 = 16 * 1024 * 1024;

/// A request's body as seen from outside its handler. None if the request has no body.
pub struct BodyTracker(Option<Observed>);

struct Observed {
    state: Arc<Mutex<BodyState>>,
    waiting: Option<Arc<WaitingBodies>>,
}

#[derive(Default)]
struct BodyState {
    /// The handler waits for the caller to send more.
    is_awaited: bool,
    /// Time at which the last wait ended.
    received_at: Option<Instant>,
    /// The part of the body that the handler did not read.
    rest: Option<Body>,
    /// The caller waits for `100 Continue`, which was not sent yet.
    is_held_back: bool,
}

/// Puts a body into the request that can be observed.
pub fn observe(request: Request) -> (Request, BodyTracker) {
    if request.body().is_end_stream() {
        return (request, BodyTracker(None));
    }
    let is_held_back = request.headers().contains_key(EXPECT);
    let state = Arc::new(Mutex::new(BodyState { is_held_back, ..BodyState::default() }));
    let observed = Observed { state: state.clone(), waiting: request.extensions().get().cloned() };
    let request = request.map(|body| Body::new(ObservedBody { body: Some(body), state }));
    (request, BodyTracker(Some(observed)))
}

impl BodyTracker {
    /// Runs the handler until its answer is due; an answer that is not there then is a 503. The
    /// time in which the handler waits for the caller's body does not count.
    pub async fn answer_in_time(
        &self,
        started: Instant,
        handler: impl Future<Output = Response>,
    ) -> Response {
        let mut handler = pin!(handler);
        let mut deadline = started + ANSWER_TIMEOUT;
        loop {
            if let Ok(response) = timeout_at(deadline, &mut handler).await {
                return response;
            }
            let now = Instant::now();
            deadline = self.received_at(now).unwrap_or(started) + ANSWER_TIMEOUT;
            if deadline <= now {
                return Error::Unavailable.into_response();
            }
        }
    }

    /// Returns the time at which the handler last received a part of the body for which it had to
    /// wait. Now, if it still waits.
    fn received_at(&self, now: Instant) -> Option<Instant> {
        let state = self.0.as_ref()?.state.lock();
        if state.is_awaited { Some(now) } else { state.received_at }
    }

    /// Discards what the handler left of the body. If that takes long, or the request has to make
    /// room, the answer announces that the connection will be closed.
    pub async fn finish(self, error: Option<&Error>, headers: &mut HeaderMap) {
        let Some(Observed { state, waiting }) = self.0 else { return };
        let (rest, is_held_back) = {
            let mut state = state.lock();
            (state.rest.take(), state.is_held_back)
        };
        let Some(mut rest) = rest else { return };
        // A request that is refused for lack of room must not hold what it was to free.
        let may_wait = !is_held_back && error != Some(&Error::Overloaded);
        if may_wait && rest.size_hint().lower() <= MAX_DRAINED {
            let drained = hold(waiting.as_deref(), Standing::Refused, drain(&mut rest));
            if timeout(DRAIN_TIMEOUT, drained).await == Ok(Some(true)) {
                return;
            }
        }
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Reads up to [`MAX_DRAINED`], and returns whether that was all.
async fn drain(body: &mut Body) -> bool {
    let mut drained = 0;
    while drained <= MAX_DRAINED {
        match body.frame().await {
            Some(Ok(frame)) => drained += frame.data_ref().map_or(0, |data| data.len() as u64),
            // Nothing more arrives over a connection that broke.
            Some(Err(_)) | None => return true,
        }
    }
    false
}

/// A body that notes how it arrives, and leaves what was not read of it in [`BodyState`].
struct ObservedBody {
    body: Option<Body>,
    state: Arc<Mutex<BodyState>>,
}

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(context);
        let mut state = self.state.lock();
        state.is_held_back = false;
        if frame.is_pending() {
            state.is_awaited = true;
        } else if state.is_awaited {
            state.is_awaited = false;
            state.received_at = Some(Instant::now());
        }
        drop(state);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for ObservedBody {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        state.is_awaited = false;
        state.rest = self.body.take().filter(|body| !body.is_end_stream());
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;

    use futures_util::{FutureExt, future, stream};
    use tokio::sync::oneshot;

    use super::*;

    /// A request whose body is one part that comes when it is sent.
    fn request() -> (Request, oneshot::Sender<Bytes>) {
        let (sender, part) = oneshot::channel();
        let part = async move { Ok::<_, Infallible>(part.await.unwrap_or_default()) };
        (Request::new(Body::from_stream(stream::once(part))), sender)
    }

    fn long_ago() -> Instant {
        Instant::now() - 2 * ANSWER_TIMEOUT
    }

    /// Returns the answer to an overdue request whose handler reads and answers nothing.
    async fn overdue_answer(request: Request) -> Response {
        let (request, body_tracker) = observe(request);
        let handler = async move {
            let _request = request;
            pending().await
        };
        body_tracker.answer_in_time(long_ago(), handler).await
    }

    #[tokio::test]
    async fn a_handler_is_given_up_when_its_answer_is_due() {
        assert_eq!(overdue_answer(Request::new(Body::empty())).await.status(), 503);
    }

    #[tokio::test]
    async fn the_time_of_a_body_that_nobody_reads_counts() {
        let (request, _sender) = request();
        assert_eq!(overdue_answer(request).await.status(), 503);
    }

    /// A refused request whose body does not come waits for it only until another one needs the
    /// place.
    #[tokio::test]
    async fn a_refused_request_makes_room() {
        let waiting = Arc::new(WaitingBodies::on(2));
        let refuse = async |error: Error| {
            let (mut request, _sender) = request();
            request.extensions_mut().insert(waiting.clone());
            let (request, body_tracker) = observe(request);
            drop(request);
            let mut headers = HeaderMap::new();
            body_tracker.finish(Some(&error), &mut headers).await;
            headers[CONNECTION] == "close"
        };
        let (mut first, mut second) =
            (pin!(refuse(Error::Unauthorized)), pin!(refuse(Error::Unauthorized)));
        assert_eq!(first.as_mut().now_or_never(), None);
        assert_eq!(second.as_mut().now_or_never(), None);
        assert_eq!(first.now_or_never(), Some(true), "the second needs its place");
        let overloaded = refuse(Error::Overloaded).now_or_never();
        assert_eq!(overloaded, Some(true), "it is refused for lack of room");
    }

    /// The answer was due before the body came, and is not given up: neither while the handler
    /// waits for the body, nor when it then takes some time itself.
    #[tokio::test]
    async fn the_time_of_a_body_on_its_way_does_not_count() {
        let (request, sender) = request();
        let (request, body_tracker) = observe(request);
        let (reading, has_read) = oneshot::channel();
        let (resume, may_resume) = oneshot::channel::<()>();
        let handler = async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            reading.send(body).unwrap();
            may_resume.await.unwrap();
            Response::default()
        };
        let caller = async move {
            tokio::task::yield_now().await;
            sender.send("body".into()).unwrap();
            assert_eq!(has_read.await.unwrap(), "body");
            resume.send(()).unwrap();
        };
        let (response, ()) =
            future::join(body_tracker.answer_in_time(long_ago(), handler), caller).await;
        assert_eq!(response.status(), 200);
    }
}

//! A proxy that loses answers: after a number of writes, requests reach licd and answers are held.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, Response, header};
use axum::{Router, serve};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::harness::client;

/// The proxy; it runs until the test ends.
pub struct LossyProxy {
    pub base: String,
    held: UnboundedReceiver<()>,
}

struct ProxyState {
    to: String,
    client: reqwest::Client,
    /// Number of writes that may still get a response.
    open: AtomicUsize,
    held: UnboundedSender<()>,
}

impl LossyProxy {
    /// Listens before the licd at this address, and passes this many writes.
    pub async fn before(to: &str, writes: usize) -> Self {
        let (hold, held) = unbounded_channel();
        let (client, open) = (client().build().unwrap(), AtomicUsize::new(writes));
        let state = Arc::new(ProxyState { to: to.to_owned(), client, open, held: hold });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve(listener, Router::new().fallback(pass).with_state(state)).into_future());
        Self { base, held }
    }

    /// Waits until one more answer is held.
    pub async fn held(&mut self) {
        self.held.recv().await.unwrap();
    }
}

async fn pass(State(state): State<Arc<ProxyState>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let mut headers = head.headers;
    headers.remove(header::HOST);
    let url = format!("{}{}", state.to, head.uri);
    let is_write = head.method != Method::GET;
    let sent = state.client.request(head.method, url).headers(headers).body(body).send();
    let answer = sent.await.unwrap();
    let one_less = |open: usize| open.checked_sub(1);
    let order = Ordering::SeqCst;
    if is_write && state.open.fetch_update(order, order, one_less).is_err() {
        state.held.send(()).unwrap();
        std::future::pending::<()>().await;
    }
    let status = answer.status();
    let body = Body::from(answer.bytes().await.unwrap());
    Response::builder().status(status).body(body).unwrap()
}

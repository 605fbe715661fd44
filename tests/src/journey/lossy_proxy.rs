//! A way to licd that is shut after so many writes: the service does what it is asked, and its
//! answer never arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, Response, header};
use axum::{Router, serve};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The way; it is there until the test ends.
pub struct LossyProxy {
    pub base: String,
    held: UnboundedReceiver<()>,
}

struct Way {
    to: String,
    client: reqwest::Client,
    /// How many writes may still be answered.
    open: AtomicUsize,
    told: UnboundedSender<()>,
}

impl LossyProxy {
    /// Before the licd at this address, letting so many writes through.
    pub async fn before(to: &str, writes: usize) -> Self {
        let (told, held) = unbounded_channel();
        let (client, open) = (reqwest::Client::new(), AtomicUsize::new(writes));
        let way = Arc::new(Way { to: to.to_owned(), client, open, told });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve(listener, Router::new().fallback(pass).with_state(way)).into_future());
        Self { base, held }
    }

    /// Returns when one more answer was held back.
    pub async fn held(&mut self) {
        self.held.recv().await.unwrap();
    }
}

async fn pass(State(way): State<Arc<Way>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let mut headers = head.headers;
    headers.remove(header::HOST);
    let url = format!("{}{}", way.to, head.uri);
    let is_write = head.method != Method::GET;
    let sent = way.client.request(head.method, url).headers(headers).body(body).send();
    let answer = sent.await.unwrap();
    let one_less = |open: usize| open.checked_sub(1);
    let order = Ordering::SeqCst;
    if is_write && way.open.fetch_update(order, order, one_less).is_err() {
        way.told.send(()).unwrap();
        std::future::pending::<()>().await;
    }
    let status = answer.status();
    let body = Body::from(answer.bytes().await.unwrap());
    Response::builder().status(status).body(body).unwrap()
}

//! A receiver of webhooks on this machine, which records requests, and responds as configured.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::harness::find;

/// A request of licd.
#[derive(Clone, Debug)]
pub struct Received {
    pub id: String,
    pub timestamp: String,
    pub signatures: Vec<String>,
    pub text: String,
    pub event: Value,
    /// Status of the response.
    pub status: u16,
}

impl Received {
    /// Whether a signature is that of this secret, by Standard Webhooks.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
        let signed = format!("{}.{}.{}", self.id, self.timestamp, self.text);
        let verifies = |signature: &String| {
            let mac = STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
            ring::hmac::verify(&key, signed.as_bytes(), &mac).is_ok()
        };
        self.signatures.iter().any(verifies)
    }
}

type Respond = dyn Fn(&Value) -> u16 + Send + Sync;

struct ReceiverState {
    received: Mutex<Vec<Received>>,
    answer: Mutex<Box<Respond>>,
}

#[derive(Clone)]
pub struct Receiver {
    shared: Arc<ReceiverState>,
    pub url: String,
}

impl Receiver {
    /// One that takes everything.
    pub async fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// Serves the connections of this listener.
    pub fn on(listener: TcpListener) -> Self {
        let shared = Arc::new(ReceiverState {
            received: Mutex::default(),
            answer: Mutex::new(Box::new(|_| 200)),
        });
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let router = Router::new().route("/hook", post(receive)).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { shared, url }
    }

    /// Answers each event with a status from now on.
    pub fn answer(&self, answer: impl Fn(&Value) -> u16 + Send + Sync + 'static) {
        *self.shared.answer.lock().unwrap() = Box::new(answer);
    }

    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    /// The sequences that were taken, in the order in which they came.
    pub fn taken(&self) -> Vec<i64> {
        let all = self.received();
        let taken = all.iter().filter(|it| it.status < 300);
        taken.map(|it| it.event["sequence"].as_i64().unwrap()).collect()
    }

    /// Waits for an event about this record.
    pub async fn event_of(&self, id: &str) -> Received {
        let about = |it: &Received| it.event["subject"]["id"] == id;
        find("the event", async || self.received().into_iter().find(about)).await
    }
}

async fn receive(
    State(shared): State<Arc<ReceiverState>>,
    headers: HeaderMap,
    text: String,
) -> (StatusCode, &'static str) {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let event: Value = serde_json::from_str(&text).unwrap();
    let status = shared.answer.lock().unwrap()(&event);
    let received = Received {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signatures: header("webhook-signature").split(' ').map(str::to_owned).collect(),
        text,
        event,
        status,
    };
    shared.received.lock().unwrap().push(received);
    (StatusCode::from_u16(status).unwrap(), "seen")
}

//! Receivers of webhooks in this program: one that records events, a slow one, one that hangs, and
//! one that signals when an event arrives.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Notify};

/// Time for each response of the slow receiver.
const SLOWNESS: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct Event {
    id: String,
    sequence: u64,
    subject: Subject,
}

#[derive(Deserialize)]
struct Subject {
    id: String,
}

/// Events that arrived at the receiver that records them.
#[derive(Default)]
pub struct Received {
    ids: HashSet<String>,
    /// The last sequence of each subject.
    last: HashMap<String, u64>,
    pub repeated: usize,
    /// Events that came after a later one of their subject.
    disordered: usize,
}

impl Received {
    pub fn events(&self) -> usize {
        self.ids.len()
    }

    /// Returns the number of events. Fails if some came twice, or after a later one of their
    /// subject.
    pub fn in_order_and_once(&self) -> anyhow::Result<usize> {
        let Self { repeated, disordered, .. } = self;
        ensure!(*repeated == 0, "{repeated} events came twice");
        ensure!(*disordered == 0, "{disordered} events came out of order");
        Ok(self.events())
    }

    fn note(&mut self, event: Event) {
        if !self.ids.insert(event.id) {
            self.repeated += 1;
            return;
        }
        let last = self.last.entry(event.subject.id).or_default();
        self.disordered += usize::from(event.sequence < *last);
        *last = event.sequence.max(*last);
    }
}

#[derive(Clone, Default)]
pub struct Receiver {
    pub received: Arc<Mutex<Received>>,
    pub arrived: Arc<Notify>,
}

impl Receiver {
    /// Listens until the program ends.
    pub async fn listen(&self) -> anyhow::Result<SocketAddr> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new()
            .route("/fast", post(note))
            .route("/slow", post(async |_: Bytes| tokio::time::sleep(SLOWNESS).await))
            .route("/hangs", post(async |_: Bytes| pending::<()>().await))
            .route("/watched", post(tell))
            .with_state(self.clone());
        tokio::spawn(axum::serve(listener, router).into_future());
        Ok(address)
    }
}

async fn note(State(receiver): State<Receiver>, Json(event): Json<Event>) -> StatusCode {
    receiver.received.lock().await.note(event);
    StatusCode::NO_CONTENT
}

async fn tell(State(receiver): State<Receiver>, _: Bytes) {
    receiver.arrived.notify_one();
}

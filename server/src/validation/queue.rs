//! Natural batching. A worker takes the waiting requests, handles them together, and then takes those
//! that arrived in the meantime. There is no timer: a single request is handled immediately, and the
//! more requests arrive, the more of them share the cost. If several batches may run in parallel,
//! another one starts only when many requests wait, so that batches stay large.
//!
//! On a sharded database, a batch is of one tenant, and a tenant has one batch at a time: one whose
//! server does not respond delays no other.
//!
//! Tenants, and the keys of a tenant, are served round-robin (see [`fair`](crate::fair)). Batches are
//! limited in size and cost, so that expensive requests of one tenant do not delay others. The caller
//! limits how long it waits.

use std::collections::HashSet;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::TenantId;
use futures_util::FutureExt;
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::{Notify, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Duration, Instant, timeout};

use crate::auth::Placement;
use crate::error::Error;
use crate::fair::FairQueue;
use crate::metrics::{Metrics, QueueLabel};
use crate::store::keys::Hash;
use crate::supervise::supervise;

/// Maximum number of waiting requests. Further requests are refused immediately.
const MAX_WAITING: usize = 4096;
/// Maximum number of requests in a batch.
const MAX_BATCH: usize = 256;
/// Maximum number of requests in a batch per waiting tenant, if several wait, or per waiting key,
/// if only one tenant does. It shortens the wait of callers with few requests.
const MAX_SHARED: usize = 32;
/// Maximum cost of a batch. A typical request costs 1.
const MAX_BATCH_COST: usize = 1024;
/// Number of waiting requests from which another batch starts in parallel.
const GOOD_BATCH: usize = 64;
/// Time after which a batch fails because the database is unavailable.
const BATCH_TIMEOUT: Duration = Duration::from_secs(5);

struct QueuedRequest<Q, A> {
    request: Q,
    cost: usize,
    since: Instant,
    reply: oneshot::Sender<Result<A, Error>>,
}

/// Handles the requests of a queue.
pub trait Handler<Q>: Send + Sync + 'static {
    type Answer: Send + 'static;

    /// Returns an answer for each request, in order.
    fn handle(
        &self,
        requests: &[Q],
    ) -> impl Future<Output = Result<Vec<Self::Answer>, Error>> + Send;
}

/// The batches of a queue that run in parallel.
#[derive(Clone, Copy)]
pub struct Batches {
    pub most: usize,
    /// Whether a batch is of one tenant, which has no other at that time.
    pub per_tenant: bool,
}

/// Takes note of the outcome of each call of [`Handler::handle`], timeouts included.
pub type Note = Arc<dyn Fn(Result<(), &Error>) + Send + Sync>;

/// Tenant whose requests wait. `None` for keys whose tenant is not known yet.
type Lane = Option<TenantId>;

/// The requests of a batch, which runs until the second part is dropped.
type Batch<'a, Q, A> = (Vec<QueuedRequest<Q, A>>, RunningBatch<'a, Q, A>);

/// State that the sending end of the queue and its workers share.
struct Queue<Q, A> {
    waiting: Mutex<FairQueue<Lane, Hash, QueuedRequest<Q, A>>>,
    /// If a batch is of one lane: the lanes with a running batch.
    busy: Option<Mutex<HashSet<Lane>>>,
    arrived: Notify,
    closed: AtomicBool,
    /// Number of running batches. It grows only under the lock of `waiting`.
    running: AtomicUsize,
}

/// Sending end of the queue. After its last clone is dropped, the workers handle the waiting
/// requests and end.
pub struct BatchQueue<Q, A>(Arc<Open<Q, A>>);

struct Open<Q, A>(Arc<Queue<Q, A>>);

impl<Q, A> Clone for BatchQueue<Q, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Q, A> Drop for Open<Q, A> {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.arrived.notify_one();
    }
}

impl<Q: Send + Sync + 'static, A: Send + 'static> BatchQueue<Q, A> {
    /// Starts the workers, one for each batch that may run in parallel.
    pub fn start(
        name: &'static str,
        Batches { most, per_tenant }: Batches,
        metrics: &Arc<Metrics>,
        handler: &Arc<impl Handler<Q, Answer = A>>,
        note: &Note,
    ) -> (Self, JoinHandle<()>) {
        let queue = Arc::new(Queue {
            waiting: Mutex::new(FairQueue::new(MAX_WAITING)),
            busy: per_tenant.then(Mutex::default),
            arrived: Notify::new(),
            closed: AtomicBool::new(false),
            running: AtomicUsize::new(0),
        });
        let open = Self(Arc::new(Open(queue.clone())));
        let mut workers = JoinSet::new();
        for _ in 0..most {
            let (queue, metrics) = (queue.clone(), metrics.clone());
            let (handler, note) = (handler.clone(), note.clone());
            workers.spawn(supervise(name, metrics.clone(), move || {
                let measured = BatchMetrics::of(&metrics, name);
                work(queue.clone(), measured, handler.clone(), note.clone())
            }));
        }
        (open, tokio::spawn(async { drop(workers.join_all().await) }))
    }

    /// Queues a request and waits for its result. Fails with [`Error::Overloaded`] if the queue is
    /// full.
    pub async fn submit(&self, place: Placement, request: Q) -> Result<A, Error> {
        let (reply, answer) = oneshot::channel();
        let queue = &self.0.0;
        let waiting = QueuedRequest { request, cost: place.cost, since: Instant::now(), reply };
        let pushed = queue.waiting.lock().push(place.tenant, place.key, waiting);
        let displaced = pushed.map_err(|_| Error::Overloaded)?;
        queue.arrived.notify_one();
        if let Some(displaced) = displaced {
            // Its caller may be gone.
            drop(displaced.reply.send(Err(Error::Overloaded)));
        }
        answer.await.map_err(|_| Error::Internal)?
    }

    /// Returns the number of waiting requests.
    pub fn waiting(&self) -> usize {
        self.0.0.waiting.lock().len()
    }
}

impl<Q, A> Queue<Q, A> {
    /// Takes the next batch. `None` if no request waits, or too few for another batch in parallel.
    /// Drops requests whose callers have disconnected.
    fn take(&self) -> Option<Batch<'_, Q, A>> {
        let mut waiting = self.waiting.lock();
        let mut busy = self.busy.as_ref().map(Mutex::lock);
        let is_enough = waiting.len() >= GOOD_BATCH || busy.is_some();
        if self.running.load(Ordering::Acquire) > 0 && !is_enough {
            return None;
        }
        let (mut batch, mut cost, mut lane) = (Vec::new(), 0, None);
        let max_size = match waiting.sharers() {
            0 | 1 => MAX_BATCH,
            sharers => MAX_BATCH.min(sharers * MAX_SHARED),
        };
        while batch.len() < max_size && cost < MAX_BATCH_COST {
            let may_serve = |other: &Lane| match (&busy, lane) {
                (None, _) => true,
                (Some(busy), None) => !busy.contains(other),
                (Some(_), Some(lane)) => *other == lane,
            };
            let next = waiting.pop_from(may_serve, |next| next.reply.is_closed());
            let Some((of, next)) = next else { break };
            lane = Some(of);
            cost += next.cost;
            batch.push(next);
        }
        let lane = lane?;
        if let Some(busy) = &mut busy {
            busy.insert(lane);
        }
        Some((batch, RunningBatch::begin(self, lane)))
    }
}

/// Metrics of a queue's batches.
struct BatchMetrics {
    size: Histogram,
    wait: Histogram,
    time: Histogram,
}

impl BatchMetrics {
    fn of(metrics: &Metrics, queue: &'static str) -> Self {
        let label = QueueLabel { queue };
        Self {
            size: metrics.batch_size.get_or_create_owned(&label),
            wait: metrics.queue_wait.get_or_create_owned(&label),
            time: metrics.batch_time.get_or_create_owned(&label),
        }
    }
}

/// A worker, which runs one batch at a time.
async fn work<Q, H: Handler<Q>>(
    queue: Arc<Queue<Q, H::Answer>>,
    measured: BatchMetrics,
    handler: Arc<H>,
    note: Note,
) {
    loop {
        let arrived = queue.arrived.notified();
        if let Some((batch, _running)) = queue.take() {
            let answering = measured.measure(batch, &*handler, &note);
            // A panic must fail only the batch, not the worker.
            if AssertUnwindSafe(answering).catch_unwind().await.is_err() {
                tracing::error!("a batch panicked");
            }
        } else if queue.closed.load(Ordering::Acquire) && queue.waiting.lock().is_empty() {
            // Lets the next worker end.
            queue.arrived.notify_one();
            return;
        } else {
            arrived.await;
        }
    }
}

impl BatchMetrics {
    async fn measure<Q, H: Handler<Q>>(
        &self,
        batch: Vec<QueuedRequest<Q, H::Answer>>,
        handler: &H,
        note: &Note,
    ) {
        let begun = Instant::now();
        self.size.observe(batch.len() as f64);
        for waiting in &batch {
            self.wait.observe((begun - waiting.since).as_secs_f64());
        }
        settle(batch, handler, note).await;
        self.time.observe(begun.elapsed().as_secs_f64());
    }
}

/// A running batch, which ends when this is dropped.
struct RunningBatch<'a, Q, A>(&'a Queue<Q, A>, Lane);

impl<'a, Q, A> RunningBatch<'a, Q, A> {
    fn begin(queue: &'a Queue<Q, A>, lane: Lane) -> Self {
        queue.running.fetch_add(1, Ordering::AcqRel);
        Self(queue, lane)
    }
}

impl<Q, A> Drop for RunningBatch<'_, Q, A> {
    fn drop(&mut self) {
        let Self(queue, lane) = self;
        queue.running.fetch_sub(1, Ordering::AcqRel);
        if let Some(busy) = &queue.busy {
            busy.lock().remove(lane);
        }
    }
}

async fn settle<Q, H: Handler<Q>>(
    batch: Vec<QueuedRequest<Q, H::Answer>>,
    handler: &H,
    note: &Note,
) {
    let split = |waiting: QueuedRequest<Q, H::Answer>| (waiting.request, waiting.reply);
    let (requests, replies): (Vec<_>, Vec<_>) = batch.into_iter().map(split).unzip();
    match in_time(&requests, handler, note).await {
        Ok(answers) => {
            for (reply, answer) in replies.into_iter().zip(answers) {
                // Fails only if the caller is gone.
                drop(reply.send(Ok(answer)));
            }
        }
        // A request that the database cannot process must not fail the others in its batch.
        Err(Error::Internal) if requests.len() > 1 => {
            for (reply, request) in replies.into_iter().zip(requests) {
                let result = in_time(std::slice::from_ref(&request), handler, note).await;
                drop(reply.send(result.and_then(|mut one| one.pop().ok_or(Error::Internal))));
            }
        }
        Err(error) => {
            for reply in replies {
                drop(reply.send(Err(error.clone())));
            }
        }
    }
}

async fn in_time<Q, H: Handler<Q>>(
    requests: &[Q],
    handler: &H,
    note: &Note,
) -> Result<Vec<H::Answer>, Error> {
    let outcome = timeout(BATCH_TIMEOUT, handler.handle(requests)).await;
    let outcome = outcome.unwrap_or(Err(Error::Unavailable));
    note(outcome.as_ref().map(drop));
    outcome
}

#[cfg(test)]
mod tests;

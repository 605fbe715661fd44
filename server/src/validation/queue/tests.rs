//! The queue has an exact limit, returns a result for each request in its position, and no request
//! suffers from another. The tests block and release the worker, so that they know which requests
//! wait.

mod overload;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use common::{TenantId, Timestamp};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::{
    BatchQueue, Batches, Handler, MAX_BATCH, MAX_BATCH_COST, MAX_SHARED, MAX_WAITING, Note,
    Placement,
};
use crate::error::Error;

/// One batch at a time, of all tenants.
const ONE: Batches = Batches { most: 1, per_tenant: false };
/// The placement of requests that share a key.
const PLACE: Placement = Placement { tenant: None, key: [0; 32], cost: 1 };

type Asking<A> = Pin<Box<dyn Future<Output = Result<A, Error>> + Send>>;

/// A worker that returns each request as its result, for as many batches as the test allows.
struct Held {
    batcher: BatchQueue<usize, usize>,
    worker: JoinHandle<()>,
    allowed: Arc<Semaphore>,
    begun: Arc<Semaphore>,
    batches: Arc<Mutex<Vec<Vec<usize>>>>,
    /// Outcome of each call.
    ends: Arc<Mutex<Vec<Result<(), Error>>>>,
}

/// Returns each request as its result, once it is allowed.
struct Echo {
    verdict: fn(&[usize]) -> Result<(), Error>,
    allowed: Arc<Semaphore>,
    begun: Arc<Semaphore>,
    batches: Arc<Mutex<Vec<Vec<usize>>>>,
}

impl Handler<usize> for Echo {
    type Answer = usize;

    async fn handle(&self, requests: &[usize]) -> Result<Vec<usize>, Error> {
        self.batches.lock().unwrap().push(requests.to_vec());
        self.begun.add_permits(1);
        self.allowed.acquire().await.unwrap().forget();
        (self.verdict)(requests)?;
        Ok(requests.to_vec())
    }
}

/// Never answers.
struct Silent(Arc<Semaphore>);

impl Handler<Arc<()>> for Silent {
    type Answer = ();

    async fn handle(&self, _: &[Arc<()>]) -> Result<Vec<()>, Error> {
        self.0.add_permits(1);
        std::future::pending().await
    }
}

impl Held {
    /// Starts a queue. `verdict` decides whether a batch succeeds.
    fn start(verdict: fn(&[usize]) -> Result<(), Error>) -> Self {
        Self::start_with(ONE, verdict)
    }

    fn start_with(most: Batches, verdict: fn(&[usize]) -> Result<(), Error>) -> Self {
        let (allowed, begun) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (batches, ends) = (Arc::<Mutex<Vec<Vec<usize>>>>::default(), Arc::default());
        let noted: Arc<Mutex<Vec<Result<(), Error>>>> = Arc::clone(&ends);
        let note: Note = Arc::new(move |end| noted.lock().unwrap().push(end.map_err(Error::clone)));
        let (allowed_by, tells) = (allowed.clone(), begun.clone());
        let echo = Echo { verdict, allowed: allowed_by, begun: tells, batches: batches.clone() };
        let (batcher, worker) =
            BatchQueue::start("reads", most, &Arc::default(), &Arc::new(echo), &note);
        Self { batcher, worker, allowed, begun, batches, ends }
    }

    /// Starts a queue with a first request in progress, so that all others wait.
    async fn busy(verdict: fn(&[usize]) -> Result<(), Error>) -> (Self, Asking<usize>) {
        let held = Self::start(verdict);
        let mut first = held.submit(usize::MAX);
        assert!(is_waiting(&mut first));
        held.begun.acquire().await.unwrap().forget();
        (held, first)
    }

    /// Submits a request with a key of its own.
    fn submit(&self, request: usize) -> Asking<usize> {
        self.submit_at(PLACE, request)
    }

    fn submit_at(&self, place: Placement, request: usize) -> Asking<usize> {
        let batcher = self.batcher.clone();
        Box::pin(async move { batcher.submit(place, request).await })
    }

    /// Submits requests, all of which wait.
    fn queue(&self, requests: impl IntoIterator<Item = usize>) -> Vec<Asking<usize>> {
        let mut asking: Vec<_> = requests.into_iter().map(|n| self.submit(n)).collect();
        assert!(asking.iter_mut().all(is_waiting));
        asking
    }

    /// Lets the worker handle everything from now on.
    fn release(&self) {
        self.allowed.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    fn batches(&self) -> Vec<Vec<usize>> {
        self.batches.lock().unwrap().clone()
    }

    fn ends(&self) -> Vec<Result<(), Error>> {
        self.ends.lock().unwrap().clone()
    }
}

/// Polls once, and returns whether there is no result yet.
fn is_waiting<A>(asking: &mut Asking<A>) -> bool {
    step(asking).is_pending()
}

/// Polls once, and returns whether the request was refused.
fn is_refused<A>(mut asking: Asking<A>) -> bool {
    matches!(step(&mut asking), Poll::Ready(Err(Error::Overloaded)))
}

fn step<A>(asking: &mut Asking<A>) -> Poll<Result<A, Error>> {
    asking.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

async fn answers<A>(asking: Vec<Asking<A>>) -> Vec<Result<A, Error>> {
    let mut answers = Vec::new();
    for one in asking {
        answers.push(one.await);
    }
    answers
}

#[tokio::test]
async fn a_request_beyond_the_limit_is_refused_immediately() {
    let (held, first) = Held::busy(|_| Ok(())).await;
    let waiting = held.queue(0..MAX_WAITING);
    for _ in 0..3 {
        assert!(is_refused(held.submit(MAX_WAITING)));
    }
    held.release();
    assert_eq!(first.await, Ok(usize::MAX));
    let expected: Vec<_> = (0..MAX_WAITING).map(Ok).collect();
    assert_eq!(answers(waiting).await, expected, "each gets its own result");
    let batches = held.batches();
    assert!(batches.iter().all(|batch| batch.len() <= MAX_BATCH));
    assert_eq!(batches.concat().len(), 1 + MAX_WAITING, "refused requests cost nothing");
    assert_eq!(held.submit(7).await, Ok(7), "there is room again");
}

/// Refused requests are not kept: the queue is all the memory that an overload takes.
#[tokio::test]
async fn refused_requests_leave_nothing_behind() {
    let begun = Arc::new(Semaphore::new(0));
    let (silent, note): (_, Note) = (Arc::new(Silent(begun.clone())), Arc::new(|_| {}));
    let (batcher, _worker) = BatchQueue::start("reads", ONE, &Arc::default(), &silent, &note);
    let request = Arc::new(());
    let submit = || -> Asking<()> {
        let (batcher, request) = (batcher.clone(), request.clone());
        Box::pin(async move { batcher.submit(PLACE, request).await })
    };
    let mut first = submit();
    assert!(is_waiting(&mut first));
    begun.acquire().await.unwrap().forget();
    let mut waiting: Vec<_> = (0..MAX_WAITING).map(|_| submit()).collect();
    assert!(waiting.iter_mut().all(is_waiting));
    let full = Arc::strong_count(&request);
    for _ in 0..MAX_WAITING {
        assert!(is_refused(submit()));
    }
    assert_eq!(Arc::strong_count(&request), full);
}

#[tokio::test]
async fn waiting_requests_share_a_batch_and_a_single_one_runs_immediately() {
    let (held, first) = Held::busy(|_| Ok(())).await;
    let waiting = held.queue(0..5);
    held.release();
    first.await.unwrap();
    answers(waiting).await;
    assert_eq!(held.submit(9).await, Ok(9));
    assert_eq!(held.batches(), [vec![usize::MAX], vec![0, 1, 2, 3, 4], vec![9]]);
}

#[tokio::test]
async fn a_request_that_fails_does_not_fail_others() {
    let bad = |batch: &[usize]| if batch.contains(&2) { Err(Error::Internal) } else { Ok(()) };
    let (held, first) = Held::busy(bad).await;
    let waiting = held.queue(0..5);
    held.release();
    first.await.unwrap();
    assert_eq!(answers(waiting).await, [Ok(0), Ok(1), Err(Error::Internal), Ok(3), Ok(4)]);
}

/// This includes a batch that timed out and never returns.
#[tokio::test]
async fn the_end_of_each_batch_is_noted() {
    let (held, first) = Held::busy(|_| Ok(())).await;
    assert_eq!(first.await, Err(Error::Unavailable), "the worker stays blocked");
    assert_eq!(held.ends(), [Err(Error::Unavailable)]);
    held.release();
    assert_eq!(held.submit(1).await, Ok(1));
    assert_eq!(held.ends(), [Err(Error::Unavailable), Ok(())]);
}

/// If the database is unavailable, the whole batch fails. Retrying each request would only take
/// longer.
#[tokio::test]
async fn an_unavailable_database_is_tried_once() {
    let away = |batch: &[usize]| if batch.len() > 1 { Err(Error::Unavailable) } else { Ok(()) };
    let (held, first) = Held::busy(away).await;
    let waiting = held.queue(0..5);
    held.release();
    first.await.unwrap();
    assert_eq!(answers(waiting).await, vec![Err(Error::Unavailable); 5]);
    assert_eq!(held.batches().len(), 2);
    assert_eq!(held.submit(7).await, Ok(7), "it is back");
}

#[tokio::test]
async fn requests_of_disconnected_callers_are_dropped() {
    let (held, first) = Held::busy(|_| Ok(())).await;
    let mut waiting = held.queue(0..6);
    waiting.retain({
        let mut n = 0;
        move |_| {
            n += 1;
            n % 2 == 0
        }
    });
    held.release();
    first.await.unwrap();
    assert_eq!(answers(waiting).await, [Ok(1), Ok(3), Ok(5)]);
    // A batch whose callers have all disconnected is not run.
    assert_eq!(held.batches(), [vec![usize::MAX], vec![1, 3, 5]]);
}

#[tokio::test]
async fn disconnected_callers_delay_no_request() {
    let (held, first) = Held::busy(|_| Ok(())).await;
    drop(held.queue(0..MAX_WAITING));
    assert!(
        is_refused(held.submit(MAX_WAITING)),
        "abandoned requests keep their places until the worker takes a batch"
    );
    held.release();
    first.await.unwrap();
    assert_eq!(held.submit(7).await, Ok(7));
    let asked: BTreeSet<usize> = held.batches().concat().into_iter().collect();
    assert_eq!(asked, BTreeSet::from([7, usize::MAX]));
}

#[tokio::test]
async fn a_panic_fails_only_its_batch() {
    let (held, first) = Held::busy(|batch| {
        assert!(!batch.contains(&1), "this request panics");
        Ok(())
    })
    .await;
    let waiting = held.queue(0..3);
    held.release();
    first.await.unwrap();
    assert_eq!(answers(waiting).await, vec![Err(Error::Internal); 3]);
    assert_eq!(held.submit(7).await, Ok(7));
}

/// The worker handles the waiting requests and ends after the queue is dropped.
#[tokio::test]
async fn waiting_requests_are_handled_at_the_end() {
    let (held, first) = Held::busy(|_| Ok(())).await;
    let waiting = held.queue(0..2 * MAX_BATCH);
    held.release();
    let Held { batcher, worker, .. } = held;
    drop(batcher);
    assert!(!worker.is_finished(), "callers may still submit requests");
    first.await.unwrap();
    let expected: Vec<_> = (0..2 * MAX_BATCH).map(Ok).collect();
    assert_eq!(answers(waiting).await, expected);
    worker.await.unwrap();
}

/// A caller with few requests does not wait for the largest batch of a busy one.
#[tokio::test]
async fn a_batch_that_is_shared_is_shorter() {
    let tenant = Some(TenantId::new(Timestamp::now()));
    for other in [Placement { tenant, ..PLACE }, Placement { key: [1; 32], ..PLACE }] {
        a_batch_shared_with(other).await;
    }
}

async fn a_batch_shared_with(other: Placement) {
    let (held, first) = Held::busy(|_| Ok(())).await;
    let mut waiting = held.queue(0..MAX_BATCH);
    waiting.push(held.submit_at(other, 7777));
    assert!(waiting.iter_mut().all(is_waiting));
    held.release();
    first.await.unwrap();
    answers(waiting).await;
    let batches = held.batches();
    assert_eq!((batches[1].len(), batches[1][1]), (2 * MAX_SHARED, 7777), "{batches:?}");
    assert_eq!(batches[2].len(), MAX_BATCH + 1 - 2 * MAX_SHARED, "only one tenant waits again");
}

/// A tenant whose batch does not end has no other, and no other tenant waits for it.
#[tokio::test]
async fn a_tenant_has_one_batch_at_a_time_on_a_sharded_database() {
    let held = Held::start_with(Batches { most: 2, per_tenant: true }, |_| Ok(()));
    let [one, other] = [1, 2].map(|_| Some(TenantId::new(Timestamp::now())));
    let submit = |tenant, n| held.submit_at(Placement { tenant, ..PLACE }, n);
    let mut first = submit(one, 1);
    assert!(is_waiting(&mut first));
    held.begun.acquire().await.unwrap().forget();
    let mut waiting = [(one, 2), (other, 3), (one, 4), (other, 5)].map(|(it, n)| submit(it, n));
    assert!(waiting.iter_mut().all(is_waiting));
    // Another worker takes what it may, while the first batch has not ended.
    held.begun.acquire().await.unwrap().forget();
    assert_eq!(held.batches(), [vec![1], vec![3, 5]]);
    held.release();
    first.await.unwrap();
    answers(waiting.into()).await;
    assert_eq!(held.batches(), [vec![1], vec![3, 5], vec![2, 4]]);
}

/// A batch of costly requests is small, so that it ends soon.
#[tokio::test]
async fn a_batch_has_a_maximum_cost() {
    let (held, first) = Held::busy(|_| Ok(())).await;
    let cost = MAX_BATCH_COST / 4;
    let mut waiting: Vec<Asking<usize>> = Vec::new();
    for n in 0..6 {
        waiting.push(held.submit_at(Placement { cost, ..PLACE }, n));
    }
    assert!(waiting.iter_mut().all(is_waiting));
    held.release();
    first.await.unwrap();
    answers(waiting).await;
    assert_eq!(held.batches(), [vec![usize::MAX], vec![0, 1, 2, 3], vec![4, 5]]);
}

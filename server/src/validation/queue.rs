//! Natural batching: requests queue, and one worker takes all that wait, answers them together, and
//! then takes what has come in meanwhile. There is no timer: a request that comes alone runs at once
//! and alone; the more come, the more share one transaction.

use common::{Timestamp, Validation};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Duration, timeout};

use super::batch::{self, Answer, Ask, UnknownProduct};
use crate::db::Db;
use crate::error::Error;

/// How many requests may wait. More are refused at once: they would only wait in vain.
const QUEUE: usize = 4096;
/// How many requests share a transaction at most, so that its JSON and its locks stay small.
const BATCH: usize = 256;
/// How long a batch may take before its requests are told that the database is away.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a batch starts over because another node came in between.
const ATTEMPTS: usize = 10;

type Reply = oneshot::Sender<Result<Answer, Error>>;

/// The queue's open end. Cloning it is cheap.
#[derive(Clone)]
pub struct Validator(mpsc::Sender<(Ask, Reply)>);

impl Validator {
    /// Starts the worker. It ends when the last clone is gone and the queue is empty.
    pub fn start(db: Db) -> (Self, JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self(sender), tokio::spawn(work(db, receiver)))
    }

    /// Is this user licensed?
    pub async fn validate(&self, ask: Ask) -> Result<Validation, Error> {
        let (reply, answer) = oneshot::channel();
        self.0.try_send((ask, reply)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Error::Overloaded,
            mpsc::error::TrySendError::Closed(_) => Error::Internal,
        })?;
        let answer = answer.await.map_err(|_| Error::Internal)??;
        answer.map_err(|UnknownProduct| Error::unknown("productId", "product"))
    }
}

async fn work(db: Db, mut queue: mpsc::Receiver<(Ask, Reply)>) {
    let mut waiting = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut waiting, BATCH).await > 0 {
        // Whoever has hung up needs no answer.
        let batch = waiting.drain(..).filter(|(_, reply)| !reply.is_closed()).unzip();
        // A task of its own, so that a panic costs this batch and not the worker.
        if let Err(panic) = tokio::spawn(settle(db.clone(), batch)).await {
            tracing::error!(%panic, "a batch of validations broke off");
        }
    }
}

async fn settle(db: Db, (asks, replies): (Vec<Ask>, Vec<Reply>)) {
    let answers = match answer(&db, &asks).await {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        // One request that the database cannot take must not fail its neighbours.
        Err(Error::Internal) => {
            let mut answers = Vec::with_capacity(asks.len());
            for ask in asks.chunks(1) {
                answers.push(answer(&db, ask).await.map(|mut one| one.remove(0)));
            }
            answers
        }
        Err(error) => vec![Err(error); asks.len()],
    };
    for (reply, answer) in replies.into_iter().zip(answers) {
        // Fails only when the caller is gone, and then nobody misses it.
        drop(reply.send(answer));
    }
}

async fn answer(db: &Db, asks: &[Ask]) -> Result<Vec<Answer>, Error> {
    if asks.is_empty() {
        return Ok(Vec::new());
    }
    for _ in 0..ATTEMPTS {
        let attempt = batch::answer(db, asks, Timestamp::now());
        match timeout(PATIENCE, attempt).await {
            Ok(Ok(Some(answers))) => return Ok(answers),
            Ok(Ok(None)) => {}
            Ok(Err(error)) if crate::error::is_collision(&error) => {}
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(Error::Unavailable),
        }
    }
    Err(Error::Unavailable)
}

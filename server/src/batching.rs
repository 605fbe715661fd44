//! Natural batching: questions queue, and one worker takes all that wait, answers them together,
//! and then takes what has come in meanwhile. There is no timer: a question that comes alone is
//! answered at once and alone; the more come, the more share the cost.

use std::future::Future;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Duration, timeout};

use crate::error::Error;

/// How many questions may wait. More are refused at once: they would only wait in vain.
const QUEUE: usize = 4096;
/// How many questions are answered together at most.
const BATCH: usize = 256;
/// How long a batch may take before its callers are told that the database is away.
const PATIENCE: Duration = Duration::from_secs(5);

type Waiting<Q, A> = (Q, oneshot::Sender<Result<A, Error>>);

/// The queue's open end.
pub struct Batcher<Q, A>(mpsc::Sender<Waiting<Q, A>>);

impl<Q, A> Clone for Batcher<Q, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Batcher<Q, A> {
    /// Starts the worker, which answers each batch with `answer`: one answer for each question, in
    /// their order. It ends when the last clone is gone and the queue is empty.
    pub fn start<F, R>(answer: F) -> (Self, JoinHandle<()>)
    where
        F: Fn(Vec<Q>) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<Vec<A>, Error>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self(sender), tokio::spawn(work(receiver, answer)))
    }

    pub async fn ask(&self, question: Q) -> Result<A, Error> {
        let (reply, answer) = oneshot::channel();
        self.0.try_send((question, reply)).map_err(|error| match error {
            TrySendError::Full(_) => Error::Overloaded,
            TrySendError::Closed(_) => Error::Internal,
        })?;
        answer.await.map_err(|_| Error::Internal)?
    }
}

async fn work<Q, A, F, R>(mut queue: mpsc::Receiver<Waiting<Q, A>>, answer: F)
where
    Q: Clone + Send + 'static,
    A: Send + 'static,
    F: Fn(Vec<Q>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Vec<A>, Error>> + Send + 'static,
{
    let mut waiting = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut waiting, BATCH).await > 0 {
        // Whoever has hung up needs no answer.
        let batch = waiting.drain(..).filter(|(_, reply)| !reply.is_closed()).unzip();
        // A task of its own, so that a panic costs this batch and not the worker.
        if let Err(panic) = tokio::spawn(settle(batch, answer.clone())).await {
            tracing::error!(%panic, "a batch broke off");
        }
    }
}

async fn settle<Q, A, F, R>(
    (questions, replies): (Vec<Q>, Vec<oneshot::Sender<Result<A, Error>>>),
    answer: F,
) where
    Q: Clone,
    F: Fn(Vec<Q>) -> R,
    R: Future<Output = Result<Vec<A>, Error>>,
{
    if questions.is_empty() {
        return;
    }
    let in_time =
        async |batch| timeout(PATIENCE, answer(batch)).await.unwrap_or(Err(Error::Unavailable));
    match in_time(questions.clone()).await {
        Ok(answers) => {
            for (reply, answer) in replies.into_iter().zip(answers) {
                // Fails only when the caller is gone, and then nobody misses it.
                drop(reply.send(Ok(answer)));
            }
        }
        // One question that the database cannot take must not fail its neighbours.
        Err(Error::Internal) if questions.len() > 1 => {
            for (reply, question) in replies.into_iter().zip(questions) {
                let alone = in_time(vec![question]).await;
                drop(reply.send(alone.and_then(|mut one| one.pop().ok_or(Error::Internal))));
            }
        }
        Err(error) => {
            for reply in replies {
                drop(reply.send(Err(error.clone())));
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! A semaphore whose waiters are served lane by lane, and of whom only so many may wait.

use std::hash::Hash;
use std::sync::Arc;

use common::TenantId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Lanes;
use crate::error::Error;

/// How many may wait for their turn.
const MAX_WAITING: usize = 4096;

/// Lets a bounded number in at once, lane by lane, which are mostly tenants, and in each lane queue
/// by queue. Clones share the turns.
pub struct Turns<K: Copy + Eq + Hash = TenantId, Q: Copy + Eq + Hash = ()>(Arc<Mutex<State<K, Q>>>);

struct State<K: Copy + Eq + Hash, Q: Copy + Eq + Hash> {
    at_once: usize,
    free: usize,
    waiting: Lanes<K, Q, oneshot::Sender<Turn<K, Q>>>,
}

impl<K: Copy + Eq + Hash, Q: Copy + Eq + Hash> Clone for Turns<K, Q> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl Turns {
    /// Waits until it is the tenant's turn, as [`take_in`](Self::take_in) does.
    pub async fn take(&self, tenant: TenantId) -> Result<Turn, Error> {
        self.take_in(tenant, ()).await
    }
}

impl<K: Copy + Eq + Hash, Q: Copy + Eq + Hash> Turns<K, Q> {
    pub fn new(at_once: usize) -> Self {
        let waiting = Lanes::new(MAX_WAITING);
        Self(Arc::new(Mutex::new(State { at_once, free: at_once, waiting })))
    }

    /// Whether both are clones of one.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// How many have their turn, and how many wait for it.
    pub fn taken_and_awaited(&self) -> (usize, usize) {
        let state = self.0.lock();
        (state.at_once - state.free, state.waiting.len())
    }

    /// Waits for a turn in this lane and queue, as long as the caller cares to.
    /// [`Error::Overloaded`] when so many wait that there is no place for this one.
    pub async fn take_in(&self, lane: K, queue: Q) -> Result<Turn<K, Q>, Error> {
        let (sender, receiver) = oneshot::channel();
        // Dropped behind the lock: a sender that goes wakes its receiver.
        let pushed = {
            let mut state = self.0.lock();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Turn(Some(self.clone())));
            }
            state.waiting.push(lane, queue, sender)
        };
        drop(pushed.map_err(|_| Error::Overloaded)?);
        receiver.await.map_err(|_| Error::Overloaded)
    }

    /// Passes a turn on to the next waiter.
    fn pass_on(&self) {
        loop {
            let mut state = self.0.lock();
            let Some(next) = state.waiting.pop(oneshot::Sender::is_closed) else {
                state.free += 1;
                return;
            };
            drop(state);
            match next.send(Turn(Some(self.clone()))) {
                Ok(()) => return,
                // Not to be passed on by being dropped: this loop does that.
                Err(mut turn) => drop(turn.0.take()),
            }
        }
    }
}

/// A turn, which ends when this is dropped.
pub struct Turn<K: Copy + Eq + Hash = TenantId, Q: Copy + Eq + Hash = ()>(Option<Turns<K, Q>>);

impl<K: Copy + Eq + Hash, Q: Copy + Eq + Hash> Drop for Turn<K, Q> {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use common::Timestamp;

    use super::*;

    fn step<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn tenants_take_turns_and_who_is_gone_is_passed_over() {
        let turns = Turns::new(1);
        let [one, other] = [(); 2].map(|()| TenantId::new(Timestamp::now()));
        let Poll::Ready(Ok(first)) = step(pin!(turns.take(one))) else { panic!("it is free") };
        let mut second = pin!(turns.take(one));
        let mut third = pin!(turns.take(one));
        let mut others = pin!(turns.take(other));
        assert!(step(second.as_mut()).is_pending());
        {
            let mut gone = pin!(turns.take(other));
            assert!(step(gone.as_mut()).is_pending());
        }
        assert!(step(third.as_mut()).is_pending());
        assert!(step(others.as_mut()).is_pending());
        drop(first);
        let Poll::Ready(Ok(turn)) = step(second.as_mut()) else { panic!("it came first") };
        assert!(step(third.as_mut()).is_pending());
        drop(turn);
        let Poll::Ready(Ok(turn)) = step(others.as_mut()) else { panic!("the other's turn") };
        assert!(step(third.as_mut()).is_pending());
        drop(turn);
        assert!(matches!(step(third.as_mut()), Poll::Ready(Ok(_))));
    }

    #[test]
    fn who_waits_beyond_the_bound_is_turned_away() {
        let turns = Turns::new(1);
        let tenant = TenantId::new(Timestamp::now());
        let held = step(pin!(turns.take(tenant)));
        let mut waiting: Vec<_> = (0..MAX_WAITING).map(|_| Box::pin(turns.take(tenant))).collect();
        assert!(waiting.iter_mut().all(|waiting| step(waiting.as_mut()).is_pending()));
        assert!(matches!(step(pin!(turns.take(tenant))), Poll::Ready(Err(Error::Overloaded))));
        drop(held);
        assert!(matches!(step(waiting[0].as_mut()), Poll::Ready(Ok(_))));
    }
}

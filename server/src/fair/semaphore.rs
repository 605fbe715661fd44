//! A semaphore with fair waiting: its waiters are served round-robin by lane, and their number is
//! limited.

use std::hash::Hash;
use std::sync::Arc;

use common::TenantId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::FairQueue;
use crate::error::Error;

/// Maximum number of waiters of a semaphore.
const MAX_WAITING: usize = 4096;

/// A semaphore whose waiters are served as [`FairQueue`] does. Lanes are usually tenants. Clones
/// share the permits.
pub struct FairSemaphore<K: Copy + Eq + Hash = TenantId, Q: Copy + Eq + Hash = ()>(
    Arc<Mutex<SemaphoreState<K, Q>>>,
);

struct SemaphoreState<K: Copy + Eq + Hash, Q: Copy + Eq + Hash> {
    permits: usize,
    free: usize,
    waiting: FairQueue<K, Q, oneshot::Sender<Permit<K, Q>>>,
}

impl<K: Copy + Eq + Hash, Q: Copy + Eq + Hash> Clone for FairSemaphore<K, Q> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl FairSemaphore {
    /// Waits for a permit in the tenant's lane, as [`acquire`](Self::acquire) does.
    pub async fn acquire_for(&self, tenant: TenantId) -> Result<Permit, Error> {
        self.acquire(tenant, ()).await
    }
}

impl<K: Copy + Eq + Hash, Q: Copy + Eq + Hash> FairSemaphore<K, Q> {
    pub fn new(permits: usize) -> Self {
        let waiting = FairQueue::new(MAX_WAITING);
        Self(Arc::new(Mutex::new(SemaphoreState { permits, free: permits, waiting })))
    }

    /// Whether both are clones of one.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the numbers of permits that are held and of waiters.
    pub fn held_and_waiting(&self) -> (usize, usize) {
        let state = self.0.lock();
        (state.permits - state.free, state.waiting.len())
    }

    /// Waits for a permit in this lane and queue. Fails with [`Error::Overloaded`] if
    /// [`MAX_WAITING`] others wait and none of them has to make room.
    pub async fn acquire(&self, lane: K, queue: Q) -> Result<Permit<K, Q>, Error> {
        let (sender, receiver) = oneshot::channel();
        // Dropped after the lock is released, because dropping a sender wakes its receiver.
        let pushed = {
            let mut state = self.0.lock();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Permit(Some(self.clone())));
            }
            state.waiting.push(lane, queue, sender)
        };
        drop(pushed.map_err(|_| Error::Overloaded)?);
        receiver.await.map_err(|_| Error::Overloaded)
    }

    /// Gives a permit to the next waiter, or back to the semaphore.
    fn release(&self) {
        loop {
            let mut state = self.0.lock();
            let Some(next) = state.waiting.pop(oneshot::Sender::is_closed) else {
                state.free += 1;
                return;
            };
            drop(state);
            match next.send(Permit(Some(self.clone()))) {
                Ok(()) => return,
                // Emptied, so that dropping it does not release it too: this loop does.
                Err(mut permit) => drop(permit.0.take()),
            }
        }
    }
}

/// A permit, which is released when it is dropped.
pub struct Permit<K: Copy + Eq + Hash = TenantId, Q: Copy + Eq + Hash = ()>(
    Option<FairSemaphore<K, Q>>,
);

impl<K: Copy + Eq + Hash, Q: Copy + Eq + Hash> Drop for Permit<K, Q> {
    fn drop(&mut self) {
        if let Some(semaphore) = self.0.take() {
            semaphore.release();
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
    fn tenants_are_served_in_turn_and_dropped_waiters_are_skipped() {
        let semaphore = FairSemaphore::new(1);
        let [one, other] = [(); 2].map(|()| TenantId::new(Timestamp::now()));
        let Poll::Ready(Ok(first)) = step(pin!(semaphore.acquire_for(one))) else {
            panic!("it is free")
        };
        let mut second = pin!(semaphore.acquire_for(one));
        let mut third = pin!(semaphore.acquire_for(one));
        let mut others = pin!(semaphore.acquire_for(other));
        assert!(step(second.as_mut()).is_pending());
        {
            let mut gone = pin!(semaphore.acquire_for(other));
            assert!(step(gone.as_mut()).is_pending());
        }
        assert!(step(third.as_mut()).is_pending());
        assert!(step(others.as_mut()).is_pending());
        drop(first);
        let Poll::Ready(Ok(permit)) = step(second.as_mut()) else { panic!("it came first") };
        assert!(step(third.as_mut()).is_pending());
        drop(permit);
        let Poll::Ready(Ok(permit)) = step(others.as_mut()) else {
            panic!("the other tenant is next")
        };
        assert!(step(third.as_mut()).is_pending());
        drop(permit);
        assert!(matches!(step(third.as_mut()), Poll::Ready(Ok(_))));
    }

    #[test]
    fn a_waiter_beyond_the_limit_is_refused() {
        let semaphore = FairSemaphore::new(1);
        let tenant = TenantId::new(Timestamp::now());
        let held = step(pin!(semaphore.acquire_for(tenant)));
        let mut waiting: Vec<_> =
            (0..MAX_WAITING).map(|_| Box::pin(semaphore.acquire_for(tenant))).collect();
        assert!(waiting.iter_mut().all(|waiting| step(waiting.as_mut()).is_pending()));
        assert!(matches!(
            step(pin!(semaphore.acquire_for(tenant))),
            Poll::Ready(Err(Error::Overloaded))
        ));
        drop(held);
        assert!(matches!(step(waiting[0].as_mut()), Poll::Ready(Ok(_))));
    }
}

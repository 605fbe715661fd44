//! The connections that make room for others, in their order: first those that never had a request,
//! then those kept alive, then those whose client does not read its answer, and of each kind the
//! longest idle.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures_util::future::AbortHandle;
use parking_lot::Mutex;
use tokio::time::Instant;

/// A connection idle for less is not ended to make room: its request may be on its way.
pub const EVICTION_GRACE: Duration = Duration::from_millis(100);
/// A client that has taken nothing for less may only be far away.
const STALL_GRACE: Duration = Duration::from_millis(500);
/// The bit of a place that puts it after all connections that never had a request.
const HAD_REQUEST: u64 = 1 << 63;
/// The bits that put it after all that are idle.
const STALLED: u64 = HAD_REQUEST | 1 << 62;

#[derive(Default)]
pub struct IdleConnections(Mutex<Places>);

#[derive(Default)]
struct Places {
    /// Number of places that were ever given out.
    taken: u64,
    by_order: BTreeMap<u64, IdlePlace>,
}

struct IdlePlace {
    since: Instant,
    is_talking: bool,
    task: AbortHandle,
}

impl Places {
    /// Puts a connection after all of its kind. Returns its order.
    fn push(&mut self, kind: u64, is_talking: bool, task: &AbortHandle) -> u64 {
        self.taken += 1;
        let order = kind | self.taken;
        let place = IdlePlace { since: Instant::now(), is_talking, task: task.clone() };
        self.by_order.insert(order, place);
        order
    }
}

impl IdleConnections {
    /// Ends the first connection that has been idle, or has not been read, for long enough.
    pub fn make_room(&self, now: Instant) {
        let mut places = self.0.lock();
        let by_order = &places.by_order;
        let firsts = [by_order.range(..STALLED).next(), by_order.range(STALLED..).next()];
        let may_be_ended = |(order, place): &(&u64, &IdlePlace)| {
            place.since + if **order < STALLED { EVICTION_GRACE } else { STALL_GRACE } <= now
        };
        let first = firsts.into_iter().flatten().find(may_be_ended).map(|(order, _)| *order);
        if let Some(place) = first.and_then(|order| places.by_order.remove(&order)) {
            place.task.abort();
        }
    }

    /// Ends all that are idle, or only those on which the client is not in the middle of something.
    pub fn end_all(&self, spare_talking: bool) {
        self.0.lock().by_order.retain(|order, place| {
            let stays = *order >= STALLED || spare_talking && place.is_talking;
            if !stays {
                place.task.abort();
            }
            stays
        });
    }
}

/// A connection, as its stream and its requests see it, all of them in one task. The only lock is
/// taken when a request begins, and when its answer has been sent.
pub struct TrackedConnection {
    /// A proxy, if there is one.
    pub peer: SocketAddr,
    pub opened: Instant,
    idle: Arc<IdleConnections>,
    task: AbortHandle,
    /// Place of the connection among those that are idle, or 0.
    place: AtomicU64,
    /// Place of the connection among those whose client does not read, or 0.
    stalled: AtomicU64,
    is_handling: AtomicBool,
}

impl TrackedConnection {
    /// A connection without a request. `task` ends it.
    pub fn new(idle: Arc<IdleConnections>, peer: SocketAddr, task: AbortHandle) -> Self {
        let (place, stalled) = (AtomicU64::new(0), AtomicU64::new(0));
        let (opened, is_handling) = (Instant::now(), AtomicBool::new(false));
        let connection = Self { peer, opened, idle, task, place, stalled, is_handling };
        connection.take_place(0, false);
        connection
    }

    pub fn is_idle(&self) -> bool {
        self.place.load(Relaxed) != 0
    }

    /// Whether the last answer is complete, and perhaps not sent.
    pub fn is_answered(&self) -> bool {
        !self.is_idle() && !self.is_handling.load(Relaxed)
    }

    /// The answer has been sent: the connection is kept for the next request.
    pub fn keep(&self) {
        self.take_place(HAD_REQUEST, false);
    }

    /// The client is sending a head, or receives the reason why the connection ends.
    pub fn talk(&self) {
        self.take_place(0, true);
    }

    /// The client does not take what it is sent.
    pub fn stall(&self) {
        if self.stalled.load(Relaxed) == 0 {
            let order = self.idle.0.lock().push(STALLED, false, &self.task);
            self.stalled.store(order, Relaxed);
        }
    }

    /// The client has read something.
    pub fn resume(&self) {
        let place = self.stalled.swap(0, Relaxed);
        if place != 0 {
            self.idle.0.lock().by_order.remove(&place);
        }
    }

    fn take_place(&self, kind: u64, is_talking: bool) {
        let mut places = self.idle.0.lock();
        let before = self.place.load(Relaxed);
        if before != 0 && places.by_order.remove(&before).is_none() {
            // It was ended a moment ago.
            return;
        }
        self.place.store(places.push(kind, is_talking, &self.task), Relaxed);
    }

    /// Begins a request. None if the connection was ended a moment ago, and its task is about to be
    /// aborted.
    pub fn begin(self: &Arc<Self>) -> Option<RequestGuard> {
        let place = self.place.load(Relaxed);
        if place != 0 {
            self.idle.0.lock().by_order.remove(&place)?;
            self.place.store(0, Relaxed);
        }
        self.is_handling.store(true, Relaxed);
        Some(RequestGuard(self.clone()))
    }
}

impl Drop for TrackedConnection {
    fn drop(&mut self) {
        let mut places = self.idle.0.lock();
        places.by_order.remove(self.place.get_mut());
        places.by_order.remove(self.stalled.get_mut());
    }
}

/// A request is handled for as long as this lives.
pub struct RequestGuard(Arc<TrackedConnection>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.is_handling.store(false, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn connect(idle: &Arc<IdleConnections>) -> Arc<TrackedConnection> {
        let (task, _) = AbortHandle::new_pair();
        Arc::new(TrackedConnection::new(idle.clone(), (Ipv4Addr::LOCALHOST, 1).into(), task))
    }

    /// Handles a request, and keeps the connection.
    fn handle(connection: &Arc<TrackedConnection>) {
        drop(connection.begin().unwrap());
        assert!(connection.is_answered());
        connection.keep();
    }

    #[test]
    fn those_without_a_request_make_room_first_and_then_the_longest_idle() {
        let idle = Arc::<IdleConnections>::default();
        let [first, busy, silent, second] = [(); 4].map(|()| connect(&idle));
        handle(&first);
        handle(&second);
        let request = busy.begin().unwrap();
        idle.make_room(Instant::now());
        let is_ended = |connection: &Arc<TrackedConnection>| connection.task.is_aborted();
        assert!(!is_ended(&silent), "its request may be on its way");
        let later = Instant::now() + EVICTION_GRACE;
        for ended in [&silent, &first, &second] {
            assert!(!is_ended(ended));
            idle.make_room(later);
            assert!(is_ended(ended) && ended.begin().is_none());
        }
        idle.make_room(later);
        idle.end_all(false);
        assert!(!is_ended(&busy));
        drop(request);
        idle.end_all(false);
        assert!(!is_ended(&busy), "the answer is not sent yet");
        busy.keep();
        idle.end_all(true);
        assert!(is_ended(&busy));
    }

    /// A place is left as soon as the client takes something, and the stop does not end it.
    #[test]
    fn those_that_are_not_read_come_last() {
        let idle = Arc::<IdleConnections>::default();
        let [deaf, slow, kept] = [(); 3].map(|()| connect(&idle));
        let requests = [&deaf, &slow].map(|connection| connection.begin().unwrap());
        deaf.stall();
        slow.stall();
        slow.resume();
        handle(&kept);
        let later = Instant::now() + STALL_GRACE;
        idle.end_all(false);
        assert!(kept.task.is_aborted() && !deaf.task.is_aborted());
        idle.make_room(Instant::now());
        assert!(!deaf.task.is_aborted(), "it may only be far away");
        idle.make_room(later);
        idle.make_room(later);
        assert!(deaf.task.is_aborted() && !slow.task.is_aborted());
        drop((requests, deaf, slow, kept));
        assert!(idle.0.lock().by_order.is_empty());
    }

    #[test]
    fn half_a_head_has_a_moment_at_the_stop() {
        let idle = Arc::<IdleConnections>::default();
        let half = connect(&idle);
        half.talk();
        idle.end_all(true);
        assert!(half.begin().is_some());
        half.talk();
        idle.end_all(false);
        half.talk();
        assert!(half.begin().is_none(), "nothing brings it back");
        drop(half);
        assert!(idle.0.lock().by_order.is_empty());
    }
}

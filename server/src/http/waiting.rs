//! Requests that wait for the rest of their bodies: how many there may be, over all connections of
//! a listener, and which of them make room for others.

use std::collections::BTreeMap;
use std::convert::Infallible;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// However many connections there may be.
const MAX: usize = 4096;

/// A bound on the number of requests that wait, in the extensions of each. One more ends the one
/// with the lowest [`Standing`] that has waited longest.
pub struct WaitingBodies {
    max: usize,
    places: Mutex<Places>,
}

struct Places {
    /// Number of places that were ever given out.
    taken: u64,
    /// In the order in which they are ended. A sender that is dropped ends its request.
    open: BTreeMap<Rank, oneshot::Sender<Infallible>>,
}

/// The standing of the request, and the order of arrival.
type Rank = (Standing, u64);

/// Reason why a request waits, in the order in which requests make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// The response is decided, and does not depend on the rest of the body.
    Refused,
    /// The key has not been checked.
    Stranger,
    /// The key is valid.
    Known,
}

/// Completes `work` while the request holds a place, if places are bounded. None if the request had
/// to make room.
pub async fn hold<T>(
    waiting: Option<&WaitingBodies>,
    standing: Standing,
    work: impl Future<Output = T>,
) -> Option<T> {
    let Some(waiting) = waiting else { return Some(work.await) };
    let mut place = waiting.enter(standing);
    tokio::select! {
        biased;
        done = work => Some(done),
        () = place.lost() => None,
    }
}

/// The place of a request, until it is dropped.
struct BodyPlace<'a> {
    waiting: &'a WaitingBodies,
    rank: Rank,
    lost: oneshot::Receiver<Infallible>,
}

impl WaitingBodies {
    /// Creates the limit for a number of connections. At most half of them wait for bodies, so that
    /// the others stay available for complete requests.
    pub fn on(connections: usize) -> Self {
        Self::new((connections / 2).clamp(1, MAX))
    }

    fn new(max: usize) -> Self {
        Self { max, places: Mutex::new(Places { taken: 0, open: BTreeMap::new() }) }
    }

    fn enter(&self, standing: Standing) -> BodyPlace<'_> {
        let (place, lost) = oneshot::channel();
        let mut places = self.places.lock();
        places.taken += 1;
        let rank = (standing, places.taken);
        places.open.insert(rank, place);
        if places.open.len() > self.max {
            places.open.pop_first();
        }
        BodyPlace { waiting: self, rank, lost }
    }
}

impl BodyPlace<'_> {
    /// Completes when the request has to make room.
    async fn lost(&mut self) {
        // Nothing is ever sent.
        let _ = (&mut self.lost).await;
    }
}

impl Drop for BodyPlace<'_> {
    fn drop(&mut self) {
        self.waiting.places.lock().open.remove(&self.rank);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::Standing::{Known, Refused, Stranger};
    use super::*;

    fn is_lost(place: &mut BodyPlace<'_>) -> bool {
        place.lost().now_or_never().is_some()
    }

    #[test]
    fn strangers_make_room_first_and_of_each_kind_the_one_that_has_waited_longest() {
        let waiting = WaitingBodies::new(3);
        let mut known = waiting.enter(Known);
        let mut first = waiting.enter(Stranger);
        let mut second = waiting.enter(Stranger);
        assert!(![&mut known, &mut first, &mut second].into_iter().any(is_lost), "there is room");
        let mut third = waiting.enter(Stranger);
        assert!(is_lost(&mut first) && !is_lost(&mut second));
        let mut other = waiting.enter(Known);
        assert!(is_lost(&mut second) && !is_lost(&mut third) && !is_lost(&mut known));
        let mut refused = waiting.enter(Refused);
        assert!(is_lost(&mut refused) && !is_lost(&mut third), "its response is decided");
        drop(third);
        let mut last = waiting.enter(Known);
        assert!(!is_lost(&mut known), "a place was free");
        assert!(
            is_lost(&mut waiting.enter(Stranger)),
            "a stranger's is ended before all that are known"
        );
        let newest = waiting.enter(Known);
        assert!(is_lost(&mut known) && !is_lost(&mut other) && !is_lost(&mut last));
        drop((known, first, second, other, last, newest));
        assert!(waiting.places.lock().open.is_empty());
    }
}

//! Fair sharing of a scarce resource. Requests wait in lanes, usually one for each tenant, and a lane
//! has queues, such as one for each key. The lanes are served round-robin, and so are the queues of a
//! lane. So a tenant that floods delays only itself, and a key that floods delays mostly itself.

mod semaphore;

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::iter::from_fn;

pub use semaphore::{FairSemaphore, Permit};

/// Waiting items, at most `capacity` in total.
pub struct FairQueue<K, Q, T> {
    lanes: RoundRobin<K, Lane<Q, T>>,
    len: usize,
    capacity: usize,
}

struct Lane<Q, T> {
    queues: RoundRobin<Q, VecDeque<T>>,
    len: usize,
}

impl<K: Copy + Eq + Hash, Q: Copy + Eq + Hash, T> FairQueue<K, Q, T> {
    pub fn new(capacity: usize) -> Self {
        Self { lanes: RoundRobin::new(), len: 0, capacity }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of lanes that have items; if only one has, that of its queues.
    pub fn sharers(&self) -> usize {
        match (self.lanes.order.len(), self.lanes.values.values().next()) {
            (1, Some(lane)) => lane.queues.order.len(),
            (lanes, _) => lanes,
        }
    }

    /// Appends the item to its queue, and returns the item that was displaced, if any. Without room,
    /// the last item of the longest lane is displaced if that lane is longer than the item's own lane
    /// would be. Otherwise the same rule applies to the queues of the item's lane. If neither is
    /// longer, the item is returned as the error.
    pub fn push(&mut self, lane: K, queue: Q, item: T) -> Result<Option<T>, T> {
        let mut displaced = None;
        if self.len >= self.capacity {
            displaced = self.displace_for(lane, queue);
            if displaced.is_none() {
                return Err(item);
            }
        }
        let lane = self.lanes.entry(lane, || Lane { queues: RoundRobin::new(), len: 0 });
        lane.queues.entry(queue, VecDeque::new).push_back(item);
        lane.len += 1;
        self.len += 1;
        Ok(displaced)
    }

    /// Takes the first item of the next queue of the next lane, and drops items that are `gone`.
    pub fn pop(&mut self, gone: impl Fn(&T) -> bool) -> Option<T> {
        self.pop_from(|_| true, gone).map(|(_, item)| item)
    }

    /// Like [`pop`](Self::pop), of the lanes that may be served. Returns the lane as well.
    pub fn pop_from(
        &mut self,
        may_serve: impl Fn(&K) -> bool,
        gone: impl Fn(&T) -> bool,
    ) -> Option<(K, T)> {
        let len = &mut self.len;
        let from_lane = |lane: &mut Lane<Q, T>| {
            let before = lane.len;
            let item = lane.pop(&gone);
            *len -= before - lane.len;
            item
        };
        self.lanes.take(may_serve, from_lane, |lane| lane.len == 0)
    }

    fn displace_for(&mut self, lane: K, queue: Q) -> Option<T> {
        let own = self.lanes.values.get(&lane);
        let own_lane = own.map_or(0, |lane| lane.len);
        let own_queue =
            own.and_then(|lane| lane.queues.values.get(&queue)).map_or(0, VecDeque::len);
        let (longest, len) = self.lanes.longest(|lane| lane.len)?;
        let displaced = if len > own_lane + 1 {
            self.lanes.values.get_mut(&longest)?.displace(0)
        } else {
            self.lanes.values.get_mut(&lane)?.displace(own_queue + 1)
        };
        self.len -= usize::from(displaced.is_some());
        displaced
    }
}

impl<Q: Copy + Eq + Hash, T> Lane<Q, T> {
    fn pop(&mut self, gone: impl Fn(&T) -> bool) -> Option<T> {
        let len = &mut self.len;
        let from_queue = |queue: &mut VecDeque<T>| {
            let before = queue.len();
            let item = from_fn(|| queue.pop_front()).find(|item| !gone(item));
            *len -= before - queue.len();
            item
        };
        self.queues.take(|_| true, from_queue, VecDeque::is_empty).map(|(_, item)| item)
    }

    /// Takes the last item of the longest queue, if that is longer than `len`.
    fn displace(&mut self, len: usize) -> Option<T> {
        let (longest, _) = self.queues.longest(VecDeque::len).filter(|(_, found)| *found > len)?;
        let queue = self.queues.values.get_mut(&longest)?;
        let item = queue.pop_back();
        if queue.is_empty() {
            self.queues.remove(longest);
        }
        self.len -= usize::from(item.is_some());
        item
    }
}

/// Values that are served round-robin. None is empty.
struct RoundRobin<K, V> {
    values: HashMap<K, V>,
    /// Keys of the values in the order of service.
    order: VecDeque<K>,
}

impl<K: Copy + Eq + Hash, V> RoundRobin<K, V> {
    fn new() -> Self {
        Self { values: HashMap::new(), order: VecDeque::new() }
    }

    /// Returns the value of the key, or inserts a new one. The caller adds an item to it.
    fn entry(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        self.values.entry(key).or_insert_with(|| {
            self.order.push_back(key);
            new()
        })
    }

    /// Takes an item from the next value that may be served and has one, and removes values that are
    /// empty then.
    fn take<T>(
        &mut self,
        may_serve: impl Fn(&K) -> bool,
        mut take: impl FnMut(&mut V) -> Option<T>,
        is_empty: impl Fn(&V) -> bool,
    ) -> Option<(K, T)> {
        for _ in 0..self.order.len() {
            let key = self.order.pop_front()?;
            if !may_serve(&key) {
                self.order.push_back(key);
                continue;
            }
            let Some(value) = self.values.get_mut(&key) else { continue };
            let taken = take(value);
            if is_empty(value) {
                self.values.remove(&key);
            } else {
                self.order.push_back(key);
            }
            if let Some(item) = taken {
                return Some((key, item));
            }
        }
        None
    }

    fn longest(&self, len: impl Fn(&V) -> usize) -> Option<(K, usize)> {
        self.values.iter().map(|(key, value)| (*key, len(value))).max_by_key(|(_, len)| *len)
    }

    fn remove(&mut self, key: K) {
        self.values.remove(&key);
        self.order.retain(|other| *other != key);
    }
}

#[cfg(test)]
mod tests;

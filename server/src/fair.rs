//! Fair shares: requests for a scarce resource wait in lanes, mostly one for each tenant, and in each
//! lane in queues, such as one for each key. Lanes are served in turn, and so are the queues of a
//! lane. A tenant that floods delays only itself, and a key that floods mostly so.

mod turns;

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::iter::from_fn;

pub use turns::{Turn, Turns};

/// Waiting items, at most `capacity` in all lanes together.
pub struct Lanes<K, Q, T> {
    lanes: Rotation<K, Lane<Q, T>>,
    len: usize,
    capacity: usize,
}

struct Lane<Q, T> {
    queues: Rotation<Q, VecDeque<T>>,
    len: usize,
}

impl<K: Copy + Eq + Hash, Q: Copy + Eq + Hash, T> Lanes<K, Q, T> {
    pub fn new(capacity: usize) -> Self {
        Self { lanes: Rotation::new(), len: 0, capacity }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many take turns: lanes in which something waits or, if there is one, its queues.
    pub fn in_turn(&self) -> usize {
        match (self.lanes.order.len(), self.lanes.values.values().next()) {
            (1, Some(lane)) => lane.queues.order.len(),
            (lanes, _) => lanes,
        }
    }

    /// Puts the item at the end of its queue. When there is no room, the last item of the longest
    /// lane has to go and is the result, if that lane is longer than the item's own would be; or
    /// else that of the longest queue in its own lane, by the same rule; or else the item comes back
    /// as the error.
    pub fn push(&mut self, lane: K, queue: Q, item: T) -> Result<Option<T>, T> {
        let mut displaced = None;
        if self.len >= self.capacity {
            displaced = self.displace_for(lane, queue);
            if displaced.is_none() {
                return Err(item);
            }
        }
        let lane = self.lanes.entry(lane, || Lane { queues: Rotation::new(), len: 0 });
        lane.queues.entry(queue, VecDeque::new).push_back(item);
        lane.len += 1;
        self.len += 1;
        Ok(displaced)
    }

    /// Takes the first item of the next queue of the next lane, past those that are `gone`.
    pub fn pop(&mut self, gone: impl Fn(&T) -> bool) -> Option<T> {
        let len = &mut self.len;
        let from_lane = |lane: &mut Lane<Q, T>| {
            let before = lane.len;
            let item = lane.pop(&gone);
            *len -= before - lane.len;
            item
        };
        self.lanes.take(from_lane, |lane| lane.len == 0)
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
        self.queues.take(from_queue, VecDeque::is_empty)
    }

    /// Takes the last item of the longest queue, if that is longer than so many.
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

/// Values that take turns, none of which is empty.
struct Rotation<K, V> {
    values: HashMap<K, V>,
    /// Their keys, the next one first.
    order: VecDeque<K>,
}

impl<K: Copy + Eq + Hash, V> Rotation<K, V> {
    fn new() -> Self {
        Self { values: HashMap::new(), order: VecDeque::new() }
    }

    /// The value of the key, to which something is about to be added.
    fn entry(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        self.values.entry(key).or_insert_with(|| {
            self.order.push_back(key);
            new()
        })
    }

    /// Takes something from the next value that has it. What is empty then is removed.
    fn take<T>(
        &mut self,
        mut take: impl FnMut(&mut V) -> Option<T>,
        is_empty: impl Fn(&V) -> bool,
    ) -> Option<T> {
        while let Some(key) = self.order.pop_front() {
            let Some(value) = self.values.get_mut(&key) else { continue };
            let taken = take(value);
            if is_empty(value) {
                self.values.remove(&key);
            } else {
                self.order.push_back(key);
            }
            if taken.is_some() {
                return taken;
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

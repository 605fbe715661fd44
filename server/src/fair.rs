//! Fair shares: requests for a scarce resource wait in lanes, mostly one for each tenant, and the
//! lanes are served in turn. A lane that floods delays only itself.

mod turns;

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

pub use turns::{Turn, Turns};

/// Waiting items, at most `capacity` in all lanes together.
pub struct Lanes<K, T> {
    lanes: HashMap<K, VecDeque<T>>,
    /// The lanes in which something waits, the next one first.
    order: VecDeque<K>,
    len: usize,
    capacity: usize,
}

impl<K: Copy + Eq + Hash, T> Lanes<K, T> {
    pub fn new(capacity: usize) -> Self {
        Self { lanes: HashMap::new(), order: VecDeque::new(), len: 0, capacity }
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts the item at the end of its lane. When there is no room, it comes back as the error if
    /// its lane has its share of the places already; or else the last item of the longest lane has
    /// to go, and is the result.
    pub fn push(&mut self, lane: K, item: T) -> Result<Option<T>, T> {
        let mut displaced = None;
        if self.len >= self.capacity {
            let own = self.lanes.get(&lane).map_or(0, VecDeque::len);
            let lanes = self.lanes.len() + usize::from(own == 0);
            if own >= (self.capacity / lanes).max(1) {
                return Err(item);
            }
            displaced = self.displace();
        }
        let queue = self.lanes.entry(lane).or_default();
        if queue.is_empty() {
            self.order.push_back(lane);
        }
        queue.push_back(item);
        self.len += 1;
        Ok(displaced)
    }

    /// Takes the first item of the next lane, past those that are `gone`.
    pub fn pop(&mut self, gone: impl Fn(&T) -> bool) -> Option<T> {
        while let Some(lane) = self.order.pop_front() {
            let Some(queue) = self.lanes.get_mut(&lane) else { continue };
            let before = queue.len();
            let item = std::iter::from_fn(|| queue.pop_front()).find(|item| !gone(item));
            self.len -= before - queue.len();
            if queue.is_empty() {
                self.lanes.remove(&lane);
            } else {
                self.order.push_back(lane);
            }
            if item.is_some() {
                return item;
            }
        }
        None
    }

    fn displace(&mut self) -> Option<T> {
        let (&longest, queue) = self.lanes.iter_mut().max_by_key(|(_, queue)| queue.len())?;
        let item = queue.pop_back();
        if queue.is_empty() {
            self.lanes.remove(&longest);
            self.order.retain(|lane| *lane != longest);
        }
        self.len -= usize::from(item.is_some());
        item
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn taken(lanes: &mut Lanes<char, u32>) -> Vec<u32> {
        std::iter::from_fn(|| lanes.pop(|_| false)).collect()
    }

    #[test]
    fn lanes_are_served_in_turn() {
        let mut lanes = Lanes::new(10);
        for (lane, item) in [('a', 1), ('a', 2), ('a', 3), ('b', 4), ('c', 5), ('b', 6)] {
            assert_eq!(lanes.push(lane, item), Ok(None));
        }
        assert_eq!(taken(&mut lanes), [1, 4, 5, 2, 6, 3]);
        assert!(lanes.is_empty());
    }

    #[test]
    fn what_is_gone_costs_its_lane_no_turn() {
        let mut lanes = Lanes::new(10);
        for (lane, item) in [('a', 1), ('a', 2), ('b', 3), ('b', 4)] {
            assert_eq!(lanes.push(lane, item), Ok(None));
        }
        let taken: Vec<_> = std::iter::from_fn(|| lanes.pop(|item| *item == 1)).collect();
        assert_eq!(taken, [2, 3, 4]);
        assert!(lanes.is_empty());
    }

    #[test]
    fn a_full_queue_makes_room_for_a_lane_below_its_share() {
        let mut lanes = Lanes::new(4);
        for item in 0..4 {
            assert_eq!(lanes.push('a', item), Ok(None));
        }
        assert_eq!(lanes.push('a', 9), Err(9), "it has all the places");
        assert_eq!(lanes.push('b', 10), Ok(Some(3)), "the longest lane's last");
        assert_eq!(lanes.push('b', 11), Ok(Some(2)));
        assert_eq!(lanes.push('b', 12), Err(12), "half of the places are its share");
        assert_eq!(taken(&mut lanes), [0, 10, 1, 11]);
    }

    proptest! {
        /// Nothing is lost, kept twice, or beyond the capacity, and no lane that keeps to its share
        /// is turned away by others.
        #[test]
        fn every_item_is_served_or_comes_back(
            steps in prop::collection::vec((0u8..5, any::<bool>()), 1..200),
        ) {
            let mut lanes = Lanes::new(8);
            let (mut pushed, mut out) = (0u32, Vec::new());
            for (lane, push) in steps {
                if push {
                    out.extend(lanes.push(lane, pushed).unwrap_or_else(Some));
                    pushed += 1;
                } else {
                    out.extend(lanes.pop(|_| false));
                }
                let waiting = lanes.lanes.values().map(VecDeque::len).sum::<usize>();
                prop_assert_eq!(lanes.len, waiting);
                prop_assert!(waiting <= 8);
                prop_assert_eq!(lanes.order.len(), lanes.lanes.len());
            }
            out.extend(std::iter::from_fn(|| lanes.pop(|_| false)));
            out.sort_unstable();
            prop_assert_eq!(out, (0..pushed).collect::<Vec<_>>());
        }
    }
}

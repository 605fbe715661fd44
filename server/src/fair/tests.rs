//! The order of service, and which items are displaced without room.

use proptest::prelude::*;

use super::*;

/// Takes all items in the order of service.
fn pop_all(lanes: &mut FairQueue<char, char, u32>) -> Vec<u32> {
    from_fn(|| lanes.pop(|_| false)).collect()
}

#[test]
fn lanes_are_served_in_turn() {
    let mut lanes = FairQueue::new(10);
    for (lane, item) in [('a', 1), ('a', 2), ('a', 3), ('b', 4), ('c', 5), ('b', 6)] {
        assert_eq!(lanes.push(lane, 'x', item), Ok(None));
    }
    assert_eq!(pop_all(&mut lanes), [1, 4, 5, 2, 6, 3]);
    assert!(lanes.is_empty());
}

#[test]
fn the_queues_of_a_lane_are_served_in_turn() {
    let mut lanes = FairQueue::new(10);
    for (lane, queue, item) in [
        ('a', 'x', 1),
        ('a', 'x', 2),
        ('a', 'x', 3),
        ('a', 'y', 4),
        ('b', 'z', 5),
        ('b', 'z', 6),
        ('b', 'z', 7),
    ] {
        assert_eq!(lanes.push(lane, queue, item), Ok(None));
    }
    assert_eq!(pop_all(&mut lanes), [1, 5, 4, 6, 2, 7, 3], "two keys get no more than one");
}

#[test]
fn items_that_are_gone_cost_their_lane_nothing() {
    let mut lanes = FairQueue::new(10);
    for (lane, queue, item) in
        [('a', 'x', 1), ('a', 'x', 2), ('a', 'y', 1), ('b', 'x', 3), ('b', 'x', 4)]
    {
        assert_eq!(lanes.push(lane, queue, item), Ok(None));
    }
    let taken: Vec<_> = from_fn(|| lanes.pop(|item| *item == 1)).collect();
    assert_eq!(taken, [2, 3, 4]);
    assert!(lanes.is_empty());
}

#[test]
fn a_full_queue_makes_room_for_a_lane_below_its_share() {
    let mut lanes = FairQueue::new(4);
    for item in 0..4 {
        assert_eq!(lanes.push('a', 'x', item), Ok(None));
    }
    assert_eq!(lanes.push('a', 'x', 9), Err(9), "it has all the places");
    assert_eq!(lanes.push('b', 'x', 10), Ok(Some(3)), "the longest lane's last");
    assert_eq!(lanes.push('b', 'x', 11), Ok(Some(2)));
    assert_eq!(lanes.push('b', 'x', 12), Err(12), "half of the places are its share");
    assert_eq!(pop_all(&mut lanes), [0, 10, 1, 11]);
}

#[test]
fn a_full_lane_makes_room_for_a_queue_below_its_share() {
    let mut lanes = FairQueue::new(4);
    for item in 0..4 {
        assert_eq!(lanes.push('a', 'x', item), Ok(None));
    }
    assert_eq!(lanes.push('a', 'y', 10), Ok(Some(3)), "the longest queue's last");
    assert_eq!(lanes.push('a', 'y', 11), Ok(Some(2)));
    assert_eq!(lanes.push('a', 'y', 12), Err(12), "half of the places are its share");
    let displaced = lanes.push('b', 'x', 20);
    assert!(matches!(displaced, Ok(Some(1 | 11))), "the last of one of them: {displaced:?}");
}

#[test]
fn lanes_with_one_item_each_are_not_displaced() {
    let mut lanes = FairQueue::new(3);
    for (queue, item) in [('x', 1), ('y', 2), ('z', 3)] {
        assert_eq!(lanes.push('a', queue, item), Ok(None));
    }
    assert_eq!(lanes.push('a', 'w', 4), Err(4), "they came first");
    assert_eq!(pop_all(&mut lanes), [1, 2, 3]);
}

proptest! {
    /// No item is lost or duplicated, the capacity holds, and only items of full lanes are returned.
    #[test]
    fn every_item_is_served_or_comes_back(
        steps in prop::collection::vec((0u8..5, 0u8..3, any::<bool>()), 1..200),
    ) {
        let mut lanes = FairQueue::new(8);
        let (mut pushed, mut out) = (0u32, Vec::new());
        for (lane, queue, push) in steps {
            if push {
                match lanes.push(lane, queue, pushed) {
                    Ok(displaced) => out.extend(displaced),
                    Err(refused) => {
                        let own = lanes.lanes.values.get(&lane).map_or(0, |lane| lane.len);
                        prop_assert!((own + 1) * lanes.lanes.values.len().max(1) >= 8);
                        out.push(refused);
                    }
                }
                pushed += 1;
            } else {
                out.extend(lanes.pop(|_| false));
            }
            prop_assert!(lanes.len <= 8);
            prop_assert_eq!(lanes.len, lanes.lanes.values.values().map(|lane| lane.len).sum::<usize>());
            prop_assert_eq!(lanes.lanes.order.len(), lanes.lanes.values.len());
            for lane in lanes.lanes.values.values() {
                let waiting = lane.queues.values.values().map(VecDeque::len);
                prop_assert!(lane.len > 0 && lane.queues.values.values().all(|it| !it.is_empty()));
                prop_assert_eq!(lane.len, waiting.sum::<usize>());
                prop_assert_eq!(lane.queues.order.len(), lane.queues.values.len());
            }
        }
        out.extend(from_fn(|| lanes.pop(|_| false)));
        out.sort_unstable();
        prop_assert_eq!(out, (0..pushed).collect::<Vec<_>>());
    }
}

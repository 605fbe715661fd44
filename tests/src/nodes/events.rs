//! Events in the order of commit: a reader that goes on from the last event that it saw misses none
//! and sees none twice, while both nodes write.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Pair;
use crate::harness::Caller;

/// Number of writers at each node.
const WRITERS: usize = 12;
/// Number of rounds that each of them writes.
const ROUNDS: usize = 12;

/// Creates products, users and assignments, takes seats and frees them.
async fn write(caller: Caller, license: String, writer: usize) {
    for round in 0..ROUNDS {
        let user = format!("user-{}-{round}", writer % 8);
        caller.product(&user).await;
        assert!(caller.assign(&license, &user).await.status < 300);
        assert_eq!(caller.validate(&format!("{user}-new")).await.status, 200);
        assert_eq!(caller.validate(&user).await.status, 200);
        assert!(matches!(caller.unassign(&license, &user).await.status, 200 | 404));
    }
}

/// Reads on until the writers have ended and nothing more comes. Each event must be the next one.
async fn follow(caller: Caller, ended: watch::Receiver<bool>) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    loop {
        let is_over = *ended.borrow();
        let more = caller.get(&format!("/api/v1/admin/events?after={}", events.len())).await;
        for event in more.list() {
            assert_eq!(event["sequence"], events.len() as i64 + 1, "missed or seen twice");
            events.push(event.clone());
        }
        if is_over && more.list().is_empty() {
            return events;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_event_is_missed_or_seen_twice_while_two_nodes_write() {
    let pair = Pair::start().await;
    let [here, there] = &pair.callers;
    let license = here.license(json!({ "maxSeats": 5 })).await;
    let (end, ended) = watch::channel(false);
    let readers = [here, there].map(|caller| tokio::spawn(follow(caller.clone(), ended.clone())));
    let writers = (0..2 * WRITERS).map(|n| {
        let caller = if n % 2 == 0 { here } else { there };
        write(caller.clone(), license.clone(), n)
    });
    join_all(writers).await;
    end.send(true).unwrap();
    let mut seen = Vec::new();
    for reader in readers {
        seen.push(reader.await.unwrap());
    }
    assert_eq!(seen[0], seen[1], "both nodes show the same");

    let count = |kind: &str| seen[0].iter().filter(|event| event["type"] == kind).count();
    assert_eq!(count("product.created"), 1 + 2 * WRITERS * ROUNDS);
    let users = here.get("/api/v1/admin/users").await;
    assert_eq!(count("user.created"), users.list().len());
    let held = here.usage(&license).await["activeSeats"].as_u64().unwrap() as usize;
    assert_eq!(count("seat.taken"), count("seat.freed") + held);
    assert_eq!(count("license.assigned"), count("license.unassigned"));
    pair.end().await;
}

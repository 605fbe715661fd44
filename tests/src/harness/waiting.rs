//! Waits for what nothing announces: looks at intervals, within a bound.

use std::time::Duration;

use common::Timestamp;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// The time between two looks.
const INTERVAL: Duration = Duration::from_millis(5);
/// The time in which a condition comes true on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until `is_so`, or fails the test.
pub async fn until(what: &str, is_so: impl AsyncFnMut() -> bool) {
    until_within(WAIT_TIMEOUT, what, is_so).await;
}

/// Waits with another timeout.
pub async fn until_within(bound: Duration, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    find_within(bound, what, async || is_so().await.then_some(())).await;
}

/// Waits until `look` finds something, or fails the test.
pub async fn find<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    find_within(WAIT_TIMEOUT, what, look).await
}

async fn find_within<T>(
    bound: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let looking = async {
        let mut looks = interval(INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    timeout(bound, looking).await.unwrap_or_else(|_| panic!("timed out waiting for: {what}"))
}

/// Waits until the clock has passed a time that licd answered: a clock that has not moved on would
/// hide a change of `updatedAt`.
pub async fn clock_passes(time: &str) {
    let time: Timestamp = time.parse().unwrap();
    until("the clock moves on", async || Timestamp::now() > time).await;
}

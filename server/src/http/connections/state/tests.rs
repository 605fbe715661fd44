//! Connections in time that is made up.

use super::*;

const LIMITS: ConnectionLimits = ConnectionLimits {
    max_connections: None,
    head_timeout: Duration::from_secs(10),
    idle_timeout: Duration::from_secs(75),
    write_timeout: Duration::from_secs(20),
};

/// The state after `seconds` in which nothing happens.
fn after(state: &ConnectionState, seconds: u64) -> Option<Overdue> {
    state.end_if_overdue(&LIMITS, now() + seconds * 1000)
}

fn idle() -> ConnectionState {
    let state = ConnectionState::new();
    state.received();
    assert!(state.begin());
    state.answered();
    state.flushed();
    state
}

#[test]
fn a_head_and_an_idle_connection_have_their_time() {
    let state = ConnectionState::new();
    assert_eq!(after(&state, 9), None);
    assert_eq!(after(&state, 10), Some(Overdue::Head));
    let state = idle();
    assert_eq!(after(&state, 74), None);
    assert_eq!(after(&state, 75), Some(Overdue::Idle));
    let state = idle();
    state.received();
    assert_eq!(after(&state, 10), Some(Overdue::Head));
}

#[test]
fn a_request_is_never_interrupted_and_never_begins_after_the_end() {
    let state = idle();
    assert!(state.begin());
    assert_eq!(after(&state, 1_000_000), None);
    assert!(!state.end_if_waiting(false));
    state.answered();
    assert!(!state.end_if_waiting(false), "the answer is not sent yet");
    state.flushed();
    assert!(state.end_if_waiting(true));
    assert!(!state.begin());
}

#[test]
fn a_reader_must_take_a_little_in_each_period() {
    let state = idle();
    assert!(state.begin());
    state.blocked.kernel_is_full();
    assert_eq!(after(&state, 19), None);
    state.blocked.wrote(64 * 1024);
    assert_eq!(after(&state, 21), None, "it took enough");
    state.blocked.wrote(1000);
    assert_eq!(after(&state, 40), None, "a new period has begun");
    assert_eq!(after(&state, 42), Some(Overdue::Reader));
    let state = idle();
    assert!(state.begin());
    state.blocked.kernel_is_full();
    state.flushed();
    assert_eq!(after(&state, 1000), None, "everything was taken");
}

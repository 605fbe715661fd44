//! The clock of connections: milliseconds in a number that fits into an atomic word.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Milliseconds since the first look at the clock, and 1.
pub fn now() -> u64 {
    millis(START.elapsed()) + 1
}

pub fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}

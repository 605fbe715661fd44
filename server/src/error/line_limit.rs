//! A bound on the log lines that one fault writes for every request that meets it.

use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

/// Maximum burst of lines. After it, one line a second is written.
const BURST: NonZeroU32 = NonZeroU32::new(10).unwrap();

pub struct LineLimit {
    limiter: LazyLock<DefaultDirectRateLimiter>,
    left_out: AtomicU64,
}

impl LineLimit {
    /// A limit that no line has met yet. For a `static`, which a `default` could not initialize.
    #[expect(clippy::new_without_default, reason = "a default is not const")]
    pub const fn new() -> Self {
        Self { limiter: LazyLock::new(new_limiter), left_out: AtomicU64::new(0) }
    }

    /// Runs `write` if a line may be written now, with the number of those left out since the last
    /// one, if there were any.
    pub fn write(&self, write: impl FnOnce(Option<u64>)) {
        if self.limiter.check().is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        write((left_out > 0).then_some(left_out));
    }
}

fn new_limiter() -> DefaultDirectRateLimiter {
    RateLimiter::direct(Quota::per_second(NonZeroU32::MIN).allow_burst(BURST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_lines_is_cut_and_counted() {
        let limit = LineLimit::new();
        let (mut written, mut left_out) = (0, 0);
        for _ in 0..100_000 {
            limit.write(|before| {
                written += 1;
                left_out += before.unwrap_or_default();
            });
        }
        assert!((10..10_000).contains(&written), "{written}");
        assert_eq!(written + left_out + limit.left_out.into_inner(), 100_000);
    }
}

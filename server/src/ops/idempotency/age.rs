//! How old a stored answer is. A wall clock that jumps a day ahead must not make every answer old:
//! the requests would be done again. So ages are judged by two clocks, and the younger age counts.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use common::Timestamp;

/// Answers are kept for a day.
const KEPT: TimeDelta = TimeDelta::days(1);

/// When this process first looked, by the wall clock and by the one that never jumps.
static START: LazyLock<(Timestamp, Instant)> = LazyLock::new(|| (Timestamp::now(), Instant::now()));

/// The time by the wall clock, and by its reading at the start plus what has passed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    earlier: Timestamp,
    later: Timestamp,
}

impl Clocks {
    pub fn now() -> Self {
        let (start, instant) = *START;
        Self::at(start, instant.elapsed(), Timestamp::now())
    }

    fn at(start: Timestamp, passed: Duration, wall: Timestamp) -> Self {
        let steady = start.plus(TimeDelta::from_std(passed).unwrap_or(TimeDelta::MAX));
        Self { earlier: wall.min(steady), later: wall.max(steady) }
    }

    /// The time to store with an answer that is given now.
    pub fn given(self) -> Timestamp {
        self.later
    }

    /// Answers given before this are old.
    pub fn horizon(self) -> Timestamp {
        self.earlier.plus(-KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn noon() -> Timestamp {
        "2027-01-31T12:00:00Z".parse().unwrap()
    }

    /// Whether an answer is old that was given so long after the start, at another such moment; and
    /// by how many hours the wall clock is wrong at both.
    fn is_old(given: (u32, i64), judged: (u32, i64)) -> bool {
        let clocks = |(passed, wrong): (u32, i64)| {
            let wall = noon().plus(TimeDelta::hours(i64::from(passed) + wrong));
            Clocks::at(noon(), HOUR * passed, wall)
        };
        clocks(given).given() < clocks(judged).horizon()
    }

    #[test]
    fn an_answer_is_old_after_a_day() {
        assert!(!is_old((1, 0), (25, 0)));
        assert!(is_old((1, 0), (26, 0)));
    }

    #[test]
    fn a_jump_of_the_clock_makes_no_answer_old() {
        for (given, judged, why) in [
            ((1, 0), (2, 48), "it jumped ahead"),
            ((1, 48), (2, 0), "it jumped back"),
            ((1, -48), (2, 0), "it was behind, and was put right"),
            ((1, -48), (2, 48), "it was behind, and jumped ahead"),
        ] {
            assert!(!is_old(given, judged), "{why}");
        }
    }

    #[test]
    fn a_clock_that_is_wrong_all_the_time_keeps_answers_longer_and_not_for_ever() {
        assert!(is_old((1, -48), (74, -48)));
        assert!(is_old((1, 48), (74, 48)));
    }
}

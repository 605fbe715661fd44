//! How old a stored record is. A wall clock that jumps ahead must not make every record old: answers
//! would be given anew, and what is deleted does not come back with the right time. So ages are
//! judged by several clocks, and the youngest age counts.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use common::Timestamp;

/// How long a jump ahead is doubted at least, and at most twice as long: a clock that was wrong when
/// licd started and was put right then counts some day.
const DOUBT: Duration = Duration::from_secs(24 * 3600);

/// The wall clock, and the one that never jumps, at one moment.
#[derive(Clone, Copy)]
struct Reading {
    wall: Timestamp,
    at: Instant,
}

impl Reading {
    fn now() -> Self {
        Self { wall: Timestamp::now(), at: Instant::now() }
    }

    /// The time of this reading plus what has passed until a later one.
    fn carried_on(self, later: Self) -> Timestamp {
        let passed = later.at.saturating_duration_since(self.at);
        self.wall.plus(TimeDelta::from_std(passed).unwrap_or(TimeDelta::MAX))
    }
}

/// The two readings that are carried on: one of the last day, and the one before it.
struct Readings([Reading; 2]);

static READINGS: LazyLock<Mutex<Readings>> =
    LazyLock::new(|| Mutex::new(Readings([Reading::now(); 2])));

impl Readings {
    fn clocks(&mut self, now: Reading) -> Clocks {
        let [earlier, later] = self.0;
        if now.at.saturating_duration_since(later.at) >= DOUBT {
            self.0 = [later, now];
        }
        let times = [now.wall, earlier.carried_on(now), later.carried_on(now)];
        times.into_iter().fold(Clocks { earliest: now.wall, latest: now.wall }, |clocks, time| {
            Clocks { earliest: clocks.earliest.min(time), latest: clocks.latest.max(time) }
        })
    }
}

/// Between which times it is now, by the wall clock and by its earlier readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// The time by which ages are judged.
    pub earliest: Timestamp,
    /// The time to store with what must not seem older than it is.
    pub latest: Timestamp,
}

impl Clocks {
    pub fn now() -> Self {
        READINGS.lock().unwrap_or_else(PoisonError::into_inner).clocks(Reading::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const DAY: TimeDelta = TimeDelta::days(1);

    fn noon() -> Timestamp {
        "2027-01-31T12:00:00Z".parse().unwrap()
    }

    /// Whether what was written at the hour `written` after the start is more than a day old at the
    /// hour `judged`, where `wrong` is by how many hours the wall clock is ahead at an hour. The
    /// clocks are looked at every hour, as the background tasks do more often.
    fn is_old(written: u32, judged: u32, wrong: impl Fn(u32) -> i64) -> bool {
        let start = Instant::now();
        let reading = |hour: u32| Reading {
            wall: noon().plus(TimeDelta::hours(i64::from(hour) + wrong(hour))),
            at: start + HOUR * hour,
        };
        let mut readings = Readings([reading(0); 2]);
        let clocks: Vec<Clocks> = (0..=judged).map(|hour| readings.clocks(reading(hour))).collect();
        clocks[written as usize].latest < clocks[judged as usize].earliest.plus(-DAY)
    }

    #[test]
    fn a_record_is_old_after_a_day() {
        for written in [0, 1, 40] {
            assert!(!is_old(written, written + 24, |_| 0));
            assert!(is_old(written, written + 25, |_| 0));
        }
    }

    #[test]
    fn a_jump_of_the_clock_makes_no_record_old() {
        let from = |jump: u32, before: i64, after: i64| {
            move |hour| if hour < jump { before } else { after }
        };
        for (before, after, why) in [
            (0, 48, "it jumped ahead"),
            (0, 9600, "it jumped 400 days ahead"),
            (48, 0, "it jumped back"),
            (-48, 0, "it was behind, and was put right"),
            (-48, 48, "it was behind, and jumped ahead"),
        ] {
            for jump in [1, 23, 24, 25, 30, 49] {
                for written in 0..jump {
                    let old = is_old(written, jump.max(written + 1), from(jump, before, after));
                    assert!(!old || jump - written > 24, "{why}, at {jump}, written at {written}");
                    let day_later = is_old(written, written + 24, from(jump, before, after));
                    assert!(!day_later, "{why}, at {jump}, written at {written}");
                }
            }
        }
    }

    #[test]
    fn a_clock_that_is_put_right_counts_after_two_days() {
        let put_right = |hour| if hour < 1 { -500_000 } else { 0 };
        assert!(is_old(1, 50, put_right));
        assert!(!is_old(1, 24, put_right));
    }

    #[test]
    fn a_clock_that_is_wrong_all_the_time_changes_nothing() {
        for wrong in [-48, 48] {
            assert!(!is_old(1, 25, |_| wrong));
            assert!(is_old(1, 26, |_| wrong));
        }
    }
}

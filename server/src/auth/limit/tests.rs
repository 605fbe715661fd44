//! The promises of a bucket, to the nanosecond, with a clock that the tests set.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::{KeyId, Timestamp};
use governor::clock::FakeRelativeClock;
use proptest::prelude::*;

use super::*;

fn limiter(limit: &str) -> (Limiter<FakeRelativeClock>, FakeRelativeClock, KeyId) {
    let clock = FakeRelativeClock::default();
    let limit: RateLimit = limit.parse().unwrap();
    (Limiter::new(limit.quota(), clock.clone()), clock, KeyId::new(Timestamp::now()))
}

fn is_granted<C: Clock>(limiter: &Limiter<C>, key: KeyId) -> bool {
    limiter.check(key).into_result().is_ok()
}

#[test]
fn reads_and_writes_its_settings() {
    for text in ["10000/s", "600/m", "1/s", "1000000/s", "60000000/m", "off"] {
        assert_eq!(text.parse::<RateLimit>().unwrap().to_string(), text);
    }
    for text in
        ["", "0/s", "-1/s", "5", "5/h", "5/", "/s", "1000001/s", "60000001/m", "5000000000/s"]
    {
        assert!(text.parse::<RateLimit>().is_err(), "{text}");
    }
}

#[test]
fn each_key_has_its_own_bucket() {
    let (limiter, clock, one) = limiter("2/m");
    let other = KeyId::new(Timestamp::now());
    let policy = Policy { quota: 2, window: 60 };
    assert_eq!(limiter.check(one), Allowance::Granted { policy, remaining: 1, reset: 30 });
    assert_eq!(limiter.check(one), Allowance::Granted { policy, remaining: 0, reset: 60 });
    assert_eq!(limiter.check(one), Allowance::Refused { policy, wait: 30 });
    clock.advance(Duration::from_millis(29_001));
    assert_eq!(limiter.check(one), Allowance::Refused { policy, wait: 1 });
    assert!(is_granted(&limiter, other));
}

#[test]
fn n_come_at_once_and_then_one_in_each_interval_to_the_nanosecond() {
    for (limit, number, interval) in [("4/s", 4, 250_000_000), ("4/m", 4, 15_000_000_000u64)] {
        let (limiter, clock, key) = limiter(limit);
        // Whatever came before, a pause of one unit fills the bucket.
        for _ in 0..3 {
            assert!((0..number).all(|_| is_granted(&limiter, key)), "{limit}");
            for _ in 0..10 {
                assert!(!is_granted(&limiter, key), "{limit}");
                clock.advance(Duration::from_nanos(interval - 1));
                assert!(!is_granted(&limiter, key), "{limit}: a nanosecond early");
                clock.advance(Duration::from_nanos(1));
                assert!(is_granted(&limiter, key), "{limit}: on the boundary");
            }
            clock.advance(Duration::from_nanos(interval * number));
        }
    }
}

#[test]
fn waiting_as_long_as_a_refusal_says_is_enough() {
    for limit in ["1/s", "3/s", "7/m", "59/m", "10000/s"] {
        let (limiter, clock, key) = limiter(limit);
        for _ in 0..3 {
            let wait = loop {
                if let Allowance::Refused { wait, .. } = limiter.check(key) {
                    break wait;
                }
            };
            clock.advance(Duration::from_secs(wait));
            assert!(is_granted(&limiter, key), "{limit}");
        }
    }
}

#[test]
fn threads_that_ask_at_once_are_granted_exactly_as_many() {
    let (limiter, clock, key) = limiter("50/s");
    for expected in [50, 0, 3] {
        if expected == 3 {
            clock.advance(Duration::from_millis(3 * 20));
        }
        let granted = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let own = (0..100).filter(|_| is_granted(&limiter, key)).count();
                    granted.fetch_add(own, Ordering::Relaxed)
                });
            }
        });
        assert_eq!(granted.into_inner(), expected);
    }
}

#[test]
fn who_asks_no_more_often_than_the_rate_is_never_refused() {
    let (limiter, clock, key) = limiter("10000/s");
    // Even if the bucket is empty.
    assert_eq!((0..20_000).filter(|_| is_granted(&limiter, key)).count(), 10_000);
    for _ in 0..50_000 {
        clock.advance(Duration::from_micros(100));
        assert!(is_granted(&limiter, key));
    }
}

#[test]
fn new_users_may_come_in_a_burst() {
    for (limit, burst) in [("2/s", 200), ("6/m", 10), ("1/m", 1)] {
        let limit: NewUserLimit = limit.parse().unwrap();
        let limiter = Limiter::new(limit.quota(), FakeRelativeClock::default());
        let key = KeyId::new(Timestamp::now());
        let granted = (0..1000).take_while(|_| is_granted(&limiter, key)).count();
        assert_eq!(granted, burst, "{limit}");
    }
}

#[test]
fn what_counts_for_many_is_granted_whole_or_not_at_all() {
    let (limiter, clock, key) = limiter("10/s");
    let granted = |number| {
        let number = NonZeroU32::new(number).unwrap();
        limiter.check_many(key, number).into_result().is_ok()
    };
    assert!(granted(7) && !granted(7) && granted(3) && !granted(1));
    clock.advance(Duration::from_millis(600));
    assert!(!granted(7) && granted(6));
    clock.advance(Duration::from_secs(1));
    assert!(granted(1000), "more than the bucket holds counts as all it holds");
    assert!(!granted(1));
}

proptest! {
    #[test]
    fn any_text_is_a_limit_that_reads_back_or_an_error(text in "\\PC*|[+0-9]{0,12}/?[a-z]?|off") {
        if let Ok(limit) = text.parse::<RateLimit>() {
            prop_assert_eq!(limit.to_string().parse().ok(), Some(limit));
        }
    }

    /// In any window w, however requests come, no more than n + w / interval are allowed, and none
    /// is refused while the bucket is full.
    #[test]
    fn no_window_sees_more_than_was_promised(
        number in 1u64..20,
        pauses in prop::collection::vec(prop_oneof![Just(0), 0u64..400, 0u64..5_000], 1..300),
    ) {
        let (limiter, clock, key) = limiter(&format!("{number}/s"));
        let interval = 1_000_000_000 / number;
        let (mut now, mut granted) = (0u64, Vec::new());
        for pause in pauses {
            clock.advance(Duration::from_millis(pause));
            now += pause * 1_000_000;
            let allowed = |granted: &[u64]| granted.iter().enumerate().all(|(place, since)| {
                let with_this = (granted.len() - place + 1) as u64;
                with_this <= number + (now - since) / interval
            });
            let expected = allowed(&granted);
            prop_assert_eq!(is_granted(&limiter, key), expected, "at {} ns of {:?}", now, granted);
            if expected {
                granted.push(now);
            }
        }
    }
}

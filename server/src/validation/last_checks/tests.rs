//! Pending checks are bounded, never go back in time, and apply to one seat only.

use common::{LicenseId, Timestamp, UserId};

use super::*;

fn seat(now: Timestamp) -> Activation {
    Activation::new(UserId::new(now), LicenseId::new(now), now)
}

fn at(seat: &Activation, time: Timestamp) -> Activation {
    Activation { last_checked_at: time, ..seat.clone() }
}

#[test]
fn a_seat_shows_the_latest_of_stored_and_pending_checks() {
    let (checks, now) = (LastChecks::default(), Timestamp::now());
    let [earlier, later] = [-5, 5].map(|seconds| now.plus(chrono::Duration::seconds(seconds)));
    let (own, other) = (seat(now), seat(now));
    checks.record([(1.into(), &own)].into_iter());
    // A batch that began earlier ends later.
    checks.record([(1.into(), &at(&own, earlier))].into_iter());
    for (stored, shown) in [(earlier, now), (now, now), (later, later)] {
        let mut read = at(&own, stored);
        checks.show(&mut read);
        assert_eq!(read.last_checked_at, shown);
        let mut read = at(&other, stored);
        checks.show(&mut read);
        assert_eq!(read.last_checked_at, stored, "of another user");
        // The user released the seat and took another one.
        let mut read = Activation { id: other.id, ..at(&own, stored) };
        checks.show(&mut read);
        assert_eq!(read.last_checked_at, stored, "of another seat");
    }
}

#[test]
fn checks_beyond_the_limit_are_dropped_and_counted() {
    let (checks, now) = (LastChecks::default(), Timestamp::now());
    let first = seat(now);
    checks.record([(1.into(), &first)].into_iter());
    let others: Vec<_> = (0..MAX_PENDING + 6).map(|_| seat(now)).collect();
    checks.record(others.iter().map(|seat| (1.into(), seat)));
    assert_eq!(checks.unwritten_and_dropped(), (MAX_PENDING, 7));
    let later = now.plus(chrono::Duration::seconds(1));
    checks.record([(1.into(), &at(&first, later))].into_iter());
    assert_eq!(checks.unwritten_and_dropped(), (MAX_PENDING, 7), "a pending check is updated");
    let mut read = first;
    checks.show(&mut read);
    assert_eq!(read.last_checked_at, later);
}

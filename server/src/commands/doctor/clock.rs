//! Compares this machine's clock with another.

use chrono::TimeDelta;
use common::Timestamp;

use super::finding::Finding;

const NOTABLE: TimeDelta = TimeDelta::seconds(1);
const WRONG: TimeDelta = TimeDelta::seconds(10);

/// The database read `time` between two times of this machine. The difference of the clocks is at
/// least its distance from that interval.
pub fn against_server(time: Timestamp, before: Timestamp, after: Timestamp) -> Finding {
    let (ahead, behind) = (before.since(time), time.since(after));
    let (apart, side) = if ahead > behind { (ahead, "ahead of") } else { (behind, "behind") };
    let seconds = apart.as_seconds_f64();
    let detail = format!("this machine is {seconds:.1} s {side} the database");
    let fix = "run NTP on both machines";
    match apart {
        apart if apart > WRONG => Finding::problem("clock", detail).fix(fix),
        apart if apart > NOTABLE => Finding::warning("clock", detail).fix(fix),
        _ => Finding::ok("clock", "this machine and the database agree within 1 s"),
    }
}

/// The time of the newest record, which was created on this machine.
pub fn against_records(newest: Option<Timestamp>, now: Timestamp) -> Finding {
    match newest {
        Some(newest) if newest.since(now) > NOTABLE => {
            let detail = format!("the newest event is from the future: {newest}");
            let fix = "set this machine's clock; if it is right, it was ahead before, and times continue \
                       from there";
            Finding::warning("clock", detail).fix(fix)
        }
        Some(_) => Finding::ok("clock", "no event is from the future"),
        None => Finding::ok("clock", "there are no events yet"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::FindingState;
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + millis).unwrap()
    }

    #[test]
    fn the_way_to_the_server_is_no_difference() {
        for (server, before, after, state) in [
            (0, 0, 0, FindingState::Ok),
            (0, -30_000, 30_000, FindingState::Ok),
            (1_000, 0, 0, FindingState::Ok),
            (1_001, 0, 0, FindingState::Warning),
            (-1_001, 0, 0, FindingState::Warning),
            (10_000, -5_000, 0, FindingState::Warning),
            (10_001, -5_000, 0, FindingState::Problem),
            (-10_001, 0, 5_000, FindingState::Problem),
        ] {
            let found = against_server(at(server), at(before), at(after));
            assert_eq!(found.state, state, "{server} {before} {after}: {found}");
        }
        let behind = against_server(at(20_000), at(0), at(100));
        assert!(behind.detail.contains("19.9 s behind the database"), "{behind}");
        let ahead = against_server(at(-20_000), at(0), at(100));
        assert!(ahead.detail.contains("20.0 s ahead of the database"), "{ahead}");
    }

    #[test]
    fn records_from_the_future_are_noticed() {
        assert_eq!(against_records(None, at(0)).state, FindingState::Ok);
        assert_eq!(against_records(Some(at(1_000)), at(0)).state, FindingState::Ok);
        assert_eq!(against_records(Some(at(1_001)), at(0)).state, FindingState::Warning);
    }
}

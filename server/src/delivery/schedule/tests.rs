//! A receiver's behaviour over hours and days, by a clock that the tests move.

use common::WebhookError;

use super::*;

fn start() -> Timestamp {
    "2027-01-31T12:00:00Z".parse().unwrap()
}

fn delivered() -> Option<Attempt> {
    Some(Attempt::answered(200))
}

fn refused() -> Option<Attempt> {
    Some(Attempt::answered(500))
}

fn unreachable() -> Option<Attempt> {
    Some(Attempt::failed(WebhookError::Connect))
}

fn tried(sequence: i64, subject: &str, attempt: Option<Attempt>) -> Tried {
    Tried { sequence, event: EventId::default(), subject: subject.to_owned(), attempt }
}

fn held(settled: &Settlement) -> Vec<(&str, i64)> {
    settled.held.iter().map(|hold| (hold.subject.as_str(), hold.sequence)).collect()
}

fn page(before: State, page: &[Tried], end: i64, now: Timestamp) -> Settlement {
    settle_page(before, page, end, now, 0.0)
}

#[test]
fn a_page_that_is_taken_moves_the_cursor_past_all_that_need_not_be_sent() {
    let all = [tried(3, "a", delivered()), tried(5, "b", delivered())];
    let settled = page(State { sequence: 1, ..State::default() }, &all, 9, start());
    assert_eq!(settled.state.sequence, 9);
    assert_eq!(settled.state.last_success_at, Some(start()));
    assert!(settled.held.is_empty() && settled.failures.is_empty());
    let nothing = page(settled.state, &[], 20, start());
    assert_eq!(nothing.state, State { sequence: 20, ..settled.state });
}

#[test]
fn a_failure_holds_its_subject_and_what_was_cut_off_is_held_too() {
    let all = [
        tried(1, "a", refused()),
        tried(2, "b", delivered()),
        tried(3, "a", None),
        tried(4, "c", None),
        tried(5, "d", delivered()),
        tried(6, "e", None),
    ];
    let settled = page(State::default(), &all, 9, start());
    assert_eq!(settled.state.sequence, 5, "the last one is read again");
    assert_eq!(held(&settled), [("a", 1), ("c", 4)]);
    assert_eq!(settled.held[0].next_attempt_at, start().plus(STEPS[0]));
    assert_eq!(settled.held[1].next_attempt_at, start(), "it was not tried");
    assert_eq!((settled.held[0].refusals, settled.held[1].refusals), (1, 0));
    assert_eq!(settled.state.failing_since, None);
}

/// Three requests at a step for a day, then at an hour; after five days nothing more.
#[test]
fn a_receiver_that_is_away_is_tried_less_and_less() {
    let (mut state, mut now, mut waits) = (State::default(), start(), Vec::new());
    while state.disabled.is_none() {
        let settled = page(state, &[tried(1, "a", unreachable())], 1, now);
        assert!(settled.held.is_empty() && settled.failures.iter().all(|it| !it.gave_up));
        state = settled.state;
        assert_eq!((state.sequence, state.failing_since), (0, Some(start())));
        let Some(next) = state.next_attempt_at.filter(|_| state.disabled.is_none()) else { break };
        waits.push(next.since(now).num_seconds());
        now = next;
    }
    assert_eq!(state.disabled, Some(DisabledReason::Failed));
    assert!(now.since(start()) >= TimeDelta::days(5));
    assert_eq!(waits[..6], [5, 30, 120, 300, 600, 600]);
    assert_eq!(waits.last(), Some(&3600));
    assert!(waits.len() < 300, "{}", waits.len());
    // It is back: all flows.
    let state = State { disabled: None, ..state };
    let settled = page(state, &[tried(1, "a", delivered())], 1, now);
    let healthy = State {
        sequence: 1,
        last_success_at: Some(now),
        last_status: Some(200),
        ..State::default()
    };
    assert_eq!(settled.state, healthy);
}

/// What answers is up: another event may be one that it takes.
#[test]
fn a_receiver_that_refuses_everything_is_asked_each_minute_and_gives_up_once_a_day() {
    let (mut state, mut now, mut given_up) = (State::default(), start(), Vec::new());
    let mut longest = TimeDelta::zero();
    while state.disabled.is_none() {
        let next = state.sequence + 1;
        let settled = page(state, &[tried(next, "a", refused())], next, now);
        let failures = settled.failures.iter().filter(|it| it.gave_up);
        given_up.extend(failures.map(|it| (it.sequence, now.since(start()).num_hours())));
        state = settled.state;
        let Some(at) = state.next_attempt_at.filter(|_| state.disabled.is_none()) else { break };
        if now.since(start()) < TimeDelta::hours(23) {
            longest = longest.max(at.since(now));
        }
        now = at;
    }
    assert_eq!(longest, TimeDelta::minutes(1));
    assert_eq!(given_up, [(1, 24)]);
    assert_eq!(state.disabled, Some(DisabledReason::Failed));
}

#[test]
fn a_refused_event_alone_is_held_if_the_receiver_was_up_just_now() {
    let lately = |seconds: i64| State {
        last_success_at: Some(start().plus(TimeDelta::seconds(-seconds))),
        ..State::default()
    };
    let alone = [tried(1, "a", refused())];
    let settled = page(lately(30), &alone, 1, start());
    assert_eq!((held(&settled), settled.state.sequence), (vec![("a", 1)], 1));
    assert_eq!(settled.state.failing_since, None);
    assert!(page(lately(90), &alone, 1, start()).state.failing_since.is_some());
    let unreached = page(lately(30), &[tried(1, "a", unreachable())], 1, start());
    assert!(unreached.held.is_empty() && unreached.state.failing_since.is_some());
}

#[test]
fn a_receiver_asks_for_a_pause_or_says_that_it_is_gone() {
    let pause = |seconds| {
        let retry_after = Some(std::time::Duration::from_secs(seconds));
        let mut attempt = Attempt::answered(429);
        attempt.retry_after = retry_after;
        Some(attempt)
    };
    let all = [tried(1, "a", delivered()), tried(2, "b", pause(60))];
    let settled = page(State::default(), &all, 2, start());
    assert_eq!(settled.state.next_attempt_at, Some(start().plus(TimeDelta::seconds(60))));
    assert_eq!(settled.state.failing_since, None, "something was taken");
    let settled = page(State::default(), &[tried(1, "a", pause(1))], 1, start());
    assert_eq!(settled.state.next_attempt_at, Some(start().plus(STEPS[0])), "a step at least");
    let gone = [tried(1, "a", Some(Attempt::answered(410)))];
    assert_eq!(
        page(State::default(), &gone, 1, start()).state.disabled,
        Some(DisabledReason::Gone)
    );
}

fn hold(sequence: i64, refusals: i32) -> Hold {
    Hold {
        subject: "a".to_owned(),
        sequence,
        attempts: refusals,
        refusals,
        since: start(),
        next_attempt_at: start(),
    }
}

fn healthy(now: Timestamp) -> State {
    State { sequence: 9, last_success_at: Some(now), ..State::default() }
}

#[test]
fn a_held_subject_goes_on_in_order_until_it_is_at_the_cursor() {
    let lane = [tried(3, "a", delivered()), tried(7, "a", delivered())];
    let settled = settle_hold(healthy(start()), &hold(3, 1), &lane, None, start(), 0.0);
    assert_eq!(settled.released, ["a"]);
    assert_eq!(settled.delivered, [3, 7]);
    let settled = settle_hold(healthy(start()), &hold(3, 1), &lane, Some(8), start(), 0.0);
    assert_eq!(held(&settled), [("a", 8)]);
    let cut = [tried(3, "a", delivered()), tried(7, "a", None)];
    let settled = settle_hold(healthy(start()), &hold(3, 1), &cut, None, start(), 0.0);
    assert_eq!(held(&settled), [("a", 4)]);
    let untried = [tried(3, "a", None)];
    let settled = settle_hold(healthy(start()), &hold(3, 4), &untried, None, start(), 0.0);
    assert!(settled.held.is_empty() && settled.released.is_empty(), "it stays as it is");
}

#[test]
fn an_event_is_given_up_with_its_fifth_refusal_while_others_get_through() {
    let later = start().plus(TimeDelta::minutes(8));
    let refuse = |before: State, refusals| {
        settle_hold(before, &hold(3, refusals), &[tried(3, "a", refused())], None, later, 0.0)
    };
    let fourth = refuse(healthy(later), 3);
    assert_eq!((held(&fourth), fourth.held[0].refusals), (vec![("a", 3)], 4));
    assert!(!fourth.failures[0].gave_up && fourth.failures[0].number == 4);
    let fifth = refuse(healthy(later), 4);
    assert_eq!((held(&fifth), fifth.failures[0].gave_up), (vec![("a", 4)], true));
    assert_eq!(fifth.state, healthy(later), "a refusal says nothing about the receiver");
    let nobody = refuse(State { last_success_at: Some(start()), ..healthy(later) }, 4);
    assert!(!nobody.failures[0].gave_up, "nothing got through since");
    // What does not come from the event is no refusal, but makes the receiver failing.
    let lane = [tried(3, "a", unreachable())];
    let settled = settle_hold(healthy(later), &hold(3, 4), &lane, None, later, 0.0);
    assert!(!settled.failures[0].gave_up && settled.held[0].refusals == 4);
    assert_eq!(settled.state.failing_since, Some(later));
    let day = start().plus(DAY);
    let settled = settle_hold(healthy(day), &hold(3, 0), &lane, None, day, 0.0);
    assert!(settled.failures[0].gave_up, "after a day");
}

#[test]
fn steps_are_shortened_by_up_to_a_fifth() {
    assert_eq!(shortened(TimeDelta::seconds(100), 0.0), TimeDelta::seconds(100));
    assert_eq!(shortened(TimeDelta::seconds(100), 1.0), TimeDelta::seconds(80));
}

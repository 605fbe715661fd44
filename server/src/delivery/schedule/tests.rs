//! A receiver's behaviour over hours and days, by a clock that the tests move.

use common::WebhookError;

use super::*;

fn start() -> Timestamp {
    "2027-01-31T12:00:00Z".parse().unwrap()
}

fn delivered() -> Option<DeliveryAttempt> {
    Some(DeliveryAttempt::with_status(200))
}

fn refused() -> Option<DeliveryAttempt> {
    Some(DeliveryAttempt::with_status(500))
}

fn unreachable() -> Option<DeliveryAttempt> {
    Some(DeliveryAttempt::failed(WebhookError::Connect))
}

fn result(sequence: i64, subject: &str, attempt: Option<DeliveryAttempt>) -> EventResult {
    EventResult { sequence, event: EventId::default(), subject: subject.to_owned(), attempt }
}

fn blocked(settled: &Settlement) -> Vec<(&str, i64)> {
    settled.blocked.iter().map(|subject| (subject.id.as_str(), subject.sequence)).collect()
}

fn page(before: DeliveryState, page: &[EventResult], end: i64, now: Timestamp) -> Settlement {
    settle_page(before, page, end, now, 0.0)
}

#[test]
fn an_accepted_page_moves_the_cursor_past_events_that_need_not_be_sent() {
    let all = [result(3, "a", delivered()), result(5, "b", delivered())];
    let settled = page(DeliveryState { sequence: 1, ..DeliveryState::default() }, &all, 9, start());
    assert_eq!(settled.state.sequence, 9);
    assert_eq!(settled.state.last_success_at, Some(start()));
    assert!(settled.blocked.is_empty() && settled.failures.is_empty());
    let nothing = page(settled.state, &[], 20, start());
    assert_eq!(nothing.state, DeliveryState { sequence: 20, ..settled.state });
}

#[test]
fn a_failure_blocks_its_subject_and_subjects_that_were_not_sent() {
    let all = [
        result(1, "a", refused()),
        result(2, "b", delivered()),
        result(3, "a", None),
        result(4, "c", None),
        result(5, "d", delivered()),
        result(6, "e", None),
    ];
    let settled = page(DeliveryState::default(), &all, 9, start());
    assert_eq!(settled.state.sequence, 5, "the last one is read again");
    assert_eq!(blocked(&settled), [("a", 1), ("c", 4)]);
    assert_eq!(settled.blocked[0].next_attempt_at, start().plus(STEPS[0]));
    assert_eq!(settled.blocked[1].next_attempt_at, start(), "not sent yet");
    assert_eq!((settled.blocked[0].refusals, settled.blocked[1].refusals), (1, 0));
    assert_eq!(settled.state.failing_since, None);
}

/// Retries have growing delays for a day, then one of an hour. After five days licd disables the
/// webhook.
#[test]
fn retries_to_an_unreachable_receiver_become_rarer() {
    let (mut state, mut now, mut waits) = (DeliveryState::default(), start(), Vec::new());
    while state.disabled.is_none() {
        let settled = page(state, &[result(1, "a", unreachable())], 1, now);
        assert!(settled.blocked.is_empty() && settled.failures.iter().all(|it| !it.gave_up));
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
    // The receiver is back and gets all events.
    let state = DeliveryState { disabled: None, ..state };
    let settled = page(state, &[result(1, "a", delivered())], 1, now);
    let healthy = DeliveryState {
        sequence: 1,
        last_success_at: Some(now),
        last_status: Some(200),
        ..DeliveryState::default()
    };
    assert_eq!(settled.state, healthy);
}

/// A receiver that responds is up, and may accept another event.
#[test]
fn an_event_is_given_up_after_a_day_of_refusals_each_minute() {
    let (mut state, mut now, mut given_up) = (DeliveryState::default(), start(), Vec::new());
    let mut longest = TimeDelta::zero();
    while state.disabled.is_none() {
        let next = state.sequence + 1;
        let settled = page(state, &[result(next, "a", refused())], next, now);
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
fn only_the_refused_event_is_blocked_after_a_recent_success() {
    let lately = |seconds: i64| DeliveryState {
        last_success_at: Some(start().plus(TimeDelta::seconds(-seconds))),
        ..DeliveryState::default()
    };
    let alone = [result(1, "a", refused())];
    let settled = page(lately(30), &alone, 1, start());
    assert_eq!((blocked(&settled), settled.state.sequence), (vec![("a", 1)], 1));
    assert_eq!(settled.state.failing_since, None);
    assert!(page(lately(90), &alone, 1, start()).state.failing_since.is_some());
    let unreached = page(lately(30), &[result(1, "a", unreachable())], 1, start());
    assert!(unreached.blocked.is_empty() && unreached.state.failing_since.is_some());
}

#[test]
fn a_receiver_asks_for_a_pause_or_says_that_it_is_gone() {
    let pause = |seconds| {
        let retry_after = Some(std::time::Duration::from_secs(seconds));
        let mut attempt = DeliveryAttempt::with_status(429);
        attempt.retry_after = retry_after;
        Some(attempt)
    };
    let all = [result(1, "a", delivered()), result(2, "b", pause(60))];
    let settled = page(DeliveryState::default(), &all, 2, start());
    assert_eq!(settled.state.next_attempt_at, Some(start().plus(TimeDelta::seconds(60))));
    assert_eq!(settled.state.failing_since, None, "one event was accepted");
    let settled = page(DeliveryState::default(), &[result(1, "a", pause(1))], 1, start());
    assert_eq!(settled.state.next_attempt_at, Some(start().plus(STEPS[0])), "a step at least");
    let gone = [result(1, "a", Some(DeliveryAttempt::with_status(410)))];
    assert_eq!(
        page(DeliveryState::default(), &gone, 1, start()).state.disabled,
        Some(DisabledReason::Gone)
    );
}

fn blocked_at(sequence: i64, refusals: i32) -> BlockedSubject {
    BlockedSubject {
        id: "a".to_owned(),
        sequence,
        attempts: refusals,
        refusals,
        since: start(),
        next_attempt_at: start(),
    }
}

fn healthy(now: Timestamp) -> DeliveryState {
    DeliveryState { sequence: 9, last_success_at: Some(now), ..DeliveryState::default() }
}

#[test]
fn a_blocked_subject_continues_in_order_until_the_cursor() {
    let lane = [result(3, "a", delivered()), result(7, "a", delivered())];
    let settled = settle_blocked(healthy(start()), &blocked_at(3, 1), &lane, None, start(), 0.0);
    assert_eq!(settled.unblocked, ["a"]);
    assert_eq!(settled.delivered, [3, 7]);
    let settled = settle_blocked(healthy(start()), &blocked_at(3, 1), &lane, Some(8), start(), 0.0);
    assert_eq!(blocked(&settled), [("a", 8)]);
    let cut = [result(3, "a", delivered()), result(7, "a", None)];
    let settled = settle_blocked(healthy(start()), &blocked_at(3, 1), &cut, None, start(), 0.0);
    assert_eq!(blocked(&settled), [("a", 4)]);
    let untried = [result(3, "a", None)];
    let settled = settle_blocked(healthy(start()), &blocked_at(3, 4), &untried, None, start(), 0.0);
    assert!(settled.blocked.is_empty() && settled.unblocked.is_empty(), "it stays as it is");
}

#[test]
fn an_event_is_given_up_with_its_fifth_refusal_while_others_get_through() {
    let later = start().plus(TimeDelta::minutes(8));
    let refuse = |before: DeliveryState, refusals| {
        settle_blocked(
            before,
            &blocked_at(3, refusals),
            &[result(3, "a", refused())],
            None,
            later,
            0.0,
        )
    };
    let fourth = refuse(healthy(later), 3);
    assert_eq!((blocked(&fourth), fourth.blocked[0].refusals), (vec![("a", 3)], 4));
    assert!(!fourth.failures[0].gave_up && fourth.failures[0].number == 4);
    let fifth = refuse(healthy(later), 4);
    assert_eq!((blocked(&fifth), fifth.failures[0].gave_up), (vec![("a", 4)], true));
    assert_eq!(fifth.state, healthy(later), "a refusal concerns the event");
    let no_other = refuse(DeliveryState { last_success_at: Some(start()), ..healthy(later) }, 4);
    assert!(!no_other.failures[0].gave_up, "the receiver accepted no other event since");
    // A failure that does not concern the event makes the receiver failing.
    let lane = [result(3, "a", unreachable())];
    let settled = settle_blocked(healthy(later), &blocked_at(3, 4), &lane, None, later, 0.0);
    assert!(!settled.failures[0].gave_up && settled.blocked[0].refusals == 4);
    assert_eq!(settled.state.failing_since, Some(later));
    let day = start().plus(DAY);
    let settled = settle_blocked(healthy(day), &blocked_at(3, 0), &lane, None, day, 0.0);
    assert!(settled.failures[0].gave_up, "after a day");
}

#[test]
fn jitter_shortens_steps_by_up_to_a_fifth() {
    assert_eq!(with_jitter(TimeDelta::seconds(100), 0.0), TimeDelta::seconds(100));
    assert_eq!(with_jitter(TimeDelta::seconds(100), 1.0), TimeDelta::seconds(80));
}

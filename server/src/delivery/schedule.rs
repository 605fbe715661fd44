//! Decides what follows from the attempts of a delivery: where the cursor moves, which subjects are
//! blocked, when licd retries, and which events it gives up. These functions do no I/O.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use common::{DisabledReason, EventId, Timestamp};

use super::client::DeliveryAttempt;
use crate::store::webhooks::DeliveryState;
use crate::store::webhooks::sending::BlockedSubject;

/// Backoff after each consecutive failure of a receiver. [`LAST_STEP`] follows the last of these.
const STEPS: [TimeDelta; 4] =
    [TimeDelta::seconds(5), TimeDelta::seconds(30), TimeDelta::minutes(2), TimeDelta::minutes(5)];
const LAST_STEP: TimeDelta = TimeDelta::minutes(10);
/// Maximum backoff for a receiver that responds, because it may accept another event.
const ANSWERING_STEP: TimeDelta = TimeDelta::minutes(1);
/// Backoff after a day without a delivery.
const DAILY_STEP: TimeDelta = TimeDelta::hours(1);
const DAY: TimeDelta = TimeDelta::days(1);
/// Time after a day of only refusals in which a refused event is given up. Only one is, because
/// attempts are [`DAILY_STEP`] apart by then.
const GIVE_UP_TIME: TimeDelta = TimeDelta::minutes(30);
/// A webhook without a delivery for this long is disabled.
const DISABLED_AFTER: TimeDelta = TimeDelta::days(5);
/// Maximum number of refusals of an event, if the receiver accepts others. It is then given up.
const MAX_REFUSALS: i32 = 5;
/// A receiver that accepted an event within this time is up. If it refuses one event, only that event
/// is blocked.
const RECENT_SUCCESS: TimeDelta = TimeDelta::minutes(1);

/// An event of a batch, and the attempt to send it. `None` if it was not sent.
#[derive(Clone, Debug)]
pub struct EventResult {
    pub sequence: i64,
    pub event: EventId,
    pub subject: String,
    pub attempt: Option<DeliveryAttempt>,
}

impl EventResult {
    fn is_delivered(&self) -> bool {
        self.attempt.as_ref().is_some_and(DeliveryAttempt::is_delivered)
    }

    fn failure(&self) -> Option<&DeliveryAttempt> {
        self.attempt.as_ref().filter(|attempt| !attempt.is_delivered())
    }
}

/// A failed attempt.
#[derive(Clone, Debug)]
pub struct Failure {
    pub event: EventId,
    pub sequence: i64,
    /// Number of the attempt, from 1.
    pub number: i32,
    pub attempt: DeliveryAttempt,
    pub gave_up: bool,
}

/// Changes that follow from a part of a delivery.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    pub state: DeliveryState,
    /// New and changed blocked subjects.
    pub blocked: Vec<BlockedSubject>,
    /// Ids of subjects that are no longer blocked.
    pub unblocked: Vec<String>,
    pub failures: Vec<Failure>,
    pub delivered: Vec<i64>,
}

/// Returns the backoff without jitter after `attempts` consecutive failures.
fn step(attempts: i32, failing: TimeDelta, answers: bool) -> TimeDelta {
    let step = STEPS.get(usize::try_from(attempts - 1).unwrap_or(0)).copied().unwrap_or(LAST_STEP);
    match failing >= DAY {
        true => DAILY_STEP,
        false if answers => step.min(ANSWERING_STEP),
        false => step,
    }
}

/// Returns the step minus up to 20 % of jitter, so that webhooks that failed together do not retry
/// together. `chance` is from 0 to 1.
fn with_jitter(step: TimeDelta, chance: f64) -> TimeDelta {
    let millis = step.num_milliseconds() as f64 * (1.0 - chance / 5.0);
    TimeDelta::milliseconds(millis as i64)
}

/// Settles a page: events after the cursor, in order, whose subjects are not blocked. `end` is the
/// sequence up to which nothing else is to be sent, and `chance` is from 0 to 1.
pub fn settle_page(
    before: DeliveryState,
    page: &[EventResult],
    end: i64,
    now: Timestamp,
    chance: f64,
) -> Settlement {
    let delivered: Vec<i64> =
        page.iter().filter(|it| it.is_delivered()).map(|it| it.sequence).collect();
    let mut settled = Settlement { state: before, ..Settlement::default() };
    note_failures(&mut settled, page, before.attempts);
    let is_refused = |it: &EventResult| it.failure().is_some_and(DeliveryAttempt::is_refusal);
    let has_recent_success = before
        .last_success_at
        .is_some_and(|at| now.since(at) < RECENT_SUCCESS && now.since(at) > -RECENT_SUCCESS);
    let last_delivered = delivered.last().copied();
    if last_delivered.is_some() && delivered.len() == page.len() || page.is_empty() {
        settled.state.sequence = end;
    } else if let Some(last) = last_delivered {
        settled.state.sequence = last;
        block_before(&mut settled, page, last, now);
    } else if let ([only], true) = (page, has_recent_success)
        && is_refused(only)
    {
        settled.state.sequence = only.sequence;
        block_before(&mut settled, page, only.sequence + 1, now);
        return settled;
    } else if has_refused_for_a_day(before, page, now) {
        give_up(&mut settled, page);
    }
    settled.delivered = delivered;
    settle_state(&mut settled.state, page, now, chance);
    settled
}

/// Blocks each subject at its first undelivered event before `last`.
fn block_before(settled: &mut Settlement, page: &[EventResult], last: i64, now: Timestamp) {
    let mut first = BTreeMap::new();
    for result in page.iter().filter(|it| it.sequence < last && !it.is_delivered()) {
        first.entry(result.subject.as_str()).or_insert(result);
    }
    settled.blocked.extend(first.into_values().map(|result| {
        let was_sent = result.attempt.is_some();
        let refusals = result.failure().is_some_and(DeliveryAttempt::is_refusal).into();
        BlockedSubject {
            id: result.subject.clone(),
            sequence: result.sequence,
            attempts: was_sent.into(),
            refusals,
            since: now,
            next_attempt_at: if was_sent { now.plus(STEPS[0]) } else { now },
        }
    }));
}

/// Whether the receiver has only refused for a day, and for at most [`GIVE_UP_TIME`] longer.
fn has_refused_for_a_day(before: DeliveryState, page: &[EventResult], now: Timestamp) -> bool {
    let failing = before.failing_since.map_or(TimeDelta::zero(), |since| now.since(since));
    let failures = || page.iter().filter_map(EventResult::failure);
    failing >= DAY
        && failing < DAY + GIVE_UP_TIME
        && failures().count() > 0
        && failures().all(DeliveryAttempt::is_refusal)
}

/// Gives up the events that were sent, up to the first one that was not.
fn give_up(settled: &mut Settlement, page: &[EventResult]) {
    let sent = page.iter().take_while(|it| it.attempt.is_some()).last();
    let last = sent.map_or(settled.state.sequence, |it| it.sequence);
    let given_up = settled.failures.iter_mut().filter(|failure| failure.sequence <= last);
    given_up.for_each(|failure| failure.gave_up = true);
    settled.state.sequence = last;
}

fn note_failures(settled: &mut Settlement, page: &[EventResult], before: i32) {
    let failed = page.iter().filter_map(|result| Some((result, result.failure()?)));
    settled.failures.extend(failed.map(|(result, attempt)| Failure {
        event: result.event,
        sequence: result.sequence,
        number: before + 1,
        attempt: attempt.clone(),
        gave_up: false,
    }));
}

/// Updates the state of the webhook after attempts. Without any, the state stays.
fn settle_state(state: &mut DeliveryState, results: &[EventResult], now: Timestamp, chance: f64) {
    let attempts: Vec<&DeliveryAttempt> =
        results.iter().filter_map(|it| it.attempt.as_ref()).collect();
    let Some(last) = attempts.last() else { return };
    state.last_status = last.status.map(i32::from);
    if attempts.iter().any(|it| it.status == Some(410)) {
        state.disabled = Some(DisabledReason::Gone);
        return;
    }
    let is_delivered = attempts.iter().any(|it| it.is_delivered());
    if is_delivered {
        (state.failing_since, state.attempts, state.next_attempt_at) = (None, 0, None);
        state.last_success_at = Some(now);
    }
    let is_pausing = attempts.iter().any(|it| matches!(it.status, Some(429 | 503)));
    if is_delivered && !is_pausing {
        return;
    }
    state.attempts = state.attempts.saturating_add(1);
    if !is_delivered {
        state.failing_since = state.failing_since.or(Some(now));
    }
    let failing = state.failing_since.map_or(TimeDelta::zero(), |since| now.since(since));
    if failing >= DISABLED_AFTER {
        state.disabled = Some(DisabledReason::Failed);
        return;
    }
    let answers = attempts.iter().all(|it| it.is_refusal());
    let step = with_jitter(step(state.attempts, failing, answers), chance);
    let asked = attempts.iter().filter_map(|it| TimeDelta::from_std(it.retry_after?).ok()).max();
    state.next_attempt_at = Some(now.plus(asked.map_or(step, |asked| asked.max(step))));
}

/// Settles the lane of a blocked subject: its next events, in order. `further` is the sequence of its
/// next event after them, if it has more up to the cursor.
pub fn settle_blocked(
    before: DeliveryState,
    subject: &BlockedSubject,
    lane: &[EventResult],
    further: Option<i64>,
    now: Timestamp,
    chance: f64,
) -> Settlement {
    let delivered: Vec<i64> =
        lane.iter().filter(|it| it.is_delivered()).map(|it| it.sequence).collect();
    let mut settled = Settlement { state: before, ..Settlement::default() };
    if !lane.is_empty() && lane.iter().all(|it| it.attempt.is_none()) {
        return settled;
    }
    note_failures(&mut settled, lane, subject.attempts);
    let at = |sequence, attempts, refusals, since, next_attempt_at| BlockedSubject {
        id: subject.id.clone(),
        sequence,
        attempts,
        refusals,
        since,
        next_attempt_at,
    };
    let failed = lane.iter().find_map(|result| Some((result, result.failure()?)));
    let after = delivered.last().map_or(subject.sequence, |last| last + 1);
    match (failed, further) {
        (None, None) if delivered.len() == lane.len() => {
            settled.unblocked.push(subject.id.clone());
        }
        (None, Some(further)) if delivered.len() == lane.len() => {
            settled.blocked.push(at(further, 0, 0, now, now));
        }
        (None, _) => settled.blocked.push(at(after, 0, 0, now, now)),
        (Some((result, attempt)), _) => {
            let is_first = result.sequence == lane.first().map_or(0, |first| first.sequence);
            let (attempts, refusals, since) = if is_first {
                (subject.attempts, subject.refusals, subject.since)
            } else {
                (0, 0, now)
            };
            let (attempts, refusals) = (attempts + 1, refusals + i32::from(attempt.is_refusal()));
            settled.failures.iter_mut().for_each(|failure| failure.number = attempts);
            let others_pass = before.last_success_at.is_some_and(|at| at > since);
            if refusals >= MAX_REFUSALS && others_pass || now.since(since) >= DAY {
                settled.failures.iter_mut().for_each(|failure| failure.gave_up = true);
                settled.blocked.push(at(result.sequence + 1, 0, 0, now, now));
            } else {
                let next = now.plus(with_jitter(step(attempts, TimeDelta::zero(), false), chance));
                settled.blocked.push(at(result.sequence, attempts, refusals, since, next));
            }
        }
    }
    // A refusal concerns the event, not the receiver.
    if !failed.is_some_and(|(_, attempt)| attempt.is_refusal()) || !delivered.is_empty() {
        settle_state(&mut settled.state, lane, now, chance);
    }
    settled.delivered = delivered;
    settled
}

#[cfg(test)]
mod tests;

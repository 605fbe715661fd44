//! What follows from the attempts of a turn: where the cursor goes, which subjects are held, when it
//! is tried again, what is given up. It is pure: what it needs is passed in.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use common::{DisabledReason, EventId, Timestamp};

use super::client::Attempt;
use crate::store::webhooks::sending::Hold;

/// How long after each failure in a row a receiver is tried again, and after more of them.
const STEPS: [TimeDelta; 4] =
    [TimeDelta::seconds(5), TimeDelta::seconds(30), TimeDelta::minutes(2), TimeDelta::minutes(5)];
const LAST_STEP: TimeDelta = TimeDelta::minutes(10);
/// The longest step for a receiver that answers: another event may be one that it takes.
const ANSWERING_STEP: TimeDelta = TimeDelta::minutes(1);
/// After a day without a delivery.
const DAILY_STEP: TimeDelta = TimeDelta::hours(1);
const DAY: TimeDelta = TimeDelta::days(1);
/// Within this time after a day of nothing but refusals, what is tried is given up: once, as the next
/// attempts are an hour apart.
const GIVE_UP_TIME: TimeDelta = TimeDelta::minutes(30);
/// Without a delivery for so long, a webhook is disabled.
const DISABLED_AFTER: TimeDelta = TimeDelta::days(5);
/// An event that was refused so often, while others got through, is given up.
const MOST_REFUSALS: i32 = 5;
/// Who took something so lately is up: a refused event says nothing about the receiver.
const LATELY: TimeDelta = TimeDelta::minutes(1);

/// The state of a webhook, as the sender knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub sequence: i64,
    pub failing_since: Option<Timestamp>,
    pub attempts: i32,
    pub next_attempt_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub last_status: Option<i32>,
    pub disabled: Option<DisabledReason>,
}

/// An event of a turn, and the attempt to send it; none if it was not tried.
#[derive(Clone, Debug)]
pub struct Tried {
    pub sequence: i64,
    pub event: EventId,
    pub subject: String,
    pub attempt: Option<Attempt>,
}

impl Tried {
    fn is_delivered(&self) -> bool {
        self.attempt.as_ref().is_some_and(Attempt::is_delivered)
    }

    fn failure(&self) -> Option<&Attempt> {
        self.attempt.as_ref().filter(|attempt| !attempt.is_delivered())
    }
}

/// An attempt that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub event: EventId,
    pub sequence: i64,
    /// Counts from 1.
    pub number: i32,
    pub attempt: Attempt,
    pub gave_up: bool,
}

/// What is to be written.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    pub state: State,
    /// New and changed ones.
    pub held: Vec<Hold>,
    /// The subjects whose holds have ended.
    pub released: Vec<String>,
    pub failures: Vec<Failure>,
    pub delivered: Vec<i64>,
}

/// When it is tried again after so many failures in a row, without chance.
fn step(attempts: i32, failing: TimeDelta, answers: bool) -> TimeDelta {
    let step = STEPS.get(usize::try_from(attempts - 1).unwrap_or(0)).copied().unwrap_or(LAST_STEP);
    match failing >= DAY {
        true => DAILY_STEP,
        false if answers => step.min(ANSWERING_STEP),
        false => step,
    }
}

/// A step less up to a fifth, so that many that failed together do not return together.
fn shortened(step: TimeDelta, chance: f64) -> TimeDelta {
    let millis = step.num_milliseconds() as f64 * (1.0 - chance / 5.0);
    TimeDelta::milliseconds(millis as i64)
}

/// The part of a turn that reads on from the cursor: events of subjects without a hold, in their
/// order, and up to where nothing else is to be sent. `chance` is from 0 to 1.
pub fn settle_page(
    before: State,
    page: &[Tried],
    end: i64,
    now: Timestamp,
    chance: f64,
) -> Settlement {
    let delivered: Vec<i64> =
        page.iter().filter(|it| it.is_delivered()).map(|it| it.sequence).collect();
    let mut settled = Settlement { state: before, ..Settlement::default() };
    note_failures(&mut settled, page, before.attempts);
    let is_refused = |it: &Tried| it.failure().is_some_and(Attempt::is_refusal);
    let was_lately =
        before.last_success_at.is_some_and(|at| now.since(at) < LATELY && now.since(at) > -LATELY);
    let last_delivered = delivered.last().copied();
    if last_delivered.is_some() && delivered.len() == page.len() || page.is_empty() {
        settled.state.sequence = end;
    } else if let Some(last) = last_delivered {
        settled.state.sequence = last;
        hold_before(&mut settled, page, last, now);
    } else if let ([alone], true) = (page, was_lately)
        && is_refused(alone)
    {
        settled.state.sequence = alone.sequence;
        hold_before(&mut settled, page, alone.sequence + 1, now);
        return settled;
    } else if is_over_a_day(before, page, now) {
        give_up(&mut settled, page);
    }
    settled.delivered = delivered;
    settle_state(&mut settled.state, page, now, chance);
    settled
}

/// Each subject with an undelivered event before `last` is held at it.
fn hold_before(settled: &mut Settlement, page: &[Tried], last: i64, now: Timestamp) {
    let mut held = BTreeMap::new();
    for tried in page.iter().filter(|it| it.sequence < last && !it.is_delivered()) {
        held.entry(tried.subject.as_str()).or_insert(tried);
    }
    settled.held.extend(held.into_values().map(|tried| {
        let was_tried = tried.attempt.is_some();
        let refusals = tried.failure().is_some_and(Attempt::is_refusal).into();
        Hold {
            subject: tried.subject.clone(),
            sequence: tried.sequence,
            attempts: was_tried.into(),
            refusals,
            since: now,
            next_attempt_at: if was_tried { now.plus(STEPS[0]) } else { now },
        }
    }));
}

/// Whether for a day, and not much longer, nothing but refusals came.
fn is_over_a_day(before: State, page: &[Tried], now: Timestamp) -> bool {
    let failing = before.failing_since.map_or(TimeDelta::zero(), |since| now.since(since));
    let tried = || page.iter().filter_map(Tried::failure);
    failing >= DAY
        && failing < DAY + GIVE_UP_TIME
        && tried().count() > 0
        && tried().all(Attempt::is_refusal)
}

/// Gives up what was tried, as far as nothing before it was not.
fn give_up(settled: &mut Settlement, page: &[Tried]) {
    let tried = page.iter().take_while(|it| it.attempt.is_some()).last();
    let last = tried.map_or(settled.state.sequence, |it| it.sequence);
    let given_up = settled.failures.iter_mut().filter(|failure| failure.sequence <= last);
    given_up.for_each(|failure| failure.gave_up = true);
    settled.state.sequence = last;
}

fn note_failures(settled: &mut Settlement, page: &[Tried], before: i32) {
    let failed = page.iter().filter_map(|tried| Some((tried, tried.failure()?)));
    settled.failures.extend(failed.map(|(tried, attempt)| Failure {
        event: tried.event,
        sequence: tried.sequence,
        number: before + 1,
        attempt: attempt.clone(),
        gave_up: false,
    }));
}

/// The state of the webhook after attempts, of which at least one may have been made.
fn settle_state(state: &mut State, tried: &[Tried], now: Timestamp, chance: f64) {
    let attempts: Vec<&Attempt> = tried.iter().filter_map(|it| it.attempt.as_ref()).collect();
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
    let step = shortened(step(state.attempts, failing, answers), chance);
    let asked = attempts.iter().filter_map(|it| TimeDelta::from_std(it.retry_after?).ok()).max();
    state.next_attempt_at = Some(now.plus(asked.map_or(step, |asked| asked.max(step))));
}

/// The part of a turn that goes on with a held subject: its next events, in their order, and where
/// its further ones begin, if there are any up to the cursor.
pub fn settle_hold(
    before: State,
    hold: &Hold,
    lane: &[Tried],
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
    note_failures(&mut settled, lane, hold.attempts);
    let at = |sequence, attempts, refusals, since, next_attempt_at| Hold {
        subject: hold.subject.clone(),
        sequence,
        attempts,
        refusals,
        since,
        next_attempt_at,
    };
    let failed = lane.iter().find_map(|tried| Some((tried, tried.failure()?)));
    let after = delivered.last().map_or(hold.sequence, |last| last + 1);
    match (failed, further) {
        (None, None) if delivered.len() == lane.len() => {
            settled.released.push(hold.subject.clone());
        }
        (None, Some(further)) if delivered.len() == lane.len() => {
            settled.held.push(at(further, 0, 0, now, now));
        }
        (None, _) => settled.held.push(at(after, 0, 0, now, now)),
        (Some((tried, attempt)), _) => {
            let is_first = tried.sequence == lane.first().map_or(0, |first| first.sequence);
            let (attempts, refusals, since) =
                if is_first { (hold.attempts, hold.refusals, hold.since) } else { (0, 0, now) };
            let (attempts, refusals) = (attempts + 1, refusals + i32::from(attempt.is_refusal()));
            settled.failures.iter_mut().for_each(|failure| failure.number = attempts);
            let others_pass = before.last_success_at.is_some_and(|at| at > since);
            if refusals >= MOST_REFUSALS && others_pass || now.since(since) >= DAY {
                settled.failures.iter_mut().for_each(|failure| failure.gave_up = true);
                settled.held.push(at(tried.sequence + 1, 0, 0, now, now));
            } else {
                let next = now.plus(shortened(step(attempts, TimeDelta::zero(), false), chance));
                settled.held.push(at(tried.sequence, attempts, refusals, since, next));
            }
        }
    }
    // A refusal says nothing about the receiver.
    if !failed.is_some_and(|(_, attempt)| attempt.is_refusal()) || !delivered.is_empty() {
        settle_state(&mut settled.state, lane, now, chance);
    }
    settled.delivered = delivered;
    settled
}

#[cfg(test)]
mod tests;

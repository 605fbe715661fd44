//! Random calls against a small model of the service: for all concurrent calls, some order of the
//! calls explains every answer and all that is stored afterwards.
//!
//! `scenario` draws the calls, `play` makes them and looks at the database between rounds, `rules` is
//! the model, written from the interface's description, and `order` looks for the order. A failure
//! shows the smallest failing scenario, and the seed with which the same scenarios are drawn
//! again: `PROPTEST_RNG_SEED`. `PROPTEST_CASES` is the number of scenarios, for longer runs.

mod order;
mod play;
mod rules;
mod scenario;

use std::any::Any;
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};

use common::Timestamp;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use tokio::runtime::Runtime;

use crate::harness::App;
use crate::nodes::Pair;
use play::{CallRecord, ModelCluster, Snapshot};
use rules::CallResult;
use scenario::{Call, Round, Scenario, scenarios};

/// The default number of scenarios.
const SCENARIOS: u32 = 48;
/// Number of tries of a smaller scenario before it counts as passing, because a race may pass by
/// chance.
const TRIES_PER_SCENARIO: u32 = 8;
/// The time for shrinking a failing scenario, in milliseconds.
const MAX_SHRINK_MS: u32 = 120_000;

#[test]
fn some_order_explains_every_answer() {
    let runtime = Runtime::new().unwrap();
    let app = runtime.block_on(App::start());
    let table = ModelCluster { callers: vec![(*app).clone()], db: app.db().clone() };
    play_all(&runtime, &table);
    let database = runtime.block_on(app.stop());
    assert_eq!(runtime.block_on(database.deadlocks()), 0);
}

#[test]
fn some_order_explains_every_answer_of_two_nodes() {
    let runtime = Runtime::new().unwrap();
    let pair = runtime.block_on(Pair::start());
    let db = runtime.block_on(pair.database.open());
    let table = ModelCluster { callers: pair.callers.to_vec(), db };
    play_all(&runtime, &table);
    runtime.block_on(async {
        table.db.close().await;
        pair.end().await;
    });
}

fn play_all(runtime: &Runtime, table: &ModelCluster) {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = SCENARIOS;
    }
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().hash_one(SCENARIOS),
    };
    config.rng_seed = RngSeed::Fixed(seed);
    config.max_shrink_time = MAX_SHRINK_MS;
    let tries = Cell::new(1);
    let played = TestRunner::new(config).run(&scenarios(), |scenario| {
        for _ in 0..tries.get() {
            // An answer that no order allows is a panic.
            let played =
                catch_unwind(AssertUnwindSafe(|| runtime.block_on(play(table, &scenario))));
            if let Err(wrong) = played.unwrap_or_else(|panic| Err(message(&*panic))) {
                tries.set(TRIES_PER_SCENARIO);
                return Err(TestCaseError::fail(wrong));
            }
        }
        Ok(())
    });
    played.unwrap_or_else(|failure| panic!("PROPTEST_RNG_SEED={seed}: {failure}"));
}

fn message(panic: &(dyn Any + Send)) -> String {
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a call broke off".into())
}

/// Plays one scenario, and returns what no order explains.
async fn play(table: &ModelCluster, scenario: &Scenario) -> Result<(), String> {
    let game = table.set_up(scenario).await;
    let mut before = game.look().await;
    let prelude = scenario.prelude.iter().map(|call| Round { away: vec![], calls: vec![*call] });
    for Round { away, calls } in prelude.chain(scenario.rounds.iter().cloned()) {
        if !away.is_empty() {
            game.leave(&before, &away).await;
            before = game.look().await;
        }
        let records = game.play(&calls).await;
        let after = game.look().await;
        if let Err(wrong) = check_round(&before, &records, &after) {
            let records: Vec<_> = records.iter().map(|record| format!("{record:?}")).collect();
            return Err(format!("{wrong}\nbefore {before:?}\ncalls {records:#?}\nafter {after:?}"));
        }
        before = after;
    }
    Ok(())
}

fn check_round(before: &Snapshot, records: &[CallRecord], after: &Snapshot) -> Result<(), String> {
    let calls: Vec<_> = records
        .iter()
        .map(|record| (seen_from(before, records, record.call), &record.result))
        .collect();
    let fair = [
        (order::exists(&before.state, &calls, &after.state), "no order explains the answers"),
        (no_seat_too_many(before, records, after), "there are more holders than seats"),
        (later_is_later(before, after), "an assignment stands before one made in an earlier round"),
        (
            checks_are_kept(before, records, after),
            "a seat is not marked with when it was last seen",
        ),
    ];
    let wrong: Vec<&str> = fair.iter().filter(|(fair, _)| !fair).map(|(_, wrong)| *wrong).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join(", ")) }
}

/// A claim with whether the user may have had the license: since before the round, or by a call of
/// it.
fn seen_from(before: &Snapshot, records: &[CallRecord], call: Call) -> Call {
    let Call::Claim { user, license, .. } = call else { return call };
    let links = before.state.users.get(&user);
    let had = links.is_some_and(|links| links.values().any(|link| link.license == license));
    let gets = |record: &CallRecord| match record.call {
        Call::Assign { user: to, license: of } | Call::Transfer { to, license: of, .. } => {
            (to, of) == (user, license)
        }
        Call::Claim { user: to, license: of, .. } => {
            (to, of) == (user, license)
                && matches!(record.result, CallResult::Claimed { id: Some(_), .. })
        }
        _ => false,
    };
    Call::Claim { user, license, may_have: had || records.iter().any(gets) }
}

/// The limit holds where a user took a seat and the limit did not change.
fn no_seat_too_many(before: &Snapshot, records: &[CallRecord], after: &Snapshot) -> bool {
    after.state.licenses.iter().enumerate().all(|(at, terms)| {
        let moved =
            |record: &CallRecord| matches!(record.call, Call::SetSeats { license, .. } if license == at);
        let (had, has) = (before.state.seats(at), after.state.seats(at));
        let room = terms.max_seats.is_none_or(|max| has.len() <= max as usize);
        // A seat that was handed over is a new one in the place of another.
        let handed = |seat| {
            records.iter().any(|record| {
                matches!(record.result, CallResult::Transferred { seat: own, .. } if own == Some(seat))
            })
        };
        let is_none_new = has.len() <= had.len()
            && has.iter().all(|seat| had.contains(seat) || handed(*seat));
        room || is_none_new || records.iter().any(moved)
    })
}

/// Validations look at a user's licenses in the order of assignment.
fn later_is_later(before: &Snapshot, after: &Snapshot) -> bool {
    after.state.users.iter().all(|(user, links)| {
        let had = before.state.users.get(user).cloned().unwrap_or_default();
        let last = had.keys().next_back();
        links.keys().all(|id| had.contains_key(id) || last.is_none_or(|last| last < id))
    })
}

/// A seat that was validated in this round has a time of one of its answers, any other its old time.
fn checks_are_kept(before: &Snapshot, records: &[CallRecord], after: &Snapshot) -> bool {
    after.checked.iter().all(|(seat, at)| {
        let own = records.iter().filter(|record| record.result.seat() == Some(*seat));
        let times: Vec<Timestamp> = own.filter_map(|record| record.checked).collect();
        times.contains(at) || (times.is_empty() && before.checked.get(seat) == Some(at))
    })
}

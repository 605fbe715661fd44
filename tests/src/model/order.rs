//! Search for an order of the calls that explains their responses.

use super::rules::{CallResult, ModelState};
use super::scenario::Call;

/// Whether the calls, one after another in some order, give these results and lead from one state
/// to the other. Orders that begin wrongly are not followed further.
pub fn exists(before: &ModelState, calls: &[(Call, &CallResult)], after: &ModelState) -> bool {
    if calls.is_empty() {
        return before == after;
    }
    (0..calls.len()).any(|at| {
        let mut state = before.clone();
        let mut rest = calls.to_vec();
        let (call, result) = rest.remove(at);
        state.explains(call, result) && exists(&state, &rest, after)
    })
}

/// Tests the search itself: impossible results, and one that only a single order explains.
mod tests {
    use common::{ActivationId, AssignmentId, Reason, Status, Timestamp};

    use super::super::rules::{CallResult, HeldLicense, ModelState};
    use super::super::scenario::{Call, Expiry, Terms};
    use super::exists;

    const ONE: Terms = Terms { status: Status::Active, max_seats: Some(1), expiry: Expiry::Never };

    /// Two users with a license that has one seat, and the seat's holder.
    fn state(seats: [Option<ActivationId>; 2]) -> ModelState {
        let link = |seat| {
            (
                AssignmentId::default(),
                HeldLicense { license: 0, seat, place: 0, is_claimed: false, is_leased: false },
            )
        };
        let users = seats.map(|seat| [link(seat)].into());
        let (floating, idle) = (vec![false], Default::default());
        ModelState {
            licenses: vec![ONE],
            floating,
            has_grace: vec![false],
            waits: vec![false],
            idle,
            users: users.into_iter().enumerate().collect(),
        }
    }

    fn ask(user: usize) -> Call {
        Call::Validate { user, product: None }
    }

    fn valid(seat: ActivationId) -> CallResult {
        CallResult::Valid { license: 0, terms: ONE, seat }
    }

    fn seat() -> ActivationId {
        ActivationId::new(Timestamp::now())
    }

    #[test]
    fn one_seat_goes_to_one_of_two() {
        let (one, other) = (seat(), seat());
        let full = CallResult::Invalid(Reason::ExceededSeats);
        let (free, taken) = (state([None, None]), state([None, Some(one)]));
        let fair = |first: CallResult, second| {
            exists(&free, &[(ask(0), &first), (ask(1), &second)], &taken)
        };
        assert!(fair(full.clone(), valid(one)), "the second came first");
        assert!(!fair(valid(other), valid(one)), "two holders");
        assert!(!fair(full.clone(), full.clone()), "a seat that no answer shows");
        assert!(!fair(full, valid(other)), "another seat than the one that is stored");
        assert!(!fair(CallResult::Invalid(Reason::NoLicense), valid(one)), "for no reason");
    }

    #[test]
    fn a_holder_keeps_the_seat_until_it_is_freed() {
        let (old, new) = (seat(), seat());
        let (held, moved) = (state([Some(old), None]), state([None, Some(new)]));
        let full = CallResult::Invalid(Reason::ExceededSeats);
        let free = (
            Call::Unassign { user: 0, license: 0, drop: false },
            &CallResult::Unassigned(Default::default()),
        );
        let again = (
            Call::Assign { user: 0, license: 0 },
            &CallResult::Assigned { id: Default::default(), new: true },
        );
        assert!(exists(&held, &[again, (ask(1), &valid(new)), free], &moved));
        assert!(!exists(&held, &[(ask(1), &valid(new))], &moved), "taken from its holder");
        assert!(!exists(&held, &[(ask(0), &full)], &held), "a holder is refused");
        assert!(
            !exists(&held, &[(ask(0), &valid(new))], &state([Some(new), None])),
            "a second seat"
        );
        assert!(!exists(&held, &[free], &held), "freed, and still stored");
    }
}

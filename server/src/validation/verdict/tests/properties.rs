//! Properties of the decision that hold for any licenses.

use Status::Active;
use common::{MaxSeats, ProductId, Reason, Status, Terms, Verdict};
use proptest::prelude::*;

use super::{ExpectedDecision, days, license, now, outcome, place, product};
use crate::store::validations::AssignedLicense;
use crate::validation::verdict::{Decision, decide, is_valid, verdicts};

fn any_link() -> impl Strategy<Value = AssignedLicense> {
    let status = prop::sample::select(Status::ALL);
    let end = prop::option::of(-2i64..3);
    let max = prop::option::of(1i64..4);
    let terms = (any::<bool>(), any::<bool>(), prop::option::of(1i64..3));
    (status, end, max, 0..4i32, any::<bool>(), 1..3u128, terms).prop_map(
        |(status, end, max, used, held, of, (is_put_first, is_floating, grace))| {
            let mut assigned = license(status, end.and_then(days)).of(of);
            (assigned.seats_used, assigned.is_put_first) = (used, is_put_first);
            assigned.license.max_seats = max.map(|max| MaxSeats::new(max).unwrap());
            let assigned = if is_floating { assigned.floating(None) } else { assigned };
            let assigned = grace.map_or(assigned.clone(), |days| assigned.grace(days));
            if held { assigned.held() } else { assigned }
        },
    )
}

fn any_question() -> impl Strategy<Value = (Vec<AssignedLicense>, Option<ProductId>)> {
    (prop::collection::vec(any_link(), 0..6), prop::option::of((1..4u128).prop_map(product)))
}

proptest! {
    #[test]
    fn only_a_license_in_force_of_the_right_product_is_granted(
        (licenses, wanted) in any_question(),
    ) {
        if let ExpectedDecision::Keep(at) | ExpectedDecision::Take(at) | ExpectedDecision::TakeOver(at) =
            outcome(&licenses, wanted, now())
        {
            let AssignedLicense { license, terms, .. } = &licenses[at];
            prop_assert_eq!(license.status, Active);
            let end = terms.grace_ends_at(license.expires_at).or(license.expires_at);
            prop_assert!(end.is_none_or(|end| now() < end));
            prop_assert!(wanted.is_none_or(|wanted| license.product_id == wanted));
        }
    }

    #[test]
    fn a_seat_is_taken_only_where_one_is_free((licenses, wanted) in any_question()) {
        match outcome(&licenses, wanted, now()) {
            ExpectedDecision::Keep(at) => prop_assert!(licenses[at].seat.is_some()),
            ExpectedDecision::Take(at) => {
                prop_assert!(licenses[at].seat.is_none());
                let max = licenses[at].license.max_seats;
                prop_assert!(max.is_none_or(|max| licenses[at].seats_used < max.get()));
            }
            ExpectedDecision::TakeOver(at) => {
                prop_assert!(licenses[at].seat.is_none() && licenses[at].idle_time().is_some());
                let max = licenses[at].license.max_seats;
                prop_assert!(max.is_some_and(|max| licenses[at].seats_used >= max.get()));
            }
            ExpectedDecision::Refuse(_) => {}
        }
    }

    #[test]
    fn the_decision_and_the_verdicts_agree((licenses, wanted) in any_question()) {
        let verdicts = verdicts(&licenses, wanted, now());
        let granted = verdicts.iter().position(|verdict| *verdict == Verdict::Valid);
        let full = verdicts.contains(&Verdict::ExceededSeats);
        match outcome(&licenses, wanted, now()) {
            ExpectedDecision::Keep(at) | ExpectedDecision::Take(at) | ExpectedDecision::TakeOver(at) => {
                prop_assert_eq!(granted, Some(at));
            }
            ExpectedDecision::Refuse(reason) => {
                prop_assert_eq!(granted, None);
                prop_assert_eq!(full, reason == Reason::ExceededSeats);
            }
        }
    }

    /// The license that gives the reason is the first with that verdict.
    #[test]
    fn the_deciding_license_has_the_reason_as_its_verdict((links, wanted) in any_question()) {
        if let Decision::Refuse(reason, license) = decide(&links, wanted, now()) {
            let verdicts = verdicts(&links, wanted, now());
            let first = verdicts.iter().position(|verdict| verdict.as_str() == reason.as_str());
            prop_assert_eq!(license.map(|license| place(license, &links)), first);
            prop_assert_eq!(first.is_none(), reason == Reason::NoLicense);
        }
    }

    #[test]
    fn licenses_after_the_one_that_decides_change_nothing(
        (licenses, wanted) in any_question(),
        later in any_link(),
    ) {
        // What is in grace comes after those in force, and a seat is never lost.
        let later = AssignedLicense { terms: Terms::default(), seat: None, ..later };
        let before = outcome(&licenses, wanted, now());
        let more: Vec<AssignedLicense> = licenses.iter().cloned().chain([later]).collect();
        if let ExpectedDecision::Keep(at) | ExpectedDecision::Take(at) | ExpectedDecision::TakeOver(at) = before
            && licenses[at].license.effective_status(now()) == Active
        {
            prop_assert_eq!(outcome(&more, wanted, now()), before);
        }
    }

    #[test]
    fn a_claim_never_turns_a_valid_answer_into_a_refusal(
        (licenses, wanted) in any_question(),
        claimed in any_link(),
    ) {
        let before = outcome(&licenses, wanted, now());
        let more: Vec<_> = [claimed.put_first()].into_iter().chain(licenses).collect();
        if !matches!(before, ExpectedDecision::Refuse(_)) {
            prop_assert!(!matches!(outcome(&more, wanted, now()), ExpectedDecision::Refuse(_)));
        }
    }

    #[test]
    fn who_holds_a_seat_in_force_is_never_refused((licenses, wanted) in any_question()) {
        let holds = licenses.iter().any(|it| {
            it.seat.is_some() && is_valid(it, now()) && wanted.is_none_or(|of| it.license.product_id == of)
        });
        if holds {
            prop_assert!(!matches!(outcome(&licenses, wanted, now()), ExpectedDecision::Refuse(_)));
        }
    }
}

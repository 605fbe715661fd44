//! The specification's tables of conditions as tests.

mod properties;

use Status::{Active, Expired, Revoked, Suspended};
use common::{
    Activation, ActivationId, Features, GraceDays, License, LicenseId, MaxSeats, PlanId, ProductId,
    Reason, Status, Terms, Timestamp, UserId, Verdict,
};

use super::{Decision, decide, verdicts};
use crate::store::validations::AssignedLicense;

/// Time of the decisions in the tables. Days are relative to it.
fn now() -> Timestamp {
    "2027-01-31T12:00:00Z".parse().unwrap()
}

fn days(days: i64) -> Option<Timestamp> {
    Some(now().plus(chrono::Duration::days(days)))
}

fn product(number: u128) -> ProductId {
    format!("prd_{number:026}").parse().unwrap()
}

fn license(status: Status, expires_at: Option<Timestamp>) -> AssignedLicense {
    let license = License {
        id: LicenseId::default(),
        product_id: product(1),
        plan_id: PlanId::default(),
        status,
        max_seats: None,
        expires_at,
        features: Features::default(),
        created_at: now(),
        updated_at: now(),
    };
    AssignedLicense {
        user_id: UserId::default(),
        license,
        terms: Terms::default(),
        seats_idle_at: None,
        seats_used: 0,
        seat: None,
        is_put_first: false,
        features_omitted: false,
    }
}

impl AssignedLicense {
    fn seats(mut self, used: i32, max: i64) -> Self {
        self.seats_used = used;
        self.license.max_seats = Some(MaxSeats::new(max).unwrap());
        self
    }

    fn held(mut self) -> Self {
        self.seat = Some(Activation {
            id: ActivationId::default(),
            user_id: self.user_id,
            license_id: self.license.id,
            activated_at: now(),
            last_checked_at: now(),
            leased_until: None,
        });
        self
    }

    /// Marks the license as claimed or assigned with `first`.
    fn put_first(mut self) -> Self {
        self.is_put_first = true;
        self
    }

    /// Makes the license floating, with no idle seat before this day.
    fn floating(mut self, idle_at: Option<Timestamp>) -> Self {
        self.terms.of_plan.seat_idle_minutes = Some("60".parse().unwrap());
        self.seats_idle_at = idle_at;
        self
    }

    fn grace(mut self, days: i64) -> Self {
        self.terms.of_plan.grace_days = Some(GraceDays::new(days).unwrap());
        self
    }

    fn of(mut self, number: u128) -> Self {
        self.license.product_id = product(number);
        self
    }
}

/// A decision, with the positions of licenses so that tables can name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedDecision {
    Keep(usize),
    Take(usize),
    TakeOver(usize),
    Refuse(Reason),
}

fn place<'l>(of: &'l License, licenses: &'l [AssignedLicense]) -> usize {
    licenses.iter().position(|assigned| std::ptr::eq(&assigned.license, of)).unwrap()
}

fn outcome(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> ExpectedDecision {
    match decide(licenses, product, now) {
        Decision::Keep(assigned, _) => ExpectedDecision::Keep(place(&assigned.license, licenses)),
        Decision::Take(assigned) => ExpectedDecision::Take(place(&assigned.license, licenses)),
        Decision::TakeOver(assigned) => {
            ExpectedDecision::TakeOver(place(&assigned.license, licenses))
        }
        Decision::Refuse(reason, _) => ExpectedDecision::Refuse(reason),
    }
}

const NO_LICENSE: ExpectedDecision = ExpectedDecision::Refuse(Reason::NoLicense);
const EXPIRED: ExpectedDecision = ExpectedDecision::Refuse(Reason::Expired);
const REVOKED: ExpectedDecision = ExpectedDecision::Refuse(Reason::Revoked);
const SUSPENDED: ExpectedDecision = ExpectedDecision::Refuse(Reason::Suspended);
const EXCEEDED_SEATS: ExpectedDecision = ExpectedDecision::Refuse(Reason::ExceededSeats);

/// Section 3 of the specification, "validation outcome by license condition", row by row.
#[test]
fn each_condition_has_its_outcome() {
    for (condition, licenses, wanted) in [
        ("active, no expiry, no limit", vec![license(Active, None)], ExpectedDecision::Take(0)),
        ("active, not past expiry", vec![license(Active, days(1))], ExpectedDecision::Take(0)),
        ("seats available", vec![license(Active, None).seats(4, 5)], ExpectedDecision::Take(0)),
        ("no assigned license", vec![], NO_LICENSE),
        ("past expiry", vec![license(Active, days(-1))], EXPIRED),
        ("at expiry", vec![license(Active, days(0))], EXPIRED),
        ("status expired", vec![license(Expired, days(1))], EXPIRED),
        ("revoked", vec![license(Revoked, None)], REVOKED),
        ("suspended", vec![license(Suspended, None)], SUSPENDED),
        ("suspended and past expiry", vec![license(Suspended, days(-1))], SUSPENDED),
        ("revoked and past expiry", vec![license(Revoked, days(-1))], REVOKED),
        ("seat limit reached", vec![license(Active, None).seats(5, 5)], EXCEEDED_SEATS),
        ("seat held", vec![license(Active, None).seats(5, 5).held()], ExpectedDecision::Keep(0)),
        (
            "limit lowered, seat held",
            vec![license(Active, None).seats(5, 2).held()],
            ExpectedDecision::Keep(0),
        ),
        ("limit lowered, no seat", vec![license(Active, None).seats(5, 2)], EXCEEDED_SEATS),
        ("revoked, seat held", vec![license(Revoked, None).held()], REVOKED),
    ] {
        assert_eq!(outcome(&licenses, None, now()), wanted, "{condition}");
    }
}

/// A full floating license may have an idle seat, unless its next one becomes idle later.
#[test]
fn only_a_full_floating_license_has_its_seats_taken_over() {
    let full = || license(Active, None).seats(5, 5);
    for (condition, licenses, wanted) in [
        ("not known", vec![full().floating(None)], ExpectedDecision::TakeOver(0)),
        ("due", vec![full().floating(days(0))], ExpectedDecision::TakeOver(0)),
        ("not due", vec![full().floating(days(1))], EXCEEDED_SEATS),
        (
            "with room",
            vec![license(Active, None).seats(4, 5).floating(None)],
            ExpectedDecision::Take(0),
        ),
        ("without a limit", vec![license(Active, None).floating(None)], ExpectedDecision::Take(0)),
        ("held", vec![full().floating(None).held()], ExpectedDecision::Keep(0)),
        ("ended", vec![license(Active, days(-1)).seats(5, 5).floating(None)], EXPIRED),
        (
            "not due, and a free one",
            vec![full().floating(days(1)), license(Active, None)],
            EXCEEDED_SEATS,
        ),
    ] {
        assert_eq!(outcome(&licenses, None, now()), wanted, "{condition}");
    }
}

/// A license in grace decides only if no license in force gives a seat.
#[test]
fn a_license_in_grace_comes_after_those_in_force() {
    let graced = || license(Active, days(-1)).grace(2);
    let full = || license(Active, None).seats(1, 1);
    for (condition, licenses, wanted) in [
        ("alone", vec![graced()], ExpectedDecision::Take(0)),
        ("held", vec![graced().held()], ExpectedDecision::Keep(0)),
        ("not ended", vec![license(Active, days(1)).grace(2)], ExpectedDecision::Take(0)),
        ("over", vec![license(Active, days(-2)).grace(2)], EXPIRED),
        ("full", vec![graced().seats(1, 1)], EXPIRED),
        (
            "full and floating",
            vec![graced().seats(1, 1).floating(None)],
            ExpectedDecision::TakeOver(0),
        ),
        ("of a set status", vec![license(Expired, days(-1)).grace(2)], EXPIRED),
        ("suspended", vec![license(Suspended, days(-1)).grace(2)], SUSPENDED),
        (
            "before one in force",
            vec![graced().held(), license(Active, None)],
            ExpectedDecision::Take(1),
        ),
        ("after a full one", vec![full(), graced()], ExpectedDecision::Take(1)),
        ("full, after a full one", vec![full(), graced().seats(1, 1)], EXCEEDED_SEATS),
        ("the first with a seat", vec![graced().seats(1, 1), graced()], ExpectedDecision::Take(1)),
        ("of another product", vec![graced().of(2)], ExpectedDecision::Take(0)),
    ] {
        assert_eq!(outcome(&licenses, None, now()), wanted, "{condition}");
    }
    assert_eq!(outcome(&[graced().of(2)], Some(product(1)), now()), NO_LICENSE);
}

/// Section 4 of the specification, processing rule 3: the first license that is active and not
/// expired decides, unless the user holds a seat on another one.
#[test]
fn the_first_license_in_force_decides() {
    let full = || license(Active, None).seats(1, 1);
    let free = || license(Active, None);
    for (condition, licenses, wanted) in [
        ("two in force", vec![free(), free()], ExpectedDecision::Take(0)),
        ("the first expired", vec![license(Active, days(-1)), free()], ExpectedDecision::Take(1)),
        (
            "the first revoked",
            vec![license(Revoked, None), free().held()],
            ExpectedDecision::Keep(1),
        ),
        ("the first full", vec![full(), free()], EXCEEDED_SEATS),
        ("the first full, the second held", vec![full(), free().held()], ExpectedDecision::Keep(1)),
    ] {
        assert_eq!(outcome(&licenses, None, now()), wanted, "{condition}");
    }
}

/// A stranger who has a license key can claim the license for a user. That must not refuse the user.
#[test]
fn a_license_that_was_put_first_refuses_no_user() {
    let free = || license(Active, None);
    let full = || free().seats(1, 1);
    let claimed = || full().put_first();
    let maybe_idle = || claimed().floating(None);
    let waiting = || {
        let mut waiting = free().put_first();
        waiting.terms.starts_with_days = Some("30".parse().unwrap());
        waiting
    };
    let keep = ExpectedDecision::Keep(1);
    for (condition, licenses, wanted) in [
        ("the other held", vec![claimed(), full().held()], keep),
        ("the other free", vec![claimed(), free()], ExpectedDecision::Take(1)),
        ("the other full", vec![claimed(), full()], EXCEEDED_SEATS),
        ("two claimed, one free", vec![claimed(), free().put_first()], ExpectedDecision::Take(1)),
        ("two claimed, both full", vec![claimed(), claimed(), free()], ExpectedDecision::Take(2)),
        ("one is examined that is not claimed", vec![claimed(), full(), free()], EXCEEDED_SEATS),
        (
            "no new seat while one is held",
            vec![claimed(), free().put_first(), full().held()],
            ExpectedDecision::Keep(2),
        ),
        ("an idle seat", vec![maybe_idle(), full().held()], ExpectedDecision::TakeOver(0)),
        ("none is idle", vec![claimed().floating(days(1)), full().held()], keep),
        ("held and suspended", vec![claimed(), license(Suspended, None).held()], EXCEEDED_SEATS),
        ("held, in grace", vec![claimed(), license(Active, days(-1)).grace(2).held()], keep),
        ("waiting, with room", vec![waiting(), full().held()], ExpectedDecision::Take(0)),
    ] {
        assert_eq!(outcome(&licenses, None, now()), wanted, "{condition}");
    }
    let of_another = [claimed(), full().held().of(2)];
    assert_eq!(outcome(&of_another, Some(product(1)), now()), EXCEEDED_SEATS);
    assert_eq!(outcome(&of_another, None, now()), keep);
    let verdicts = verdicts(&[claimed(), free().put_first(), full().held()], None, now());
    assert_eq!(verdicts, [Verdict::ExceededSeats, Verdict::NotReached, Verdict::Valid]);
}

#[test]
fn the_reason_is_the_most_fixable_one() {
    let (expired, suspended, revoked) =
        (license(Active, days(-1)), license(Suspended, None), license(Revoked, None));
    for (licenses, wanted) in [
        (vec![revoked.clone(), suspended.clone(), expired.clone()], EXPIRED),
        (vec![expired, revoked.clone()], EXPIRED),
        (vec![revoked.clone(), suspended], SUSPENDED),
        (vec![revoked.clone(), revoked], REVOKED),
    ] {
        assert_eq!(outcome(&licenses, None, now()), wanted);
    }
}

#[test]
fn a_product_hides_the_licenses_of_others() {
    let licenses = [license(Active, None).of(1), license(Suspended, None).of(2)];
    assert_eq!(outcome(&licenses, Some(product(1)), now()), ExpectedDecision::Take(0));
    assert_eq!(outcome(&licenses, Some(product(2)), now()), SUSPENDED);
    assert_eq!(outcome(&licenses, Some(product(3)), now()), NO_LICENSE);
}

#[test]
fn every_license_has_a_verdict() {
    let licenses = [
        license(Revoked, None),
        license(Active, None).of(2),
        license(Active, None).seats(1, 1),
        license(Active, None),
        license(Suspended, None),
        license(Active, days(-1)),
    ];
    let expected = [
        Verdict::Revoked,
        Verdict::OtherProduct,
        Verdict::ExceededSeats,
        Verdict::NotReached,
        Verdict::Suspended,
        Verdict::Expired,
    ];
    assert_eq!(verdicts(&licenses, Some(product(1)), now()), expected);
}

//! The decision: whether a user with these licenses is licensed.
//!
//! It is pure: everything it needs is an argument, and it has no side effects. The tests contain
//! the specification's table of conditions.

use common::{Activation, License, ProductId, Reason, Status, Timestamp, Verdict};

use crate::store::validations::AssignedLicense;

#[derive(Clone, Copy, Debug)]
pub enum Decision<'l> {
    /// Valid: the user already holds this seat on the license.
    Keep(&'l AssignedLicense, &'l Activation),
    /// Valid, after the user takes a free seat on the license.
    Take(&'l AssignedLicense),
    /// Valid, if a seat of the floating license is idle, which the user then takes over.
    TakeOver(&'l AssignedLicense),
    /// Not valid. The license is the one that gave the reason: the selected one if it has no free
    /// seat, otherwise the first with the most fixable fault. None if the user has no license.
    Refuse(Reason, Option<&'l License>),
}

/// Decides. `licenses` are in the order of their places, and in that of assignment. The first that
/// is active and not past its expiry is selected; only that one counts, seats included. If there is
/// none, or it has no seat, the first in grace that has one is.
pub fn decide(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Decision<'_> {
    let selected = selected(licenses, product, now);
    if let Some(granted) = selected.and_then(|selected| grant(selected, now)) {
        return granted;
    }
    let of_product = licenses.iter().filter(|assigned| is_of(assigned, product));
    let in_grace =
        of_product.clone().filter(|assigned| assigned.license.is_in_grace(&assigned.terms, now));
    if let Some(granted) = in_grace.filter_map(|assigned| grant(assigned, now)).next() {
        return granted;
    }
    if let Some(selected) = selected {
        return Decision::Refuse(Reason::ExceededSeats, Some(&selected.license));
    }
    let faults = of_product.filter_map(|of| Some((fault(&of.license, now)?, &of.license)));
    // `max_by_key` returns the last of equal faults, hence `rev`.
    match faults.rev().max_by_key(|(fault, _)| *fault) {
        Some((fault, license)) => Decision::Refuse(fault.into(), Some(license)),
        None => Decision::Refuse(Reason::NoLicense, None),
    }
}

/// How the user gets a seat on the license, if the user holds one, or one is free or may be idle.
fn grant(assigned: &AssignedLicense, now: Timestamp) -> Option<Decision<'_>> {
    match &assigned.seat {
        Some(seat) => Some(Decision::Keep(assigned, seat)),
        None if has_room(assigned) => Some(Decision::Take(assigned)),
        None if assigned.may_have_idle_seats(now) => Some(Decision::TakeOver(assigned)),
        None => None,
    }
}

/// The verdict of a validation on each license, for explanations.
pub fn verdicts(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Vec<Verdict> {
    let selected = selected(licenses, product, now);
    let granted = match decide(licenses, product, now) {
        Decision::Keep(by, _) | Decision::Take(by) | Decision::TakeOver(by) => Some(by),
        Decision::Refuse(..) => None,
    };
    let is = |one: Option<&AssignedLicense>, assigned| {
        one.is_some_and(|one| std::ptr::eq(one, assigned))
    };
    let verdict = |assigned: &AssignedLicense| match fault(&assigned.license, now) {
        _ if !is_of(assigned, product) => Verdict::OtherProduct,
        _ if is(granted, assigned) => Verdict::Valid,
        Some(Fault::Expired) => Verdict::Expired,
        Some(Fault::Suspended) => Verdict::Suspended,
        Some(Fault::Revoked) => Verdict::Revoked,
        None if is(selected, assigned) => Verdict::ExceededSeats,
        None => Verdict::NotReached,
    };
    licenses.iter().map(verdict).collect()
}

/// The fault of a license, ordered from least to most fixable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Revoked,
    Suspended,
    Expired,
}

impl From<Fault> for Reason {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Expired => Self::Expired,
            Fault::Suspended => Self::Suspended,
            Fault::Revoked => Self::Revoked,
        }
    }
}

fn fault(license: &License, now: Timestamp) -> Option<Fault> {
    match license.effective_status(now) {
        Status::Expired => Some(Fault::Expired),
        Status::Suspended => Some(Fault::Suspended),
        Status::Revoked => Some(Fault::Revoked),
        Status::Active => None,
    }
}

fn is_of(assigned: &AssignedLicense, product: Option<ProductId>) -> bool {
    product.is_none_or(|wanted| assigned.license.product_id == wanted)
}

fn has_room(assigned: &AssignedLicense) -> bool {
    assigned.license.max_seats.is_none_or(|max| assigned.seats_used < max.get())
}

fn selected(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Option<&AssignedLicense> {
    licenses
        .iter()
        .find(|assigned| is_of(assigned, product) && fault(&assigned.license, now).is_none())
}

#[cfg(test)]
mod tests;

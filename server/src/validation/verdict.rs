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
    /// Not valid. The license is the one that gave the reason: the selected one if it has no free
    /// seat, otherwise the first with the most fixable fault. None if the user has no license.
    Refuse(Reason, Option<&'l License>),
}

/// Decides. `licenses` are in the order of their places, and in that of assignment. The first that
/// is active and not past its expiry is selected; only that one counts, seats included.
pub fn decide(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Decision<'_> {
    if let Some(selected) = selected(licenses, product, now) {
        return match &selected.seat {
            Some(seat) => Decision::Keep(selected, seat),
            None if has_room(selected) => Decision::Take(selected),
            None => Decision::Refuse(Reason::ExceededSeats, Some(&selected.license)),
        };
    }
    let faults = licenses.iter().filter(|assigned| is_of(assigned, product));
    let faults = faults.filter_map(|of| Some((fault(&of.license, now)?, &of.license)));
    // `max_by_key` returns the last of equal faults, hence `rev`.
    match faults.rev().max_by_key(|(fault, _)| *fault) {
        Some((fault, license)) => Decision::Refuse(fault.into(), Some(license)),
        None => Decision::Refuse(Reason::NoLicense, None),
    }
}

/// The verdict of a validation on each license, for explanations.
pub fn verdicts(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Vec<Verdict> {
    let selected = selected(licenses, product, now);
    let is_selected = |assigned| selected.is_some_and(|selected| std::ptr::eq(selected, assigned));
    let verdict = |assigned: &AssignedLicense| match fault(&assigned.license, now) {
        _ if !is_of(assigned, product) => Verdict::OtherProduct,
        Some(Fault::Expired) => Verdict::Expired,
        Some(Fault::Suspended) => Verdict::Suspended,
        Some(Fault::Revoked) => Verdict::Revoked,
        None if !is_selected(assigned) => Verdict::NotReached,
        None if assigned.seat.is_some() || has_room(assigned) => Verdict::Valid,
        None => Verdict::ExceededSeats,
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

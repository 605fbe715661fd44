//! The decision whether a user is licensed.
//!
//! [`decide`] is a pure function of licenses and a time. The tests contain the specification's
//! table of conditions (section 3).

use common::{Activation, License, ProductId, Reason, Status, Timestamp, Verdict};

use crate::store::validations::AssignedLicense;

/// Decision of a validation.
#[derive(Clone, Copy, Debug)]
pub enum Decision<'l> {
    /// Valid: the user holds this seat on the license.
    Keep(&'l AssignedLicense, &'l Activation),
    /// Valid after the user has taken a free seat on the license.
    Take(&'l AssignedLicense),
    /// Valid after the user has taken over an idle seat of the floating license, if there is one.
    TakeOver(&'l AssignedLicense),
    /// Not valid. The license is the one that gave the reason: the selected license if it has no
    /// free seat, otherwise the first one with the most fixable fault. `None` if the user has no
    /// license.
    Refuse(Reason, Option<&'l License>),
}

/// Decides for a user with these licenses, which are ordered by place and then by assignment. A
/// license is *in force* if it is active and before its end. The first license in force decides if
/// it has a seat for the user. Otherwise the decision is, in this order:
///
/// 1. the first license in force on which the user holds a seat, because a seat holder is never
///    refused;
/// 2. the next license in force that has a seat. All licenses that were put first are considered,
///    and one more, because a claim must never turn a valid answer into a refusal;
/// 3. the first license in its grace period that has a seat.
pub fn decide(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Decision<'_> {
    let of_product = licenses.iter().filter(|assigned| is_of(assigned, product));
    let in_force = of_product.clone().filter(|assigned| fault(&assigned.license, now).is_none());
    let first = in_force.clone().next();
    if let Some(granted) = first.and_then(|first| grant(first, now)) {
        return granted;
    }
    let held = in_force.filter_map(|assigned| Some((assigned, assigned.seat.as_ref()?)));
    if let Some((assigned, seat)) = held.clone().next() {
        return Decision::Keep(assigned, seat);
    }
    let reached = reached(licenses, product, now).into_iter();
    let in_grace =
        of_product.clone().filter(|assigned| assigned.license.is_in_grace(&assigned.terms, now));
    let granted = reached.chain(in_grace).find_map(|assigned| grant(assigned, now));
    if let Some(granted) = granted {
        return granted;
    }
    if let Some(first) = first {
        return Decision::Refuse(Reason::ExceededSeats, Some(&first.license));
    }
    let faults = of_product.filter_map(|of| Some((fault(&of.license, now)?, &of.license)));
    // `max_by_key` returns the last of equal faults, hence `rev`.
    match faults.rev().max_by_key(|(fault, _)| *fault) {
        Some((fault, license)) => Decision::Refuse(fault.into(), Some(license)),
        None => Decision::Refuse(Reason::NoLicense, None),
    }
}

/// Returns the licenses in force that are examined for a free seat, up to the first that has one: the
/// licenses that were put first, and the first of the others.
fn reached(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Vec<&AssignedLicense> {
    let mut reached = Vec::new();
    let in_force = licenses
        .iter()
        .filter(|assigned| is_of(assigned, product) && fault(&assigned.license, now).is_none());
    for assigned in in_force {
        reached.push(assigned);
        if !assigned.is_put_first || grant(assigned, now).is_some() {
            break;
        }
    }
    reached
}

/// Returns how the user gets a seat on the license. `None` if no seat is held, free, or possibly
/// idle.
fn grant(assigned: &AssignedLicense, now: Timestamp) -> Option<Decision<'_>> {
    match &assigned.seat {
        Some(seat) => Some(Decision::Keep(assigned, seat)),
        None if has_room(assigned) => Some(Decision::Take(assigned)),
        None if assigned.may_have_idle_seats(now) => Some(Decision::TakeOver(assigned)),
        None => None,
    }
}

/// Whether a license is valid for a user who holds a seat on it, in force or in its grace period.
pub fn is_valid(assigned: &AssignedLicense, now: Timestamp) -> bool {
    let AssignedLicense { license, terms, .. } = assigned;
    fault(license, now).is_none() || license.is_in_grace(terms, now)
}

/// Returns the verdict of a validation on each license, for explanations.
pub fn verdicts(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Vec<Verdict> {
    let reached = reached(licenses, product, now);
    let granted = match decide(licenses, product, now) {
        Decision::Keep(by, _) | Decision::Take(by) | Decision::TakeOver(by) => Some(by),
        Decision::Refuse(..) => None,
    };
    let is_full = |assigned: &AssignedLicense| {
        let is_reached = reached.iter().any(|reached| std::ptr::eq(*reached, assigned));
        is_reached && grant(assigned, now).is_none()
    };
    let verdict = |assigned: &AssignedLicense| match fault(&assigned.license, now) {
        _ if !is_of(assigned, product) => Verdict::OtherProduct,
        _ if granted.is_some_and(|granted| std::ptr::eq(granted, assigned)) => Verdict::Valid,
        Some(Fault::Expired) => Verdict::Expired,
        Some(Fault::Suspended) => Verdict::Suspended,
        Some(Fault::Revoked) => Verdict::Revoked,
        None if is_full(assigned) => Verdict::ExceededSeats,
        None => Verdict::NotReached,
    };
    licenses.iter().map(verdict).collect()
}

/// Fault of a license, ordered from least to most fixable.
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

#[cfg(test)]
mod tests;

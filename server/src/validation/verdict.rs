//! The decision: is this user licensed, given the licenses that the user has?
//!
//! Pure: it takes all that it needs as arguments and has no effect. The interface's table of
//! conditions is the table of the tests.

use std::cmp::Reverse;

use common::{License, ProductId, Reason, Status, Timestamp, Verdict};

use crate::store::validations::AssignedLicense;

/// The decision for a user. Numbers are places in the user's licenses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Valid; the user holds a seat on this license already.
    Keep(usize),
    /// Valid, once the user is given a free seat on this license.
    Take(usize),
    /// Not valid. The license that was selected, if one was, has no seat for the user.
    Refuse(Reason),
}

/// Decides. `licenses` are in the order of assignment; the first that is active and not past its
/// expiry is selected, and it alone decides, seats included.
pub fn decide(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Decision {
    match selected(licenses, product, now) {
        Some(at) if licenses[at].seat.is_some() => Decision::Keep(at),
        Some(at) if has_room(&licenses[at]) => Decision::Take(at),
        Some(_) => Decision::Refuse(Reason::ExceededSeats),
        None => Decision::Refuse(reason(licenses, product, now)),
    }
}

/// The license that gives the reason of a refusal: the selected one, or the first of those with the
/// most fixable fault. None if the user has no license.
pub fn deciding(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Option<usize> {
    let faults = licenses.iter().enumerate().filter(|(_, assigned)| is_of(assigned, product));
    let faults = faults.map(|(at, assigned)| (fault(&assigned.license, now), Reverse(at)));
    selected(licenses, product, now).or_else(|| faults.max().map(|(_, Reverse(first))| first))
}

/// The verdict of a validation on each license, for explanations.
pub fn verdicts(
    licenses: &[AssignedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> Vec<Verdict> {
    let selected = selected(licenses, product, now);
    let verdict = |(at, assigned): (usize, &AssignedLicense)| match fault(&assigned.license, now) {
        _ if !is_of(assigned, product) => Verdict::OtherProduct,
        Some(Fault::Expired) => Verdict::Expired,
        Some(Fault::Suspended) => Verdict::Suspended,
        Some(Fault::Revoked) => Verdict::Revoked,
        None if selected != Some(at) => Verdict::NotReached,
        None if assigned.seat.is_some() || has_room(assigned) => Verdict::Valid,
        None => Verdict::ExceededSeats,
    };
    licenses.iter().enumerate().map(verdict).collect()
}

/// The fault of a license, the most fixable last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Revoked,
    Suspended,
    Expired,
}

/// A license past its expiry is expired, whatever its status.
fn fault(license: &License, now: Timestamp) -> Option<Fault> {
    let past = license.expires_at.is_some_and(|end| end <= now);
    match license.status {
        Status::Expired => Some(Fault::Expired),
        _ if past => Some(Fault::Expired),
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
) -> Option<usize> {
    licenses
        .iter()
        .position(|assigned| is_of(assigned, product) && fault(&assigned.license, now).is_none())
}

/// With nothing selected, one reason: that of the license with the most fixable fault.
fn reason(licenses: &[AssignedLicense], product: Option<ProductId>, now: Timestamp) -> Reason {
    let faults = licenses.iter().filter(|assigned| is_of(assigned, product));
    match faults.filter_map(|assigned| fault(&assigned.license, now)).max() {
        Some(Fault::Expired) => Reason::Expired,
        Some(Fault::Suspended) => Reason::Suspended,
        Some(Fault::Revoked) => Reason::Revoked,
        None => Reason::NoLicense,
    }
}

#[cfg(test)]
mod tests;

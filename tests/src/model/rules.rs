//! The service as its interface describes it, for one call after another: no I/O, no concurrency,
//! and none of licd's own code.

use std::collections::{BTreeMap, BTreeSet};

use common::{ActivationId, AssignmentId, Reason, Status};

use super::scenario::{Call, Expiry, PRODUCTS, Terms, product_of};

/// The answer to a call. Licenses are numbers, and ids are as licd gave them: the holder of a seat
/// gets the same id as long as the seat is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallResult {
    Valid {
        license: usize,
        terms: Terms,
        seat: ActivationId,
    },
    Invalid(Reason),
    UnknownProduct,
    Explained(Option<Reason>),
    Assigned {
        id: AssignmentId,
        new: bool,
    },
    Unassigned(AssignmentId),
    NotAssigned,
    License(Terms),
    User {
        new: bool,
    },
    Deleted,
    NoUser,
    Usage {
        terms: Terms,
        seats: BTreeSet<ActivationId>,
    },
    Released(BTreeSet<usize>),
    Transferred {
        id: AssignmentId,
        seat: Option<ActivationId>,
    },
    /// The receiver of a transfer has the license already.
    HasIt,
}

/// All that the service remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub licenses: Vec<Terms>,
    /// Which of them have an idle time.
    pub floating: Vec<bool>,
    /// The idle seats that may be taken over, by license, longest unchecked first.
    pub idle: BTreeMap<usize, Vec<ActivationId>>,
    /// The known users, each with the licenses in the order of assignment.
    pub users: BTreeMap<usize, BTreeMap<AssignmentId, HeldLicense>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLicense {
    pub license: usize,
    pub seat: Option<ActivationId>,
}

/// The result of a validation.
enum Outcome {
    Keep(AssignmentId),
    Take(AssignmentId),
    /// After so many idle seats were freed.
    TakeOver(AssignmentId, usize),
    Refuse(Reason),
}

impl State {
    /// The seats that are held on a license.
    pub fn seats(&self, license: usize) -> BTreeSet<ActivationId> {
        let links = self.users.values().flat_map(BTreeMap::values);
        links.filter(|link| link.license == license).filter_map(|link| link.seat).collect()
    }

    /// Applies the call, and returns whether `result` is its answer. If not, the state is unusable.
    pub fn explains(&mut self, call: Call, result: &CallResult) -> bool {
        match call {
            Call::Validate { product: Some(PRODUCTS..), .. } => {
                *result == CallResult::UnknownProduct
            }
            Call::Explain { product: Some(PRODUCTS..), .. } => {
                *result == CallResult::UnknownProduct
            }
            Call::Validate { user, product } => self.validate(user, product, result),
            Call::Explain { user, product } => *result == self.explain(user, product),
            Call::Assign { user, license } => self.assign(user, license, result),
            Call::Unassign { user, license } => *result == self.unassign(user, license),
            Call::SetStatus { license, status } => {
                self.licenses[license].status = status;
                *result == CallResult::License(self.licenses[license])
            }
            Call::SetSeats { license, max_seats } => {
                if max_seats.is_some() && self.licenses[license].max_seats.is_none() {
                    // Its seats are floating from now on, and nobody has been idle.
                    self.idle.remove(&license);
                }
                self.licenses[license].max_seats = max_seats;
                *result == CallResult::License(self.licenses[license])
            }
            Call::SetExpiry { license, expiry } => {
                self.licenses[license].expiry = expiry;
                *result == CallResult::License(self.licenses[license])
            }
            Call::MakeUser { user } => {
                let new = self.users.insert(user, self.links(user)).is_none();
                *result == CallResult::User { new }
            }
            Call::DeleteUser { user } => {
                self.links(user).values().for_each(|link| self.free(link.seat));
                let known = self.users.remove(&user).is_some();
                *result == if known { CallResult::Deleted } else { CallResult::NoUser }
            }
            Call::Release { user } => *result == self.release(user),
            Call::Transfer { user, to, license } => self.transfer([user, to], license, result),
            Call::Usage { license } => {
                let terms = self.licenses[license];
                *result == CallResult::Usage { terms, seats: self.seats(license) }
            }
        }
    }

    fn links(&self, user: usize) -> BTreeMap<AssignmentId, HeldLicense> {
        self.users.get(&user).cloned().unwrap_or_default()
    }

    fn validate(&mut self, user: usize, product: Option<usize>, result: &CallResult) -> bool {
        let outcome = self.outcome(user, product);
        self.users.entry(user).or_default();
        let (at, new) = match outcome {
            Outcome::Keep(at) => {
                let seat = self.users[&user][&at].seat;
                self.free(seat);
                (at, false)
            }
            Outcome::Take(at) => (at, true),
            Outcome::TakeOver(at, count) => {
                let license = self.users[&user][&at].license;
                let taken = self.idle[&license][..count].to_vec();
                for seat in taken {
                    self.free(Some(seat));
                    for link in self.users.values_mut().flat_map(BTreeMap::values_mut) {
                        link.seat = link.seat.filter(|held| *held != seat);
                    }
                }
                (at, true)
            }
            Outcome::Refuse(reason) => {
                if reason == Reason::ExceededSeats {
                    self.note_exhausted(user, product);
                }
                return *result == CallResult::Invalid(reason);
            }
        };
        let links = self.users.entry(user).or_default();
        let (Some(link), CallResult::Valid { license, terms, seat }) = (links.get_mut(&at), result)
        else {
            return false;
        };
        if new {
            link.seat = Some(*seat);
        }
        let right = (link.license, self.licenses[link.license], link.seat);
        right == (*license, *terms, Some(*seat))
    }

    fn explain(&self, user: usize, product: Option<usize>) -> CallResult {
        if !self.users.contains_key(&user) {
            return CallResult::Explained(Some(Reason::UserNotFound));
        }
        CallResult::Explained(match self.outcome(user, product) {
            Outcome::Keep(_) | Outcome::Take(_) | Outcome::TakeOver(..) => None,
            Outcome::Refuse(reason) => Some(reason),
        })
    }

    /// The first license that is active and not expired decides, seats included; without one, the
    /// reason that is easiest to mend.
    fn outcome(&self, user: usize, product: Option<usize>) -> Outcome {
        let links = self.links(user);
        let mut reasons = BTreeSet::new();
        for (at, link) in links {
            if product.is_some_and(|product| product != product_of(link.license)) {
                continue;
            }
            let terms = self.licenses[link.license];
            match (terms.expiry, terms.status) {
                (_, Status::Suspended) => reasons.insert(Reason::Suspended),
                (_, Status::Revoked) => reasons.insert(Reason::Revoked),
                (Expiry::Past, _) | (_, Status::Expired) => reasons.insert(Reason::Expired),
                (_, Status::Active) if link.seat.is_some() => return Outcome::Keep(at),
                (_, Status::Active) => {
                    let used = self.seats(link.license).len();
                    let full = terms.max_seats.is_some_and(|max| used >= max as usize);
                    let needed = (used + 1).saturating_sub(terms.max_seats.unwrap_or(0) as usize);
                    let idle = self.idle.get(&link.license).map_or(0, Vec::len);
                    return if !full {
                        Outcome::Take(at)
                    } else if self.floating[link.license] && idle >= needed {
                        Outcome::TakeOver(at, needed)
                    } else {
                        Outcome::Refuse(Reason::ExceededSeats)
                    };
                }
            };
        }
        let wanted = [Reason::Expired, Reason::Suspended, Reason::Revoked];
        let reason = wanted.into_iter().find(|reason| reasons.contains(reason));
        Outcome::Refuse(reason.unwrap_or(Reason::NoLicense))
    }

    /// The seat is not idle any more: it was checked, or is gone.
    fn free(&mut self, seat: Option<ActivationId>) {
        for idle in self.idle.values_mut() {
            idle.retain(|idle| Some(*idle) != seat);
        }
        self.idle.retain(|_, seats| !seats.is_empty());
    }

    /// Too few seats are idle, and licd notes when the next one can be: those that are stay.
    fn note_exhausted(&mut self, user: usize, product: Option<usize>) {
        let links = self.links(user);
        let selected = links.values().find(|link| {
            let terms = self.licenses[link.license];
            product.is_none_or(|product| product == product_of(link.license))
                && terms.status == Status::Active
                && terms.expiry != Expiry::Past
        });
        if let Some(link) = selected.filter(|link| self.floating[link.license]) {
            self.idle.remove(&link.license);
        }
    }

    fn release(&mut self, user: usize) -> CallResult {
        let mut released = BTreeSet::new();
        for (at, link) in self.links(user) {
            let terms = self.licenses[link.license];
            if self.floating[link.license] && terms.max_seats.is_some() && link.seat.is_some() {
                released.insert(link.license);
                self.free(link.seat);
                self.users.get_mut(&user).unwrap().get_mut(&at).unwrap().seat = None;
            }
        }
        CallResult::Released(released)
    }

    fn assign(&mut self, user: usize, license: usize, result: &CallResult) -> bool {
        let links = self.users.entry(user).or_default();
        let known = links.iter().find(|(_, link)| link.license == license);
        match (known, result) {
            (Some((known, _)), CallResult::Assigned { id, new: false }) => known == id,
            (None, CallResult::Assigned { id, new: true }) => {
                links.insert(*id, HeldLicense { license, seat: None }).is_none()
            }
            _ => false,
        }
    }

    fn transfer(&mut self, [user, to]: [usize; 2], license: usize, result: &CallResult) -> bool {
        let link_of = |links: BTreeMap<AssignmentId, HeldLicense>| {
            links.into_iter().find(|(_, link)| link.license == license)
        };
        let kept = link_of(self.links(to));
        let Some((given, link)) = link_of(self.links(user)) else {
            return *result == CallResult::NotAssigned;
        };
        if kept.is_some_and(|(_, kept)| kept.seat.is_some() || link.seat.is_none()) {
            return *result == CallResult::HasIt;
        }
        let CallResult::Transferred { id, seat } = *result else { return false };
        self.free(link.seat);
        self.users.get_mut(&user).unwrap().remove(&given);
        let links = self.users.entry(to).or_default();
        let is_last = links.keys().next_back().is_none_or(|last| *last < id);
        links.insert(id, HeldLicense { license, seat });
        let is_right = kept.map_or(is_last, |(kept, _)| kept == id);
        // A seat that goes over is another one.
        let is_new = seat.is_none_or(|seat| Some(seat) != link.seat);
        is_right && is_new && seat.is_some() == link.seat.is_some()
    }

    fn unassign(&mut self, user: usize, license: usize) -> CallResult {
        let Some(links) = self.users.get_mut(&user) else { return CallResult::NotAssigned };
        let known = links.iter().find(|(_, link)| link.license == license);
        let Some((&id, _)) = known else { return CallResult::NotAssigned };
        let link = links.remove(&id);
        self.free(link.and_then(|link| link.seat));
        CallResult::Unassigned(id)
    }
}

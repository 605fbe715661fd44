//! The service as its interface describes it, for one call after another: no I/O, no concurrency,
//! and none of licd's own code.

mod seats;

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
    /// The assignment that a claim made, if it made one, and the answer.
    Claimed {
        id: Option<AssignmentId>,
        answer: Box<CallResult>,
    },
    /// All uses of a license key are taken.
    UsedUp,
    /// The receiver of a transfer has the license already.
    HasIt,
    /// A lease holds the seat.
    LeaseRunning,
}

impl CallResult {
    /// The seat that was given or checked.
    pub fn seat(&self) -> Option<ActivationId> {
        match self {
            Self::Valid { seat, .. } => Some(*seat),
            Self::Transferred { seat, .. } => *seat,
            Self::Claimed { answer, .. } => answer.seat(),
            _ => None,
        }
    }
}

/// All that the service remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelState {
    pub licenses: Vec<Terms>,
    /// Licenses with an idle time.
    pub floating: Vec<bool>,
    /// Licenses that are valid for some time past their end.
    pub has_grace: Vec<bool>,
    /// Licenses that wait for their first validation.
    pub waits: Vec<bool>,
    /// The idle seats that may be taken over, by license, longest unchecked first.
    pub idle: BTreeMap<usize, Vec<ActivationId>>,
    /// The known users, each with the licenses in the order of assignment.
    pub users: BTreeMap<usize, BTreeMap<AssignmentId, HeldLicense>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLicense {
    pub license: usize,
    pub seat: Option<ActivationId>,
    /// Licenses with a lower one come before others.
    pub place: i64,
    /// With the license's key, which has a use less for it.
    pub is_claimed: bool,
    /// Whether a lease holds the seat.
    pub is_leased: bool,
}

impl HeldLicense {
    fn new(license: usize) -> Self {
        Self { license, seat: None, place: 0, is_claimed: false, is_leased: false }
    }
}

/// The result of a validation.
enum ExpectedOutcome {
    Keep(AssignmentId),
    Take(AssignmentId),
    /// Take-over after this many idle seats were freed.
    TakeOver(AssignmentId, usize),
    Refuse(Reason),
}

impl ModelState {
    /// The seats that are held on a license.
    pub fn seats(&self, license: usize) -> BTreeSet<ActivationId> {
        let links = self.users.values().flat_map(BTreeMap::values);
        links.filter(|link| link.license == license).filter_map(|link| link.seat).collect()
    }

    /// The seats that leases hold.
    pub fn leased(&self) -> BTreeSet<ActivationId> {
        let links = self.users.values().flat_map(BTreeMap::values);
        links.filter(|link| link.is_leased).filter_map(|link| link.seat).collect()
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
            Call::Lease { product: PRODUCTS.., .. } => *result == CallResult::UnknownProduct,
            Call::Lease { user, product } => self.lease(user, product, result),
            Call::Explain { user, product } => *result == self.explain(user, product),
            Call::Assign { user, license } => self.assign(user, license, result),
            Call::Unassign { user, license, drop } => *result == self.unassign(user, license, drop),
            Call::SetStatus { license, status } => {
                self.licenses[license].status = status;
                *result == CallResult::License(self.licenses[license])
            }
            Call::SetSeats { license, max_seats } => {
                if max_seats.is_some() && self.licenses[license].max_seats.is_none() {
                    // Its seats are floating from now on, and no holder is idle yet.
                    self.idle.remove(&license);
                }
                self.licenses[license].max_seats = max_seats;
                *result == CallResult::License(self.licenses[license])
            }
            Call::SetExpiry { license, expiry } => {
                self.waits[license] = false;
                self.licenses[license].expiry = expiry;
                *result == CallResult::License(self.licenses[license])
            }
            Call::MakeUser { user } => {
                let new = self.users.insert(user, self.links(user)).is_none();
                *result == CallResult::User { new }
            }
            Call::DeleteUser { user, drop } => {
                if self.links(user).values().any(|link| link.is_leased) && !drop {
                    return *result == CallResult::LeaseRunning;
                }
                self.links(user).values().for_each(|link| self.free(link.seat));
                let known = self.users.remove(&user).is_some();
                *result == if known { CallResult::Deleted } else { CallResult::NoUser }
            }
            Call::Release { user } => *result == self.release(user),
            Call::Transfer { user, to, license, drop } => {
                self.transfer([user, to], license, drop, result)
            }
            Call::Claim { user, license, may_have } => {
                self.claim([user, license], may_have, result)
            }
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
        let decided = self.outcome(&self.links(user), product);
        self.users.entry(user).or_default();
        self.apply(user, decided, result)
    }

    /// A validation whose seat is held by a lease from then on.
    fn lease(&mut self, user: usize, product: usize, result: &CallResult) -> bool {
        let is_right = self.validate(user, Some(product), result);
        let links = self.users.get_mut(&user).into_iter().flat_map(BTreeMap::values_mut);
        let of_lease = |link: &&mut HeldLicense| link.seat.is_some() && link.seat == result.seat();
        links.filter(of_lease).for_each(|link| link.is_leased = true);
        is_right
    }

    /// Applies a validation to the seats. Returns whether `result` is a possible result.
    fn apply(
        &mut self,
        user: usize,
        (outcome, full): (ExpectedOutcome, Vec<usize>),
        result: &CallResult,
    ) -> bool {
        // Too few seats are idle, and licd notes when the next one can be: those that are stay.
        for license in full.into_iter().filter(|license| self.floating[*license]) {
            self.idle.remove(&license);
        }
        let (at, new) = match outcome {
            ExpectedOutcome::Keep(at) => {
                let seat = self.users[&user][&at].seat;
                self.free(seat);
                (at, false)
            }
            ExpectedOutcome::Take(at) => (at, true),
            ExpectedOutcome::TakeOver(at, count) => {
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
            ExpectedOutcome::Refuse(reason) => return *result == CallResult::Invalid(reason),
        };
        let links = self.users.entry(user).or_default();
        let (Some(link), CallResult::Valid { license, terms, seat }) = (links.get_mut(&at), result)
        else {
            return false;
        };
        if new {
            link.seat = Some(*seat);
        }
        if std::mem::take(&mut self.waits[link.license]) {
            self.licenses[link.license].expiry = Expiry::Future;
        }
        let right = (link.license, self.licenses[link.license], link.seat);
        right == (*license, *terms, Some(*seat))
    }

    fn explain(&self, user: usize, product: Option<usize>) -> CallResult {
        if !self.users.contains_key(&user) {
            return CallResult::Explained(Some(Reason::UserNotFound));
        }
        CallResult::Explained(match self.outcome(&self.links(user), product).0 {
            ExpectedOutcome::Keep(_) | ExpectedOutcome::Take(_) | ExpectedOutcome::TakeOver(..) => {
                None
            }
            ExpectedOutcome::Refuse(reason) => Some(reason),
        })
    }

    /// The first license in force decides if it has a seat. Otherwise one does on which the user
    /// holds a seat; then the first with a seat behind those that were put first, of the others
    /// only one; then the first in its grace that has one. Without one, the reason is the one that
    /// is easiest to mend. Also returns the licenses that were tried before, and have no seat.
    fn outcome(
        &self,
        links: &BTreeMap<AssignmentId, HeldLicense>,
        product: Option<usize>,
    ) -> (ExpectedOutcome, Vec<usize>) {
        let mut links: Vec<_> = links.iter().collect();
        links.sort_by_key(|(id, link)| (link.place, **id));
        let of_product = links
            .iter()
            .filter(|(_, link)| product.is_none_or(|product| product == product_of(link.license)));
        let active = of_product
            .clone()
            .filter(|(_, link)| self.licenses[link.license].status == Status::Active);
        let is_past = |link: &HeldLicense| self.licenses[link.license].expiry == Expiry::Past;
        let in_force: Vec<_> = active.clone().filter(|(_, link)| !is_past(link)).collect();
        let in_grace = active.filter(|(_, link)| is_past(link) && self.has_grace[link.license]);
        let first = in_force.first().copied();
        let held = in_force.iter().copied().find(|(_, link)| link.seat.is_some());
        let others = in_force.iter().skip_while(|(_, link)| link.place < 0).take(1);
        let put_first = in_force.iter().take_while(|(_, link)| link.place < 0);
        let behind = put_first.chain(others).skip(1).copied();
        let mut full = Vec::new();
        for (at, link) in first.into_iter().chain(held).chain(behind).chain(in_grace) {
            match self.grant(**at, link) {
                Some(outcome) => return (outcome, full),
                None => full.push(link.license),
            }
        }
        let reasons = of_product.map(|(_, link)| match self.licenses[link.license].status {
            Status::Suspended => Reason::Suspended,
            Status::Revoked => Reason::Revoked,
            Status::Active | Status::Expired => Reason::Expired,
        });
        let reasons: BTreeSet<Reason> = reasons.collect();
        let wanted = [Reason::Expired, Reason::Suspended, Reason::Revoked];
        let reason = wanted.into_iter().find(|reason| reasons.contains(reason));
        let reason = match first {
            Some(_) => Reason::ExceededSeats,
            None => reason.unwrap_or(Reason::NoLicense),
        };
        (ExpectedOutcome::Refuse(reason), full)
    }

    /// Returns the way in which the user of the assignment gets a seat, if there is one.
    fn grant(&self, at: AssignmentId, link: &HeldLicense) -> Option<ExpectedOutcome> {
        let max = self.licenses[link.license].max_seats;
        let used = self.seats(link.license).len();
        if link.seat.is_some() {
            return Some(ExpectedOutcome::Keep(at));
        }
        if max.is_none_or(|max| used < max as usize) {
            return Some(ExpectedOutcome::Take(at));
        }
        let needed = (used + 1).saturating_sub(max.unwrap_or(0) as usize);
        let idle = self.idle.get(&link.license).map_or(0, Vec::len);
        let is_there = self.floating[link.license] && idle >= needed;
        is_there.then_some(ExpectedOutcome::TakeOver(at, needed))
    }

    fn assign(&mut self, user: usize, license: usize, result: &CallResult) -> bool {
        let links = self.users.entry(user).or_default();
        let known = links.iter().find(|(_, link)| link.license == license);
        match (known, result) {
            (Some((known, _)), CallResult::Assigned { id, new: false }) => known == id,
            (None, CallResult::Assigned { id, new: true }) => {
                links.insert(*id, HeldLicense::new(license)).is_none()
            }
            _ => false,
        }
    }

    /// A claim gives the license of the key to the user, and puts it first if it is worth a seat.
    /// A user who had the license when the claim arrived is validated, whatever happened to it
    /// since.
    fn claim(&mut self, [user, license]: [usize; 2], may_have: bool, result: &CallResult) -> bool {
        let has_it = self.links(user).values().any(|link| link.license == license);
        let all = self.users.values().flat_map(BTreeMap::values);
        let uses = all.filter(|link| link.license == license && link.is_claimed).count();
        let max_seats = self.licenses[license].max_seats;
        let limit = max_seats.filter(|_| !self.floating[license]);
        let is_used_up = limit.is_some_and(|limit| uses >= limit as usize);
        let CallResult::Claimed { id, answer } = result else {
            return *result == CallResult::UsedUp && is_used_up && !has_it;
        };
        if has_it || is_used_up {
            return (has_it || may_have) && id.is_none() && self.validate(user, None, answer);
        }
        let mut claimed = HeldLicense { is_claimed: true, ..HeldLicense::new(license) };
        let alone = [(id.unwrap_or_default(), claimed)].into();
        let decided = self.outcome(&alone, None);
        let is_full = matches!(decided.0, ExpectedOutcome::Refuse(Reason::ExceededSeats));
        let is_left_alone = is_full && !self.floating[license];
        let Some(id) = id.filter(|_| !is_left_alone) else {
            let full = CallResult::Invalid(Reason::ExceededSeats);
            let may_be =
                is_left_alone && **answer == full || may_have && self.validate(user, None, answer);
            return id.is_none() && may_be;
        };
        let links = self.users.entry(user).or_default();
        let first = links.values().map(|link| link.place).min().unwrap_or(0);
        if !matches!(decided.0, ExpectedOutcome::Refuse(_)) {
            claimed.place = first.min(0) - 1;
        }
        links.insert(id, claimed);
        self.apply(user, decided, answer)
    }
}

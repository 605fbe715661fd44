//! Operations that take seats away, or hand them over.

use std::collections::{BTreeMap, BTreeSet};

use common::{ActivationId, AssignmentId};

use super::{CallResult, HeldLicense, ModelState};

impl ModelState {
    /// The seat is not idle any more: it was checked, or is gone.
    pub(super) fn free(&mut self, seat: Option<ActivationId>) {
        for idle in self.idle.values_mut() {
            idle.retain(|idle| Some(*idle) != seat);
        }
        self.idle.retain(|_, seats| !seats.is_empty());
    }

    pub(super) fn release(&mut self, user: usize) -> CallResult {
        let mut released = BTreeSet::new();
        for (at, link) in self.links(user) {
            let terms = self.licenses[link.license];
            let is_floating = self.floating[link.license] && terms.max_seats.is_some();
            if is_floating && link.seat.is_some() && !link.is_leased {
                released.insert(link.license);
                self.free(link.seat);
                self.users.get_mut(&user).unwrap().get_mut(&at).unwrap().seat = None;
            }
        }
        CallResult::Released(released)
    }

    pub(super) fn transfer(
        &mut self,
        [user, to]: [usize; 2],
        license: usize,
        drop: bool,
        result: &CallResult,
    ) -> bool {
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
        if link.is_leased && !drop {
            return *result == CallResult::LeaseRunning;
        }
        let CallResult::Transferred { id, seat } = *result else { return false };
        self.free(link.seat);
        self.users.get_mut(&user).unwrap().remove(&given);
        let links = self.users.entry(to).or_default();
        let is_last = links.keys().next_back().is_none_or(|last| *last < id);
        let own = kept.map_or(link, |(_, kept)| kept);
        links.insert(id, HeldLicense { seat, is_leased: false, ..own });
        let is_right = kept.map_or(is_last, |(kept, _)| kept == id);
        // A seat that goes over is another one.
        let is_new = seat.is_none_or(|seat| Some(seat) != link.seat);
        is_right && is_new && seat.is_some() == link.seat.is_some()
    }

    pub(super) fn unassign(&mut self, user: usize, license: usize, drop: bool) -> CallResult {
        let Some(links) = self.users.get_mut(&user) else { return CallResult::NotAssigned };
        let known = links.iter().find(|(_, link)| link.license == license);
        let Some((&id, link)) = known else { return CallResult::NotAssigned };
        if link.is_leased && !drop {
            return CallResult::LeaseRunning;
        }
        let link = links.remove(&id);
        self.free(link.and_then(|link| link.seat));
        CallResult::Unassigned(id)
    }
}

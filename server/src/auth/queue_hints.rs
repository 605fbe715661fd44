//! The lane in which a validation or a look-up of a key waits: by its tenant and its key. The cost
//! of a validation is estimated from earlier ones with that key.
//!
//! The tenant of a key is known only after its look-up, which is what a validation waits for. So
//! these hints come from earlier look-ups. They affect only the order of the queue: the key is
//! looked up for each request. Keys that have not been found yet share one lane.

use std::collections::HashMap;

use common::TenantId;
use parking_lot::Mutex;

use crate::store::keys::Hash;

/// Maximum number of remembered keys. At this number, all are dropped.
const MAX_KEYS: usize = 100_000;

/// The lane and the queue in which a request waits, and its expected cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// None for all keys whose tenant is not known yet.
    pub tenant: Option<TenantId>,
    pub key: Hash,
    pub cost: usize,
}

/// The tenants and costs of known keys.
#[derive(Default)]
pub struct QueueHints(Mutex<HashMap<Hash, (TenantId, usize)>>);

impl QueueHints {
    pub fn of(&self, key: &Hash) -> Placement {
        let places = self.0.lock();
        let known = places.get(key).copied();
        Placement {
            tenant: known.map(|(tenant, _)| tenant),
            key: *key,
            cost: known.map_or(1, |(_, cost)| cost),
        }
    }

    /// Notes the tenant of this key or session.
    pub fn observe_tenant(&self, key: &Hash, tenant: TenantId) {
        let mut places = self.0.lock();
        if places.contains_key(key) {
            return;
        }
        if places.len() >= MAX_KEYS {
            places.clear();
        }
        places.insert(*key, (tenant, 1));
    }

    /// Notes the tenant of this key, and how many licenses a validation read. A high cost decays as
    /// cheap validations follow.
    pub fn observe(&self, key: &Hash, tenant: TenantId, licenses: usize) {
        let mut places = self.0.lock();
        let before = places.get(key).map_or(0, |(_, cost)| *cost);
        let cost = licenses.max(before - before.div_ceil(8)).max(1);
        if before == 0 && places.len() >= MAX_KEYS {
            places.clear();
        }
        places.insert(*key, (tenant, cost));
    }
}

#[cfg(test)]
mod tests {
    use common::Timestamp;

    use super::*;

    #[test]
    fn a_look_up_makes_validations_no_cheaper() {
        let (hints, tenant) = (QueueHints::default(), TenantId::new(Timestamp::now()));
        hints.observe_tenant(&[1; 32], tenant);
        assert_eq!(hints.of(&[1; 32]), Placement { tenant: Some(tenant), key: [1; 32], cost: 1 });
        hints.observe(&[1; 32], tenant, 80);
        hints.observe_tenant(&[1; 32], tenant);
        assert_eq!(hints.of(&[1; 32]).cost, 80);
    }

    #[test]
    fn a_key_waits_in_the_lane_of_its_tenant_and_at_its_cost() {
        let (hints, tenant) = (QueueHints::default(), TenantId::new(Timestamp::now()));
        assert_eq!(hints.of(&[1; 32]), Placement { tenant: None, key: [1; 32], cost: 1 });
        hints.observe(&[1; 32], tenant, 80);
        assert_eq!(hints.of(&[1; 32]), Placement { tenant: Some(tenant), key: [1; 32], cost: 80 });
        hints.observe(&[1; 32], tenant, 0);
        assert_eq!(hints.of(&[1; 32]).cost, 70);
        for _ in 0..100 {
            hints.observe(&[1; 32], tenant, 0);
        }
        assert_eq!(hints.of(&[1; 32]).cost, 1);
        assert_eq!(hints.of(&[2; 32]).tenant, None);
    }
}

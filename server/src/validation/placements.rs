//! The placement of a validation in the queue, and of a look-up of a key: among those of its tenant
//! and key. A validation has the cost of the key's former ones.
//!
//! The tenant of a key is in the database, and that look-up is what a validation waits for. So
//! placements follow from earlier look-ups. They decide on the order of the queue and nothing else:
//! a key is looked up anew for each request. Keys that were not found yet, and unknown
//! ones, share one lane.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use common::TenantId;

use crate::store::keys::Hash;
use crate::validation::queue::Placement;

/// How many keys are remembered. Beyond, all are forgotten and learned anew.
const KEYS: usize = 100_000;

/// The tenants and costs of the keys that were seen.
#[derive(Default)]
pub struct Placements(Mutex<HashMap<Hash, (TenantId, usize)>>);

impl Placements {
    pub fn of(&self, key: &Hash) -> Placement {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = places.get(key).copied();
        Placement {
            tenant: known.map(|(tenant, _)| tenant),
            key: *key,
            cost: known.map_or(1, |(_, cost)| cost),
        }
    }

    /// Notes that this key, or this session, is the tenant's.
    pub fn learn_tenant(&self, key: &Hash, tenant: TenantId) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.contains_key(key) {
            return;
        }
        if places.len() >= KEYS {
            places.clear();
        }
        places.insert(*key, (tenant, 1));
    }

    /// Notes that a validation with this key was the tenant's and read so many licenses. A costly
    /// one is forgotten bit by bit as cheap ones follow.
    pub fn learn(&self, key: &Hash, tenant: TenantId, licenses: usize) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = places.get(key).map_or(0, |(_, cost)| *cost);
        let cost = licenses.max(before - before.div_ceil(8)).max(1);
        if before == 0 && places.len() >= KEYS {
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
        let (placements, tenant) = (Placements::default(), TenantId::new(Timestamp::now()));
        placements.learn_tenant(&[1; 32], tenant);
        assert_eq!(
            placements.of(&[1; 32]),
            Placement { tenant: Some(tenant), key: [1; 32], cost: 1 }
        );
        placements.learn(&[1; 32], tenant, 80);
        placements.learn_tenant(&[1; 32], tenant);
        assert_eq!(placements.of(&[1; 32]).cost, 80);
    }

    #[test]
    fn a_key_waits_in_the_lane_of_its_tenant_and_at_its_cost() {
        let (placements, tenant) = (Placements::default(), TenantId::new(Timestamp::now()));
        assert_eq!(placements.of(&[1; 32]), Placement { tenant: None, key: [1; 32], cost: 1 });
        placements.learn(&[1; 32], tenant, 80);
        assert_eq!(
            placements.of(&[1; 32]),
            Placement { tenant: Some(tenant), key: [1; 32], cost: 80 }
        );
        placements.learn(&[1; 32], tenant, 0);
        assert_eq!(placements.of(&[1; 32]).cost, 70);
        for _ in 0..100 {
            placements.learn(&[1; 32], tenant, 0);
        }
        assert_eq!(placements.of(&[1; 32]).cost, 1);
        assert_eq!(placements.of(&[2; 32]).tenant, None);
    }
}

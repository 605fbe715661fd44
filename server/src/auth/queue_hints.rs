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
use crate::store::{Scope, World};

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

/// The tenants, worlds and costs of known keys.
#[derive(Default)]
pub struct QueueHints(Mutex<HashMap<Hash, Hint>>);

#[derive(Clone, Copy)]
struct Hint {
    tenant: TenantId,
    /// The world of the key, which it never leaves. `None` before its first validation.
    world: Option<World>,
    cost: usize,
}

impl QueueHints {
    pub fn of(&self, key: &Hash) -> Placement {
        let places = self.0.lock();
        let known = places.get(key).copied();
        Placement {
            tenant: known.map(|hint| hint.tenant),
            key: *key,
            cost: known.map_or(1, |hint| hint.cost),
        }
    }

    pub fn world(&self, key: &Hash) -> Option<World> {
        self.0.lock().get(key)?.world
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
        places.insert(*key, Hint { tenant, world: None, cost: 1 });
    }

    /// Notes the tenant and the world of this key, and how many licenses a validation read. A high
    /// cost decays as cheap validations follow.
    pub fn observe(&self, key: &Hash, scope: Scope, licenses: usize) {
        let mut places = self.0.lock();
        let before = places.get(key).map_or(0, |hint| hint.cost);
        let cost = licenses.max(before - before.div_ceil(8)).max(1);
        if before == 0 && places.len() >= MAX_KEYS {
            places.clear();
        }
        places.insert(*key, Hint { tenant: scope.tenant, world: Some(scope.world), cost });
    }
}

#[cfg(test)]
mod tests {
    use common::{Mode, Timestamp};

    use super::*;

    fn scope() -> Scope {
        let tenant = TenantId::new(Timestamp::now());
        Scope { world: World::from(1), tenant, mode: Mode::Live }
    }

    #[test]
    fn a_look_up_makes_validations_no_cheaper() {
        let (hints, scope) = (QueueHints::default(), scope());
        hints.observe_tenant(&[1; 32], scope.tenant);
        assert_eq!(
            hints.of(&[1; 32]),
            Placement { tenant: Some(scope.tenant), key: [1; 32], cost: 1 }
        );
        hints.observe(&[1; 32], scope, 80);
        hints.observe_tenant(&[1; 32], scope.tenant);
        assert_eq!(hints.of(&[1; 32]).cost, 80);
    }

    #[test]
    fn a_key_waits_in_the_lane_of_its_tenant_and_at_its_cost() {
        let (hints, scope) = (QueueHints::default(), scope());
        assert_eq!(hints.of(&[1; 32]), Placement { tenant: None, key: [1; 32], cost: 1 });
        hints.observe(&[1; 32], scope, 80);
        assert_eq!(
            hints.of(&[1; 32]),
            Placement { tenant: Some(scope.tenant), key: [1; 32], cost: 80 }
        );
        hints.observe(&[1; 32], scope, 0);
        assert_eq!(hints.of(&[1; 32]).cost, 70);
        for _ in 0..100 {
            hints.observe(&[1; 32], scope, 0);
        }
        assert_eq!(hints.of(&[1; 32]).cost, 1);
        assert_eq!(hints.of(&[2; 32]).tenant, None);
    }
}

//! Memory that all requests of the process share. A request reserves the memory for its body, or
//! for its response until the caller has read it. If the budget is exhausted, the request is
//! refused immediately.
//!
//! A tenant may hold as much as it leaves free: half of a budget if no other tenant holds any, and
//! a third next to another tenant that does the same. So a greedy tenant leaves room for others.

use std::collections::HashMap;
use std::sync::LazyLock;

use common::TenantId;
use parking_lot::Mutex;

use crate::error::Error;

/// Of bodies of validations. Their keys ship inside applications, and so cannot use up what
/// administrators need.
pub static VALIDATIONS: Budget = Budget::new(4 * 1024 * 1024);
/// Of all other bodies, and of large answers.
pub static REQUESTS: Budget = Budget::new(64 * 1024 * 1024);

/// Memory that requests may use together, in bytes.
pub struct Budget {
    bytes: usize,
    held: LazyLock<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    /// Of each tenant that holds something; callers whose tenant is not known hold together.
    by_tenant: HashMap<Option<TenantId>, usize>,
}

impl Budget {
    const fn new(bytes: usize) -> Self {
        Self { bytes, held: LazyLock::new(Mutex::default) }
    }

    /// A reservation of no bytes yet, for this tenant or, if it is not known, for strangers.
    pub fn reserve(&'static self, tenant: Option<TenantId>) -> Reservation {
        Reservation { budget: self, tenant, bytes: 0 }
    }
}

/// The bytes that one request holds. They are free again when the value is dropped.
pub struct Reservation {
    budget: &'static Budget,
    tenant: Option<TenantId>,
    bytes: usize,
}

impl Reservation {
    /// Grows to this size; [`Error::Overloaded`] when the budget does not have the rest, or not for
    /// this tenant.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        let mut held = self.budget.held.lock();
        let all = held.bytes.saturating_add(more);
        let own = held.by_tenant.get(&self.tenant).map_or(0, |bytes| *bytes).saturating_add(more);
        if own > self.budget.bytes.saturating_sub(all) {
            return Err(Error::Overloaded);
        }
        held.bytes = all;
        held.by_tenant.insert(self.tenant, own);
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut held = self.budget.held.lock();
        held.bytes -= self.bytes;
        if let Some(own) = held.by_tenant.get_mut(&self.tenant) {
            *own -= self.bytes;
            if *own == 0 {
                held.by_tenant.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use common::Timestamp;

    use super::*;

    #[test]
    fn a_tenant_holds_as_much_as_it_leaves_free() {
        static BUDGET: Budget = Budget::new(120);
        let [one, other] = [(); 2].map(|()| Some(TenantId::new(Timestamp::now())));
        let mut first = BUDGET.reserve(one);
        assert_eq!(first.grow(50), Ok(()));
        assert_eq!(first.grow(40), Ok(()), "it is as large already");
        let mut second = BUDGET.reserve(one);
        assert_eq!(second.grow(11), Err(Error::Overloaded), "half of it is the tenant's");
        assert_eq!(second.grow(10), Ok(()));
        let mut others = BUDGET.reserve(other);
        assert_eq!(others.grow(31), Err(Error::Overloaded));
        assert_eq!(others.grow(30), Ok(()), "half of what the first left");
        assert_eq!(BUDGET.reserve(None).grow(15), Ok(()));
        drop((first, second));
        assert_eq!(others.grow(60), Ok(()));
        assert_eq!(others.grow(usize::MAX), Err(Error::Overloaded));
        drop(others);
        assert!(BUDGET.held.lock().by_tenant.is_empty());
        assert_eq!(BUDGET.held.lock().bytes, 0);
    }
}

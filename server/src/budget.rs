//! Memory that all requests of the process share. A request takes from a budget what it is about to
//! hold; when the budget has no more, the request is refused at once instead of waiting.
//!
//! A tenant may hold as much as it leaves free: alone half of a budget, beside another that does so
//! a third. So one that takes all it can get leaves room for the others.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use common::TenantId;

use crate::error::Error;

/// How many bytes all requests together may hold of one kind of thing.
pub struct MemoryBudget {
    bytes: usize,
    held: LazyLock<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    /// What each holds who holds something; callers whose tenant is not known hold together.
    by_tenant: HashMap<Option<TenantId>, usize>,
}

impl MemoryBudget {
    pub const fn new(bytes: usize) -> Self {
        Self { bytes, held: LazyLock::new(Mutex::default) }
    }

    /// A share of no bytes yet, of this tenant or, if it is not known, of strangers.
    pub fn share(&'static self, tenant: Option<TenantId>) -> MemoryShare {
        MemoryShare { budget: self, tenant, bytes: 0 }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes that one request holds. They are free again when the value is dropped.
pub struct MemoryShare {
    budget: &'static MemoryBudget,
    tenant: Option<TenantId>,
    bytes: usize,
}

impl MemoryShare {
    /// Makes the share this large, if it is smaller; [`Error::Overloaded`] when the budget does not
    /// have the rest, or not for this tenant.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Error> {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        let mut held = self.budget.held();
        let all = held.bytes.checked_add(more).ok_or(Error::Overloaded)?;
        let free = self.budget.bytes.checked_sub(all).ok_or(Error::Overloaded)?;
        let own = held.by_tenant.get(&self.tenant).map_or(0, |bytes| *bytes) + more;
        if own > free {
            return Err(Error::Overloaded);
        }
        held.bytes = all;
        held.by_tenant.insert(self.tenant, own);
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut held = self.budget.held();
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
        static BUDGET: MemoryBudget = MemoryBudget::new(120);
        let [one, other] = [(); 2].map(|()| Some(TenantId::new(Timestamp::now())));
        let mut first = BUDGET.share(one);
        assert_eq!(first.grow_to(50), Ok(()));
        assert_eq!(first.grow_to(40), Ok(()), "it is as large already");
        let mut second = BUDGET.share(one);
        assert_eq!(second.grow_to(11), Err(Error::Overloaded), "half of it is the tenant's");
        assert_eq!(second.grow_to(10), Ok(()));
        let mut others = BUDGET.share(other);
        assert_eq!(others.grow_to(31), Err(Error::Overloaded));
        assert_eq!(others.grow_to(30), Ok(()), "half of what the first left");
        assert_eq!(BUDGET.share(None).grow_to(15), Ok(()));
        drop((first, second));
        assert_eq!(others.grow_to(60), Ok(()));
        assert_eq!(others.grow_to(usize::MAX), Err(Error::Overloaded));
        drop(others);
        assert!(BUDGET.held().by_tenant.is_empty());
        assert_eq!(BUDGET.held().bytes, 0);
    }
}

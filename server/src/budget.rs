//! Memory that all requests of the process share. A request takes from a budget what it is about to
//! hold; when the budget has no more, the request is refused at once instead of waiting.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::Error;

/// How many bytes all requests together may hold of one kind of thing.
pub struct MemoryBudget(Semaphore);

impl MemoryBudget {
    pub const fn new(bytes: usize) -> Self {
        Self(Semaphore::const_new(bytes))
    }

    /// A share of no bytes yet.
    pub fn share(&'static self) -> MemoryShare {
        MemoryShare { budget: self, permit: None }
    }
}

/// The bytes that one request holds. They are free again when the value is dropped.
pub struct MemoryShare {
    budget: &'static MemoryBudget,
    permit: Option<SemaphorePermit<'static>>,
}

impl MemoryShare {
    /// Makes the share this large, if it is smaller; [`Error::Overloaded`] when the budget does not
    /// have the rest.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Error> {
        let held = self.permit.as_ref().map_or(0, SemaphorePermit::num_permits);
        let more = u32::try_from(bytes.saturating_sub(held)).map_err(|_| Error::Overloaded)?;
        if more == 0 {
            return Ok(());
        }
        let more = self.budget.0.try_acquire_many(more).map_err(|_| Error::Overloaded)?;
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_exceed_the_budget() {
        static BUDGET: MemoryBudget = MemoryBudget::new(100);
        let (mut one, mut other) = (BUDGET.share(), BUDGET.share());
        assert_eq!(one.grow_to(60), Ok(()));
        assert_eq!(one.grow_to(50), Ok(()), "it is as large already");
        assert_eq!(other.grow_to(41), Err(Error::Overloaded));
        assert_eq!(other.grow_to(40), Ok(()));
        assert_eq!(one.grow_to(61), Err(Error::Overloaded));
        drop(other);
        assert_eq!(one.grow_to(100), Ok(()));
        assert_eq!(one.grow_to(usize::MAX), Err(Error::Overloaded));
    }
}

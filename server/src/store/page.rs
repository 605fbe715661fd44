//! Parts of lists: the records beyond a cursor, oldest or newest first.

use common::{ActivationId, AssignmentId, KeyId, LicenseId, PlanId, ProductId, UserId};
use uuid::Uuid;

/// A part of a list, in the order of its cursors or against it. Cursors are mostly ids.
#[derive(Clone, Copy)]
pub struct Page<C> {
    /// What stands before the first record of the page.
    pub cursor: C,
    pub order: Order,
    pub limit: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    OldestFirst,
    NewestFirst,
}

impl Order {
    /// Sorts records by their cursors as the order has them.
    pub fn sort_by_key<T, C: Ord>(self, records: &mut [T], cursor: impl Fn(&T) -> C) {
        records.sort_by_key(cursor);
        if self == Self::NewestFirst {
            records.reverse();
        }
    }
}

impl<C> Page<C> {
    /// The records after one; a nil id or zero stands before them all.
    pub fn oldest_first(after: C, limit: i64) -> Self {
        Self { cursor: after, order: Order::OldestFirst, limit }
    }
}

impl<C: Cursor> Page<C> {
    /// The records before one, or the newest ones.
    pub fn newest_first(before: Option<C>, limit: i64) -> Self {
        Self { cursor: before.unwrap_or_else(C::last), order: Order::NewestFirst, limit }
    }

    /// Whether a record is beyond the cursor.
    pub fn reaches(&self, record: C) -> bool {
        match self.order {
            Order::OldestFirst => record > self.cursor,
            Order::NewestFirst => record < self.cursor,
        }
    }
}

/// What a list is read by.
pub trait Cursor: Copy + Ord {
    /// Greater than that of any record.
    fn last() -> Self;
}

impl Cursor for i64 {
    fn last() -> Self {
        Self::MAX
    }
}

macro_rules! ids {
    ($($id:ident),*) => {$(
        impl Cursor for $id {
            fn last() -> Self {
                Uuid::max().into()
            }
        }
    )*};
}

ids!(ActivationId, AssignmentId, KeyId, LicenseId, PlanId, ProductId, UserId);

/// The text that reads a page in its order: `select!` with a condition, and a column that is beyond
/// the cursor `$2`, in at most `$3` rows. Both orders read one index, one of them backwards.
macro_rules! paged {
    ($page:expr, $select:ident!($condition:literal), $column:literal) => {
        match $page.order {
            $crate::store::page::Order::OldestFirst => {
                $select!(concat!(
                    $condition,
                    " and ",
                    $column,
                    " > $2 order by ",
                    $column,
                    " limit $3"
                ))
            }
            $crate::store::page::Order::NewestFirst => $select!(concat!(
                $condition,
                " and ",
                $column,
                " < $2 order by ",
                $column,
                " desc limit $3"
            )),
        }
    };
}

pub(crate) use paged;

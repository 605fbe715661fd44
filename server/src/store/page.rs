//! Parts of lists: the records after or before a cursor.

use common::{ActivationId, AssignmentId, KeyId, LicenseId, PlanId, ProductId, UserId};
use uuid::Uuid;

/// A part of a list, in ascending or descending order of its cursors, which are mostly ids.
#[derive(Clone, Copy)]
pub struct Page<C> {
    /// The position just before the page's first record.
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
    /// Sorts records by their cursors, in the order of the page.
    pub fn sort_by_key<T, C: Ord>(self, records: &mut [T], cursor: impl Fn(&T) -> C) {
        records.sort_by_key(cursor);
        if self == Self::NewestFirst {
            records.reverse();
        }
    }
}

impl<C> Page<C> {
    /// The records after one. A nil id or zero comes before all of them.
    pub fn oldest_first(after: C, limit: i64) -> Self {
        Self { cursor: after, order: Order::OldestFirst, limit }
    }
}

impl<C: Cursor> Page<C> {
    /// The records before one, or the newest ones.
    pub fn newest_first(before: Option<C>, limit: i64) -> Self {
        Self { cursor: before.unwrap_or_else(C::last), order: Order::NewestFirst, limit }
    }

    pub fn reaches(&self, record: C) -> bool {
        match self.order {
            Order::OldestFirst => record > self.cursor,
            Order::NewestFirst => record < self.cursor,
        }
    }
}

pub trait Cursor: Copy + Ord {
    /// Greater than the cursor of any record.
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

/// The statement that reads a page in its order: `select!` with a condition, and a column that is
/// beyond the cursor `$2`, limited to `$3` rows. Both orders read the same index, one of them
/// backwards.
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

//! Parts of lists: the records after or before a cursor.

use common::{
    ActivationId, AssignmentId, KeyId, LicenseId, LicenseKeyId, PlanId, ProductId, RefusalId,
    SigningKeyId, UserId, WebhookFailureId, WebhookId,
};
use uuid::Uuid;

use super::Scope;
use crate::db::{Query, Result, Row, Value};

/// Maximum number of rows that a filtering statement examines. So it takes milliseconds even with few
/// matches, and other requests can use the database in between.
pub const MAX_SCAN: i64 = 10_000;
/// Number of rows that the first statement for a page looks at. Mostly they are enough.
const FIRST_SCAN: i64 = 500;

/// Result of a statement that examines a limited number of rows.
pub struct Found<T, C> {
    pub records: Vec<T>,
    /// The last row that it looked at. None: it has seen all.
    pub rest: Option<C>,
}

/// A part of a list, in ascending or descending order of its cursors, which are mostly ids.
#[derive(Clone, Copy)]
pub struct Page<C> {
    /// The position just before the page's first record.
    pub cursor: C,
    pub order: Order,
    pub limit: i64,
    /// Maximum number of rows that a statement with a filter looks at. `None` if every row is
    /// wanted.
    pub scan: Option<i64>,
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

impl<C: Copy> Page<C> {
    /// For a list of which every row is wanted.
    pub fn without_filter(self) -> Self {
        Self { scan: None, ..self }
    }

    /// For a statement that finds only a few rows and sorts them.
    pub fn scanning_most(self) -> Self {
        Self { scan: Some(MAX_SCAN), ..self }
    }

    /// Returns the records that a statement found and, if it did not look at all rows, the cursor
    /// that `stop` finds. Both must see one state of the database: a row that was added or removed
    /// in between would be skipped or repeated.
    pub async fn found<T>(self, records: Vec<T>, stop: Query<'_>) -> Result<Found<T, C>>
    where
        (C,): Row,
    {
        let rest: Option<(C,)> =
            if self.is_done(&records) { None } else { stop.fetch_optional().await? };
        Ok(Found { records, rest: rest.map(|(cursor,)| cursor) })
    }

    /// Whether nothing is left to look for after these records.
    pub fn is_done<T>(self, records: &[T]) -> bool {
        self.scan.is_none() || records.len() as i64 >= self.limit
    }

    pub fn scan(self) -> i64 {
        self.scan.unwrap_or(self.limit)
    }
}

impl Query<'_> {
    /// Binds the next three placeholders to the world and to those of [`paged!`].
    pub fn bind_page<'q, C: Value<'q>>(self, scope: Scope, page: Page<C>) -> Self {
        self.bind_scope(scope).bind(page.cursor).bind(page.limit)
    }

    /// Binds the next three placeholders to those of [`scanned!`].
    pub fn bind_scan<'q, C: Copy + Value<'q>>(self, page: Page<C>) -> Self {
        self.bind(page.cursor).bind(page.limit).bind(page.scan())
    }

    /// Binds the next three placeholders to those of [`stop!`].
    pub fn bind_stop<'q, C: Copy + Value<'q>>(self, page: Page<C>) -> Self {
        self.bind(page.cursor).bind(1_i64).bind(page.scan() - 1)
    }
}

/// A page that is read by as many statements as it takes.
pub struct Collected<T, C> {
    pub records: Vec<T>,
    /// Page that the next statement reads, until all is read.
    pub next: Option<Page<C>>,
}

impl<T, C: Copy> Collected<T, C> {
    pub fn new(page: Page<C>) -> Self {
        Self { records: Vec::new(), next: Some(page) }
    }

    /// Adds what was found of [`next`](Self::next).
    pub fn add(&mut self, found: Found<T, C>) {
        let Some(page) = self.next.take() else { return };
        let limit = page.limit - found.records.len() as i64;
        self.records.extend(found.records);
        let rest = found.rest.filter(|_| limit > 0);
        self.next = rest.map(|cursor| Page { cursor, limit, ..page.scanning_most() });
    }
}

impl<C> Page<C> {
    /// The records after one. A nil id or zero comes before all of them.
    pub fn oldest_first(after: C, limit: i64) -> Self {
        Self::new(after, Order::OldestFirst, limit)
    }

    /// The page in the same order that begins with the record after this one.
    pub fn after(self, cursor: C, limit: i64) -> Self {
        Self::new(cursor, self.order, limit)
    }

    fn new(cursor: C, order: Order, limit: i64) -> Self {
        let scan = Some(limit.saturating_mul(4).clamp(FIRST_SCAN, MAX_SCAN));
        Self { cursor, order, limit, scan }
    }
}

impl<C: Cursor> Page<C> {
    /// The records before one, or the newest ones.
    pub fn newest_first(before: Option<C>, limit: i64) -> Self {
        Self::new(before.unwrap_or_else(C::last), Order::NewestFirst, limit)
    }

    pub fn reaches(&self, record: C) -> bool {
        match self.order {
            Order::OldestFirst => record > self.cursor,
            Order::NewestFirst => record < self.cursor,
        }
    }

    /// Returns the records of a short list that are on the page, in order.
    pub fn of<T>(&self, all: impl IntoIterator<Item = T>, cursor: impl Fn(&T) -> C) -> Vec<T> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        all.into_iter().filter(|record| self.reaches(cursor(record))).take(limit).collect()
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

ids!(
    ActivationId,
    AssignmentId,
    KeyId,
    LicenseId,
    LicenseKeyId,
    PlanId,
    ProductId,
    RefusalId,
    SigningKeyId,
    UserId,
    WebhookFailureId,
    WebhookId
);

/// The text that `$sql!` makes of the comparison with a cursor and of the direction of the page's
/// order.
macro_rules! in_order {
    ($page:expr, $sql:ident) => {
        match $page.order {
            $crate::store::page::Order::OldestFirst => $sql!(" > $2", ""),
            $crate::store::page::Order::NewestFirst => $sql!(" < $2", " desc"),
        }
    };
}

/// The statement that reads a page in its order: `select!` with a condition, and a column that is
/// beyond the cursor `$2`, limited to `$3` rows. Both orders read the same index, one of them
/// backwards.
#[rustfmt::skip]
macro_rules! paged {
    ($page:expr, $select:ident!($condition:expr), $column:literal) => {
        $crate::store::page::paged!($page, $select!($condition), $column, " limit $3")
    };
    ($page:expr, $select:ident!($condition:expr), $column:literal, $limit:literal) => {{
        macro_rules! sql {
            ($beyond:literal, $desc:literal) => {
                $select!(concat!(
                    $condition, " and ", $column, $beyond, " order by ", $column, $desc, $limit
                ))
            };
        }
        $crate::store::page::in_order!($page, sql)
    }};
}

/// Like [`paged!`], for the rows that match a filter among the next `$4` with the condition.
#[rustfmt::skip]
macro_rules! scanned {
    (
        $page:expr,
        $columns:expr,
        $table:literal where $condition:expr,
        $filter:expr,
        $column:literal
    ) => {{
        macro_rules! sql {
            ($beyond:literal, $desc:literal) => {
                concat!(
                    "select ", $columns, " from (
                         select * from ", $table, " where ", $condition, " and ", $column, $beyond,
                         " order by ", $column, $desc, " limit $4) ", $table,
                    " where ", $filter, " order by ", $column, $desc, " limit $3"
                )
            };
        }
        $crate::store::page::in_order!($page, sql)
    }};
}

/// The statement that finds the last row that [`scanned!`] looks at, if it does not look at all,
/// given 1 and one row less.
macro_rules! stop {
    ($page:expr, $table:literal where $condition:expr, $column:literal) => {{
        macro_rules! select {
            ($rest:expr) => {
                concat!("select ", $column, " from ", $table, " where ", $rest)
            };
        }
        $crate::store::page::paged!($page, select!($condition), $column, " limit $3 offset $4")
    }};
}

pub(crate) use {in_order, paged, scanned, stop};

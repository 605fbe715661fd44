//! All SQL, one file for each table, and nothing but SQL.
//!
//! A function takes the connection, then the [`Scope`] that it must not leave. Records come in and
//! go out as the types of `common`; the caller decides what a missing record means.
//!
//! A look-up names an id or another selective column, and the world. A list also has the condition
//! `world > 0`: the partial indexes for lists require it, and so PostgreSQL cannot use them for a
//! look-up.

pub mod assignments;
pub mod backup;
pub mod batch_rows;
pub mod copy;
pub mod events;
pub mod forget;
pub mod idempotency;
pub mod ids;
pub mod key_uses;
pub mod keys;
pub mod leases;
pub mod license_keys;
pub mod licenses;
pub mod nodes;
pub mod notices;
pub mod outcomes;
mod page;
pub mod phrases;
pub mod plan_days;
pub mod plans;
pub mod products;
pub mod renames;
pub mod retention;
pub mod sealed;
pub mod seats;
pub mod sessions;
pub mod signing_keys;
mod table;
mod text_range;
pub mod uptime;
pub mod users;
pub mod validations;
pub mod webhooks;
pub mod worlds;

use common::{Mode, TenantId};

use crate::db::Query;

pub use page::{Collected, Cursor, Found, Order, Page};
pub use text_range::TextRange;

/// If a filter matches more than this, rows are read in the order of the list and filtered. If it
/// matches fewer, all of them are read and sorted.
pub const MANY_FOUND: i64 = 2000;

/// The number of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct World(i32);

impl World {
    pub fn number(self) -> i32 {
        self.0
    }
}

impl From<i32> for World {
    fn from(number: i32) -> Self {
        Self(number)
    }
}

/// One mode of one tenant. No other world sees its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::FromRow)]
pub struct Scope {
    pub world: World,
    #[sqlx(rename = "tenant_id")]
    pub tenant: TenantId,
    pub mode: Mode,
}

impl Query<'_> {
    /// Binds the next placeholder to the world.
    pub fn bind_scope(self, scope: Scope) -> Self {
        self.bind(scope.world)
    }

    /// Binds the next two placeholders to the bounds of the range.
    pub fn bind_range(self, range: &TextRange) -> Self {
        self.bind(&range.from).bind(&range.until)
    }

    /// Binds the next six placeholders to the ranges of the search.
    pub fn bind_search(self, search: &phrases::Search) -> Self {
        search.ranges().into_iter().fold(self, Self::bind_range)
    }
}

//! All SQL, one file for each table, and nothing but SQL.
//!
//! A function takes the connection, then the [`Scope`] it may not leave. Records come in and go out
//! as the types of `common`; what a missing one means is for the caller to say.

pub mod assignments;
pub mod backup;
pub mod copy;
pub mod events;
pub mod idempotency;
pub mod ids;
pub mod keys;
pub mod licenses;
pub mod plans;
pub mod products;
pub mod seats;
pub mod users;
pub mod validations;
pub mod worlds;

use common::{Mode, TenantId};

/// The number of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct World(i32);

impl World {
    pub fn number(self) -> i32 {
        self.0
    }
}

/// One tenant's one mode: a world of its own, whose records no other ever sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    pub world: World,
    pub tenant: TenantId,
    pub mode: Mode,
}

/// A part of a list, in the order of its cursors.
#[derive(Clone, Copy)]
pub struct Page<C> {
    /// The cursor before the first one of the page; the default one, which is before all, for the
    /// start.
    pub after: C,
    pub limit: i64,
}

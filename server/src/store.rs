//! All SQL, one file for each table, and nothing but SQL.
//!
//! A function takes the connection, then the [`Scope`] it may not leave. Records come in and go out
//! as the types of `common`; what a missing one means is for the caller to say.

pub mod activations;
pub mod assignments;
pub mod backup;
pub mod copy;
pub mod idempotency;
pub mod ids;
pub mod keys;
pub mod licenses;
pub mod outcomes;
pub mod plans;
pub mod products;
pub mod tenants;
pub mod users;
pub mod validations;

use common::{Mode, TenantId};
use uuid::Uuid;

/// One tenant's one mode: a world of its own, whose records no other ever sees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    pub tenant: TenantId,
    pub mode: Mode,
}

/// Which part of a list is wanted, in the order of ids.
#[derive(Clone, Copy)]
pub struct Page {
    /// The id before the first one wanted; nil, which is before all, for the start.
    pub after: Uuid,
    pub limit: i64,
}

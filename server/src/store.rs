//! All SQL, one file for each table, and nothing but SQL.
//!
//! A function takes the connection, then the [`Scope`] it may not leave. Records come in and go out
//! as the types of `common`; the meaning of a missing one is the caller's to decide.
//!
//! A look-up names an id or another selective column, and the world beside it. A list has the
//! condition `world > 0` as well: the partial indexes for lists require it, so that PostgreSQL
//! cannot use them for a look-up.

pub mod assignments;
pub mod backup;
pub mod batch_rows;
pub mod copy;
pub mod events;
pub mod idempotency;
pub mod ids;
pub mod key_uses;
pub mod keys;
pub mod licenses;
pub mod outcomes;
mod page;
pub mod plans;
pub mod products;
pub mod seats;
pub mod sessions;
mod text_range;
pub mod users;
pub mod validations;
pub mod worlds;

use common::{Mode, TenantId};

use crate::db::{Conn, Query, Result, Sql, Value};

pub use page::{Cursor, Order, Page};
pub use text_range::TextRange;

/// A filter that matches more is read in the order of the list, without what does not match. One that
/// matches fewer reads all that match, and sorts them.
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
    /// A world as the database numbers it.
    fn from(number: i32) -> Self {
        Self(number)
    }
}

/// One mode of one tenant: a world of its own, whose records no other sees.
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

    /// Binds the next two placeholders to where the range begins and ends.
    pub fn bind_range(self, range: &TextRange) -> Self {
        self.bind(&range.from).bind(&range.until)
    }
}

/// How many rows one statement deletes at most: it holds SQLite's one writer.
const PORTION: i64 = 500;

/// Executes `delete`, which deletes at most `$2` of the rows before `$1`, and answers whether there
/// may be more.
async fn delete_portion<'q>(conn: &mut Conn, delete: Sql, horizon: impl Value<'q>) -> Result<bool> {
    let deleted = conn.query(delete).bind(horizon).bind(PORTION).execute().await?;
    Ok(deleted == PORTION as u64)
}

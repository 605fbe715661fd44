//! What `licd doctor` reads of a database: on a connection of its own, whatever the schema, and
//! without changing anything. What the facts mean is decided there.

mod postgres;
mod sqlite;

pub use postgres::{Postgres, PostgresFacts, postgres_servers};
pub use sqlite::Sqlite;

//! What `licd doctor` reads from a database: on a connection of its own, whatever the schema, and
//! without changing anything. Doctor interprets the facts.

mod postgres;
mod sqlite;

pub use postgres::{Postgres, PostgresFacts, postgres_servers};
pub use sqlite::Sqlite;

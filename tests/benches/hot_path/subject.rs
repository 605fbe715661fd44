//! The compared programs: the rows of the main table.

use clap::ValueEnum;

use crate::check::Answers;

/// A system under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Subject {
    /// A bare axum handler that parses the same request and serializes the same answer.
    Handler,
    /// node:http answering the same bytes from memory.
    Node,
    /// licd on SQLite.
    Sqlite,
    /// licd on PostgreSQL.
    Postgres,
    /// Two nodes of licd on one PostgreSQL, each with half of the connections.
    #[value(name = "postgres-2")]
    PostgresTwo,
    /// A transaction for each request, on SQLite.
    PerRequestSqlite,
    /// A transaction for each request, on PostgreSQL.
    PerRequestPostgres,
}

impl Subject {
    pub const ALL: [Self; 7] = [
        Self::Handler,
        Self::Node,
        Self::Sqlite,
        Self::Postgres,
        Self::PostgresTwo,
        Self::PerRequestSqlite,
        Self::PerRequestPostgres,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Handler => "bare axum handler",
            Self::Node => "node:http, from memory",
            Self::Sqlite => "licd, SQLite",
            Self::Postgres => "licd, PostgreSQL",
            Self::PostgresTwo => "licd, PostgreSQL, two nodes",
            Self::PerRequestSqlite => "transaction per request, SQLite",
            Self::PerRequestPostgres => "transaction per request, PostgreSQL",
        }
    }

    pub fn answers(self) -> Answers {
        match self {
            Self::Handler | Self::Node => Answers::Static,
            _ => Answers::Licenses,
        }
    }

    pub fn needs_postgres(self) -> bool {
        matches!(self, Self::Postgres | Self::PostgresTwo | Self::PerRequestPostgres)
    }
}

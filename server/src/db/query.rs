//! Statements: one text, with the same bindings and fetches on both databases.
//!
//! SQLite accepts PostgreSQL's type names and placeholders (`$1`), so nearly every statement is one
//! text. Where the two differ, [`Sql::Each`] contains both. A few need a third text if worlds are
//! distributed over several servers, where a statement should concern one of them.

use serde::de::DeserializeOwned;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::types::Json;
use sqlx::{Arguments, Connection, Encode, FromRow, Postgres, Sqlite, Type};

use super::postgres::PgConn;
use super::sqlite::{SqliteConn, is_locked};
use super::{Conn, Result, within_statement_timeout};

/// A value that both databases can store.
pub trait Value<'q>:
    Encode<'q, Sqlite> + Type<Sqlite> + Encode<'q, Postgres> + Type<Postgres>
{
}

impl<'q, T> Value<'q> for T where
    T: Encode<'q, Sqlite> + Type<Sqlite> + Encode<'q, Postgres> + Type<Postgres>
{
}

/// A record that can be decoded from a row of either database.
pub trait Row: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

impl<T> Row for T
where
    T: Send + Unpin,
    T: for<'r> FromRow<'r, SqliteRow>,
    T: for<'r> FromRow<'r, PgRow>,
{
}

#[derive(Clone, Copy)]
pub enum Sql {
    Both(&'static str),
    Each {
        sqlite: &'static str,
        postgres: &'static str,
    },
    /// With a text of its own for a sharded PostgreSQL.
    Three {
        sqlite: &'static str,
        postgres: &'static str,
        sharded: &'static str,
    },
}

/// A `select` whose rows stay locked until the end of the transaction. SQLite needs no such clause,
/// since it allows only one writing transaction.
macro_rules! locking {
    ($($select:tt)+) => {
        $crate::db::Sql::Each {
            sqlite: $($select)+,
            postgres: concat!($($select)+, " for update"),
        }
    };
}

pub(crate) use locking;

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self::Both(text)
    }
}

impl Sql {
    fn sqlite(self) -> &'static str {
        match self {
            Self::Both(text)
            | Self::Each { sqlite: text, .. }
            | Self::Three { sqlite: text, .. } => text,
        }
    }

    fn postgres(self, is_sharded: bool) -> &'static str {
        match self {
            Self::Three { sharded, .. } if is_sharded => sharded,
            Self::Both(text)
            | Self::Each { postgres: text, .. }
            | Self::Three { postgres: text, .. } => text,
        }
    }
}

impl Conn {
    pub fn query(&mut self, sql: impl Into<Sql>) -> Query<'_> {
        let sql = sql.into();
        Query(match self {
            Self::Sqlite(conn) => Bound::Sqlite(conn, sql.sqlite(), Ok(SqliteArguments::default())),
            Self::Postgres(lease, kind) => {
                let plan = match (kind.pooler, lease.is_in_transaction()) {
                    (false, _) => StatementReuse::Kept,
                    (true, true) => StatementReuse::Once,
                    (true, false) => StatementReuse::Alone,
                };
                let sql = sql.postgres(kind.sharded);
                Bound::Postgres(lease, sql, Ok(PgArguments::default()), plan)
            }
        })
    }
}

/// A statement with its bindings and connection.
#[must_use = "a statement does nothing until it is executed or fetched"]
pub struct Query<'c>(Bound<'c>);

enum Bound<'c> {
    Sqlite(&'c mut SqliteConn, &'static str, Result<SqliteArguments>),
    Postgres(&'c mut PgConn, &'static str, Result<PgArguments>, StatementReuse),
}

/// Whether PostgreSQL's plan of a statement is reused.
///
/// A statement is first sent to be planned, then to be run. A pooler that assigns connections per
/// transaction keeps the two together only within a transaction, and a plan kept for later would
/// belong to another client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatementReuse {
    /// Kept under a name for the next use.
    Kept,
    /// Dropped after this use.
    Once,
    /// Dropped, and the statement runs in its own transaction.
    Alone,
}

/// Runs the query with its kind of reuse.
macro_rules! run {
    ($query:expr, $fetch:ident, $lease:ident, $plan:ident) => {{
        let query = $query.persistent($plan == StatementReuse::Kept);
        let conn = $lease.start();
        let outcome = within_statement_timeout(async move {
            if $plan != StatementReuse::Alone {
                return query.$fetch(conn).await;
            }
            let mut tx = conn.begin().await?;
            let outcome = query.$fetch(&mut *tx).await?;
            tx.commit().await?;
            Ok(outcome)
        });
        let outcome = outcome.await;
        $lease.done(&outcome);
        outcome
    }};
}

/// Runs the statement on SQLite, and repeats it while another process has the file locked.
macro_rules! run_sqlite {
    ($query:path, $fetch:ident, $conn:ident, $sql:ident, $args:ident) => {{
        let args = $args?;
        let outcome = within_statement_timeout(async {
            loop {
                match $query($sql, args.clone()).$fetch($conn.start()?).await {
                    Err(error) if is_locked(&error) && !$conn.is_in_transaction() => {}
                    outcome => break outcome,
                }
            }
        });
        let outcome = outcome.await;
        if outcome.is_ok() {
            $conn.done();
        }
        outcome
    }};
}

impl Query<'_> {
    /// Binds the next placeholder.
    pub fn bind<'q>(mut self, value: impl Value<'q>) -> Self {
        match &mut self.0 {
            Bound::Sqlite(_, _, args) => add(args, value),
            Bound::Postgres(_, _, args, _) => add(args, value),
        }
        self
    }

    /// Returns the number of changed rows.
    pub async fn execute(self) -> Result<u64> {
        Ok(match self.0 {
            Bound::Sqlite(conn, sql, args) => {
                run_sqlite!(sqlx::query_with, execute, conn, sql, args)?.rows_affected()
            }
            Bound::Postgres(lease, sql, args, plan) => {
                run!(sqlx::query_with(sql, args?), execute, lease, plan)?.rows_affected()
            }
        })
    }

    /// Executes a statement whose number of changed rows does not matter.
    pub async fn run(self) -> Result<()> {
        self.execute().await.map(drop)
    }

    pub async fn fetch_optional<T: Row>(self) -> Result<Option<T>> {
        match self.0 {
            Bound::Sqlite(conn, sql, args) => {
                run_sqlite!(sqlx::query_as_with, fetch_optional, conn, sql, args)
            }
            Bound::Postgres(lease, sql, args, plan) => {
                run!(sqlx::query_as_with(sql, args?), fetch_optional, lease, plan)
            }
        }
    }

    /// A missing row is an error.
    pub async fn fetch_one<T: Row>(self) -> Result<T> {
        self.fetch_optional().await?.ok_or(sqlx::Error::RowNotFound)
    }

    /// Fetches many rows at the lowest cost. On SQLite each row costs a switch between threads, and
    /// each column an allocation, so the SQLite text returns all rows as one: a JSON array whose
    /// elements are each decoded as a `P`.
    pub async fn fetch_packed<T, P>(self) -> Result<Vec<T>>
    where
        T: Row,
        P: DeserializeOwned + TryInto<T, Error: Into<BoxDynError>> + Send + Unpin + 'static,
    {
        match self.0 {
            Bound::Sqlite(conn, sql, args) => {
                let Json::<Vec<P>>(rows) =
                    run_sqlite!(sqlx::query_scalar_with, fetch_one, conn, sql, args)?;
                let unpacked = rows.into_iter().map(P::try_into).collect::<Result<_, _>>();
                unpacked.map_err(|error| sqlx::Error::Decode(error.into()))
            }
            bound => Query(bound).fetch_all().await,
        }
    }

    pub async fn fetch_all<T: Row>(self) -> Result<Vec<T>> {
        match self.0 {
            Bound::Sqlite(conn, sql, args) => {
                run_sqlite!(sqlx::query_as_with, fetch_all, conn, sql, args)
            }
            Bound::Postgres(lease, sql, args, plan) => {
                run!(sqlx::query_as_with(sql, args?), fetch_all, lease, plan)
            }
        }
    }
}

/// A value that cannot be encoded makes the statement fail when it runs.
fn add<'q, A, T>(args: &mut Result<A>, value: T)
where
    A: Arguments,
    T: Encode<'q, A::Database> + Type<A::Database>,
{
    if let Ok(ready) = args
        && let Err(error) = ready.add(value)
    {
        *args = Err(sqlx::Error::Encode(error));
    }
}

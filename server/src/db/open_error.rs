//! Errors of opening a database.

use std::path::PathBuf;

use sqlx::migrate::MigrateError;

use crate::error::has_code;
use crate::permissions::quoted;

/// Reason why a database could not be opened. The messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open the database: {0}")]
    Connect(sqlx::Error),
    #[error("cannot create or open the file {0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("{0} is not a regular file")]
    NotAFile(PathBuf),
    #[error("this is a folder; name a file in it, such as licd.db")]
    Folder,
    #[error("no such file; `licd serve`, `licd tenants create` and `licd migrate` create one")]
    Missing,
    #[error(
        "{} is empty or missing, but {} is not: only that log contains the latest changes. Copy it \
         to a safe place. Then put back the file that it belongs to; or move the log away and \
         restore a backup, or start with a new database if there is none",
        file.display(), log.display()
    )]
    Lost { file: PathBuf, log: PathBuf },
    #[error(
        "{} is a copy, such as a backup, and {} next to it belongs to the database that was there \
         before, so they do not belong together. Nothing was changed. To restore the copy, run: \
         mv {copy} {copy}.backup && licd restore {copy}.backup",
        file.display(), log.display(), copy = quoted(file)
    )]
    Copied { file: PathBuf, log: PathBuf },
    #[error(
        "the pooler in front of PostgreSQL refuses to connect: {0}. For PgBouncer, set \
         ignore_startup_parameters = extra_float_digits,options, and add pooler=transaction to the \
         URL; see docs/operate/postgresql.md"
    )]
    Pooler(String),
    #[error("{} is in use: stop the licd, or the other program, that has it open", .0.display())]
    InUse(PathBuf),
    #[error(
        "the database's encoding is {0}, not UTF8, so it cannot hold every name: create the \
         database with: encoding 'UTF8' template template0"
    )]
    Encoding(String),
    #[error(
        "the database has schema version {database}, and this licd knows only up to {licd}: a \
         newer licd has upgraded it. Start that version; an older one could damage the data"
    )]
    Newer { database: i64, licd: i64 },
    #[error(
        "the database has schema version {database}, and this licd needs {licd}; bring it up to \
         date with `licd migrate`"
    )]
    Older { database: i64, licd: i64 },
    #[error(
        "This database was created before the first release, and this licd cannot read it. Nothing \
         was changed. Start the licd that created it, and export what you need: `licctl export`, \
         `licctl licenses list -o csv` and `licctl users list -o csv`. Then start this licd with a \
         new database"
    )]
    BeforeFirstRelease,
    #[error(
        "licd's tables are in the schema {other:?}, but the search path begins with {first:?}, which has \
         none. Nothing was changed. To use the tables that exist, run: alter role ROLE set search_path = \
         {other:?}. To create new ones, run: licd migrate --new-schema"
    )]
    OtherSchema { first: String, other: String },
    #[error("this database contains no tables of licd")]
    Empty,
    #[error("this is another program's database: it has tables, and none of licd")]
    Foreign,
    #[error(
        "licd's role may not create tables; as the database's owner or a superuser, run: grant \
         usage, create on schema public to ROLE"
    )]
    MayNotCreate,
    #[error("cannot bring the database's schema up to date: {0}")]
    Migrate(MigrateError),
}

impl OpenError {
    /// Whether a step of a migration could not lock a table in time, or would have waited for a
    /// request that waits for it.
    pub(super) fn is_contention(&self) -> bool {
        let cause = match self {
            Self::Connect(error)
            | Self::Migrate(
                MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _),
            ) => error,
            _ => return false,
        };
        has_code(cause, |code| matches!(code, "55P03" | "40P01"))
    }
}

impl From<sqlx::Error> for OpenError {
    fn from(error: sqlx::Error) -> Self {
        let message = error.as_database_error().map(|error| error.message().to_owned());
        match message.filter(|text| text.contains("unsupported startup parameter")) {
            Some(text) => Self::Pooler(text),
            None => Self::Connect(error),
        }
    }
}

impl From<MigrateError> for OpenError {
    fn from(error: MigrateError) -> Self {
        match &error {
            MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)
                if has_code(cause, |code| code == "42501") =>
            {
                Self::MayNotCreate
            }
            _ => Self::Migrate(error),
        }
    }
}

//! The reasons why a database cannot be opened.

use std::path::PathBuf;

use sqlx::migrate::MigrateError;

use crate::error::has_code;

/// Why a database could not be opened. The messages are for the operator who starts licd.
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
    #[error(
        "there is no such file; `licd serve`, `licd tenants create` and `licd migrate` create one"
    )]
    Missing,
    #[error(
        "{} is empty or missing, but {} is not: what was written last is in that log alone. Copy it \
         to a safe place. Then put the file back that belongs to it; or move the log away and \
         restore a backup, or without one begin anew",
        file.display(), log.display()
    )]
    Lost { file: PathBuf, log: PathBuf },
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
    #[error("there is nothing of licd in this database")]
    Empty,
    #[error("cannot bring the database's schema up to date: {0}")]
    Migrate(MigrateError),
}

impl OpenError {
    /// A migration did not get the lock of a table in time.
    pub(super) fn is_lock_timeout(&self) -> bool {
        let cause = match self {
            Self::Connect(error)
            | Self::Migrate(
                MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _),
            ) => error,
            _ => return false,
        };
        has_code(cause, |code| code == "55P03")
    }
}

impl From<MigrateError> for OpenError {
    fn from(error: MigrateError) -> Self {
        Self::Migrate(error)
    }
}

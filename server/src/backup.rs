//! A copy of an SQLite database in a file of its own, taken while others read and write.
//!
//! The copy appears under its name only when it is whole, checked and on disk: a backup that was
//! interrupted leaves nothing that could be taken for one. PostgreSQL has tools of its own.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::store::backup;

/// Why there is no backup. The words are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error(
        "licd backup is for SQLite. For PostgreSQL use pg_dump --format=custom, or pg_basebackup \
         and archived WAL to go back to any moment; see docs/deployment.md"
    )]
    Postgres,
    #[error("there is a file {0} already; a backup never replaces one. Name another")]
    Exists(PathBuf),
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, std::io::Error),
    #[error("cannot read the database {0}: {1}")]
    Read(PathBuf, sqlx::Error),
    #[error("the copy of {0} is damaged, and was thrown away: {1}")]
    Damaged(PathBuf, String),
}

/// Writes what is committed in the database at `from` to the new file `to`, for its owner alone to
/// read, and answers its size.
pub async fn write(from: &Path, to: &Path) -> Result<u64, BackupError> {
    let failed = |error| match error {
        error if is_taken(&error) => BackupError::Exists(to.to_owned()),
        error => BackupError::Write(to.to_owned(), error),
    };
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Made for its owner alone, and deleted should anything fail from here on.
    let draft = tempfile::Builder::new().prefix(".licd-backup-").tempfile_in(folder);
    let draft = draft.map_err(failed)?;
    backup::copy(from, draft.path())
        .await
        .map_err(|error| BackupError::Read(from.to_owned(), error))?;
    match backup::faults(draft.path()).await {
        Ok(faults) if faults.is_empty() => {}
        Ok(faults) => return Err(BackupError::Damaged(from.to_owned(), faults.join("; "))),
        Err(error) => return Err(BackupError::Damaged(from.to_owned(), error.to_string())),
    }
    draft.as_file().sync_all().map_err(failed)?;
    let file = draft.persist_noclobber(to).map_err(|error| failed(error.error))?;
    // The name is on disk once its folder is.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(file.metadata().map_err(failed)?.len())
}

fn is_taken(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::AlreadyExists
}

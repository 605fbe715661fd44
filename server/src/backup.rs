//! Copies an SQLite database to a file while others read and write it, and puts such a copy back.
//!
//! The copy gets its name only when it is complete, checked and on disk, so an interrupted backup
//! leaves nothing that looks like one, and an interrupted restore the database as it was.
//! PostgreSQL has its own tools.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::future::Future;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::NamedTempFile;

use crate::db::inspect::{Sealed, Sqlite};
use crate::db::{OpenError, UnusedDatabase, find_file, with_suffix};
use crate::store::backup::{self, CopyFileError};

/// The prefix of an unfinished copy's name.
const DRAFT: &str = ".licd-backup-";
/// The suffix of SQLite's journal next to a file that it is writing.
const JOURNAL: &str = "-journal";

/// Reason why a backup failed. The messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error(
        "licd {0} is for SQLite. For PostgreSQL use pg_dump --format=custom and pg_restore, or \
         pg_basebackup and archived WAL to go back to any moment; see docs/operate/backups.md"
    )]
    Postgres(&'static str),
    #[error("{0} already exists, and a backup never replaces a file. Choose another name")]
    Exists(PathBuf),
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, std::io::Error),
    #[error("cannot write {0}: {1}")]
    Copy(PathBuf, sqlx::Error),
    #[error("cannot read the database {0}: {1}")]
    Read(PathBuf, sqlx::Error),
    #[error("sqlite://{}: {error}", file.display())]
    Open { file: PathBuf, error: OpenError },
    #[error("the copy of {0} is damaged and was deleted: {1}")]
    Damaged(PathBuf, String),
    #[error("{0} is the database itself; name a backup of it")]
    Itself(PathBuf),
    #[error(
        "there is no database at {0} to replace. Set LICD_DATABASE_URL to the database of the service, \
         or add --new to create one there"
    )]
    NothingToReplace(PathBuf),
    #[error("{0} already exists; leave out --new to replace it")]
    NotNew(PathBuf),
    #[error("{0} lacks tables of licd: {1}")]
    Incomplete(PathBuf, String),
    #[error("interrupted; nothing was changed")]
    Interrupted,
}

/// Writes everything committed in the database at `from` to the new file `to`, readable only by its
/// owner, and returns its size. If `stop` completes first, no backup is made.
pub async fn write(
    from: &Path,
    to: &Path,
    stop: impl Future<Output = ()>,
) -> Result<u64, BackupError> {
    let failed = |error| match error {
        error if is_taken(&error) => BackupError::Exists(to.to_owned()),
        error => BackupError::Write(to.to_owned(), error),
    };
    let unusable = |error| BackupError::Open { file: from.to_owned(), error };
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    find_file(from).map_err(unusable)?;
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    sweep(folder);
    let draft = draft(folder).map_err(failed)?;
    let _journal = Journal(with_journal(draft.path()));
    fill(from, draft.path(), stop).await.map_err(|error| error.about(from, to))?;
    draft.as_file().sync_all().map_err(failed)?;
    let file = draft.persist_noclobber(to).map_err(|error| failed(error.error))?;
    // Syncing the folder makes the name durable.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(file.metadata().map_err(failed)?.len())
}

/// The result of a restore.
pub struct Restored {
    /// The size of the database in bytes.
    pub size: u64,
    /// Path under which the old database is kept, if there was one.
    pub kept: Option<PathBuf>,
    pub origin: Origin,
    /// Values that need secret keys. Empty if the schema is older than this licd's.
    pub sealed: Sealed,
}

/// Program that wrote the restored file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `licd backup`.
    Backup,
    /// licd itself, and its write-ahead log was next to it.
    LiveWithLog,
    /// licd itself. If it ran when the file was copied, the newest changes are missing.
    Live,
}

impl Origin {
    /// SQLite marks a file that has a write-ahead log in the bytes 18 and 19; `licd backup` writes
    /// one without.
    fn of(file: &Path) -> std::io::Result<Self> {
        let mut header = [0; 20];
        File::open(file)?.read_exact(&mut header)?;
        Ok(match (header[18], with_suffix(file, "-wal").exists()) {
            (2, true) => Self::LiveWithLog,
            (2, false) => Self::Live,
            _ => Self::Backup,
        })
    }
}

/// Puts a copy of the backup `from` in the place of the database at `to`, which no process may use.
/// There must be one, or none if it `is_new`. The backup must be intact and of a licd that is not
/// newer; it is only read. If `stop` completes first, nothing is changed.
pub async fn restore(
    from: &Path,
    to: &Path,
    is_new: bool,
    stop: impl Future<Output = ()>,
) -> Result<Restored, BackupError> {
    let unusable = |error| BackupError::Open { file: from.to_owned(), error };
    let failed = |error| BackupError::Write(to.to_owned(), error);
    find_file(from).map_err(unusable)?;
    match (UnusedDatabase::exists(to), is_new) {
        (false, false) => return Err(BackupError::NothingToReplace(to.to_owned())),
        (true, true) => return Err(BackupError::NotNew(to.to_owned())),
        _ => {}
    }
    let in_use = |error| BackupError::Open { file: to.to_owned(), error };
    let database = UnusedDatabase::at(to).map_err(in_use)?;
    if database.is(from).map_err(failed)? {
        return Err(BackupError::Itself(from.to_owned()));
    }
    sweep(database.folder());
    let draft = draft(database.folder()).map_err(failed)?;
    let _journal = Journal(with_journal(draft.path()));
    fill(from, draft.path(), stop).await.map_err(|error| error.about(from, to))?;
    let sealed = examine(draft.path(), from).await?;
    let origin = Origin::of(from).map_err(|error| unusable(OpenError::File(from.into(), error)))?;
    draft.as_file().sync_all().map_err(failed)?;
    let size = draft.as_file().metadata().map_err(failed)?.len();
    Ok(Restored { size, kept: database.replace(draft).map_err(failed)?, origin, sealed })
}

/// Checks the schema of the copy of `from`, and returns what is sealed in it.
async fn examine(copy: &Path, from: &Path) -> Result<Sealed, BackupError> {
    let unusable = |error| BackupError::Open { file: from.to_owned(), error };
    let mut copy = Sqlite::open(copy).await.map_err(unusable)?;
    match copy.check_schema().await {
        Ok(()) => {}
        // `licd serve` and `licd migrate` bring it up to date.
        Err(OpenError::Older { .. }) => return Ok(Sealed::default()),
        Err(error) => return Err(unusable(error)),
    }
    let read = |error| BackupError::Read(from.to_owned(), error);
    match copy.missing_tables().await.map_err(read)? {
        missing if missing.is_empty() => copy.sealed().await.map_err(read),
        missing => Err(BackupError::Incomplete(from.to_owned(), missing.join(", "))),
    }
}

enum FillError {
    Copy(CopyFileError),
    Damaged(String),
    Interrupted,
}

impl FillError {
    fn about(self, from: &Path, to: &Path) -> BackupError {
        let (from, to) = (from.to_owned(), to.to_owned());
        match self {
            Self::Copy(CopyFileError::Empty) => {
                BackupError::Open { file: from, error: OpenError::Empty }
            }
            Self::Copy(CopyFileError::Read(error)) => BackupError::Read(from, error),
            Self::Copy(CopyFileError::Write(error)) => BackupError::Copy(to, error),
            Self::Damaged(faults) => BackupError::Damaged(from, faults),
            Self::Interrupted => BackupError::Interrupted,
        }
    }
}

/// Copies the database into the draft and checks it.
async fn fill(from: &Path, draft: &Path, stop: impl Future<Output = ()>) -> Result<(), FillError> {
    let stopped = Arc::new(AtomicBool::new(false));
    let mut work = pin!(async {
        backup::copy(from, draft, &stopped).await.map_err(FillError::Copy)?;
        match backup::faults(draft, &stopped).await {
            Ok(faults) if faults.is_empty() => Ok(()),
            Ok(faults) => Err(FillError::Damaged(faults.join("; "))),
            Err(error) => Err(FillError::Damaged(error.to_string())),
        }
    });
    tokio::select! {
        filled = &mut work => filled,
        () = stop => {
            stopped.store(true, Ordering::Relaxed);
            // SQLite must close the draft before it is deleted.
            drop(work.await);
            Err(FillError::Interrupted)
        }
    }
}

/// A file accessible only to its owner, deleted unless it gets its final name. It stays locked
/// while it is written, so that [`sweep`] can tell it from abandoned ones.
fn draft(folder: &Path) -> std::io::Result<NamedTempFile> {
    loop {
        let draft = tempfile::Builder::new().prefix(DRAFT).tempfile_in(folder)?;
        draft.as_file().lock()?;
        // Before it was locked, another backup may have deleted it.
        if draft.as_file().metadata()?.nlink() > 0 {
            return Ok(draft);
        }
    }
}

/// Deletes the drafts that killed backups of this user left in this folder. A draft that cannot be
/// deleted is ignored.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if !name.as_encoded_bytes().starts_with(DRAFT.as_bytes()) {
            continue;
        }
        let draft = name.to_str().and_then(|name| name.strip_suffix(JOURNAL));
        match draft {
            Some(draft) if folder.join(draft).exists() => {}
            Some(_) if is_own(entry.metadata()) => drop(fs::remove_file(path)),
            Some(_) => {}
            None => remove_unlocked(&path),
        }
    }
}

fn remove_unlocked(path: &Path) {
    // Others may have put anything into the folder, such as a pipe or a link.
    let careful = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    if let Ok(file) = File::options().read(true).custom_flags(careful).open(path)
        && is_own(file.metadata())
        && file.try_lock().is_ok()
    {
        drop(fs::remove_file(path));
        drop(fs::remove_file(with_journal(path)));
    }
}

/// Whether this is a file of licd's user, as drafts are.
fn is_own(metadata: std::io::Result<Metadata>) -> bool {
    metadata.is_ok_and(|file| file.is_file() && file.uid() == geteuid().as_raw())
}

/// A draft's journal, which SQLite leaves behind if the disk is full.
struct Journal(PathBuf);

impl Drop for Journal {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

fn with_journal(draft: &Path) -> PathBuf {
    let mut name = OsString::from(draft);
    name.push(JOURNAL);
    name.into()
}

fn is_taken(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::AlreadyExists
}

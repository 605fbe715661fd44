//! Replaces an unused SQLite database by a complete file, and keeps the old files.
//!
//! A process that is killed in between leaves the database as it was, or the new file next to the
//! old log, which licd refuses to open until `licd restore` is run again.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use common::Timestamp;
use rustix::fs::{FlockOperation, fcntl_lock};
use tempfile::NamedTempFile;

use super::files::{folder, make_folder, with_suffix};
use super::open_error::OpenError;

/// Suffixes of the files of a database that are kept: the file, its log, and a journal that licd
/// never creates.
const KEPT_SUFFIXES: [&str; 3] = ["", "-wal", "-journal"];
/// SQLite's index of the log, which it makes again.
const INDEX: &str = "-shm";

/// A database that no process has open, nor can open while this value lives.
pub struct UnusedDatabase {
    path: PathBuf,
    /// None if there is no file yet. It must not be opened again in this process, since closing it
    /// would release the lock.
    locked: Option<File>,
}

impl UnusedDatabase {
    /// Fails if a process has it open: SQLite locks a file that has a write-ahead log for as long
    /// as it is open. The folder is created if it does not exist.
    pub fn at(path: &Path) -> Result<Self, OpenError> {
        let failed = |error| OpenError::File(path.to_owned(), error);
        make_folder(path).map_err(failed)?;
        let locked = match File::options().read(true).write(true).open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(file) = &locked {
            lock(file).map_err(|_| OpenError::InUse(path.to_owned()))?;
        }
        Ok(Self { path: path.to_owned(), locked })
    }

    /// Whether there is a database at the path, or what is left of one.
    pub fn exists(path: &Path) -> bool {
        KEPT_SUFFIXES.iter().any(|suffix| with_suffix(path, suffix).exists())
    }

    /// Whether this is the same file.
    pub fn is(&self, other: &Path) -> io::Result<bool> {
        let Some(file) = &self.locked else { return Ok(false) };
        let (this, other) = (file.metadata()?, other.metadata()?);
        Ok((this.dev(), this.ino()) == (other.dev(), other.ino()))
    }

    pub fn folder(&self) -> &Path {
        folder(&self.path)
    }

    /// Puts the new file in place, with the owner of the old one, and returns the name
    /// under which the old one is kept, if there was one.
    pub fn replace(self, new: NamedTempFile) -> io::Result<Option<PathBuf>> {
        let owner = match &self.locked {
            Some(file) => file.metadata()?,
            None => self.folder().metadata()?,
        };
        if owner.uid() != new.as_file().metadata()?.uid() {
            fchown(new.as_file(), Some(owner.uid()), Some(owner.gid()))?;
        }
        // Until the old log is gone, no licd may open the new file.
        lock(new.as_file())?;
        let kept = self.keep()?;
        let _new = new.persist(&self.path).map_err(|error| error.error)?;
        for suffix in KEPT_SUFFIXES.into_iter().skip(1).chain([INDEX]) {
            remove(&with_suffix(&self.path, suffix))?;
        }
        File::open(self.folder())?.sync_all()?;
        Ok(kept)
    }

    /// Gives the old files a second name.
    fn keep(&self) -> io::Result<Option<PathBuf>> {
        let now = Timestamp::now().to_string().replace(':', "-");
        let kept = with_suffix(&self.path, &format!("-replaced-{now}"));
        let mut is_any = false;
        for suffix in KEPT_SUFFIXES {
            match fs::hard_link(with_suffix(&self.path, suffix), with_suffix(&kept, suffix)) {
                Ok(()) => is_any = true,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(is_any.then_some(kept))
    }
}

/// A lock that excludes SQLite's own.
fn lock(file: &File) -> io::Result<()> {
    Ok(fcntl_lock(file, FlockOperation::NonBlockingLockExclusive)?)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

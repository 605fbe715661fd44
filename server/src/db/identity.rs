//! The files that an SQLite database was opened from, and whether they are still at their paths.
//!
//! On Unix an open file can be deleted or replaced: processes that have it open continue to write
//! to it, and all of that is lost when the last one closes it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::files::log_of;

/// The files at the time the database was opened. SQLite keeps its write-ahead log while at least
/// one connection is open.
pub struct DatabaseFiles {
    file: OpenFile,
    log: OpenFile,
}

struct OpenFile {
    path: PathBuf,
    /// Device and inode, which are unique while this file is open.
    identity: (u64, u64),
    is_missing: AtomicBool,
}

impl DatabaseFiles {
    /// The file at `path`, and its log. A connection to it must be open.
    pub fn at(path: PathBuf) -> io::Result<Self> {
        let log = OpenFile::at(log_of(&path))?;
        Ok(Self { file: OpenFile::at(path)?, log })
    }

    /// Fails if the file or its log was deleted, moved or replaced, or the file emptied. Takes a
    /// few microseconds.
    pub fn check(&self) -> io::Result<()> {
        // An existing file has at least one page.
        let is_missing = self.file.size().is_none_or(|size| size == 0);
        if self.file.has_changed(is_missing) {
            let path = self.file.path.display();
            if is_missing {
                tracing::error!(
                    %path,
                    "the database's file was deleted, moved or replaced: writes are refused until it is \
                     back, or licd is restarted with the current one"
                );
            } else {
                tracing::info!(%path, "the database's file is back");
            }
        }
        let is_log_missing = self.log.size().is_none();
        if self.log.has_changed(is_log_missing) {
            let path = self.log.path.display();
            if is_log_missing {
                tracing::error!(
                    %path,
                    "the database's write-ahead log was deleted, moved or replaced: writes are refused \
                     until licd is stopped, with SIGTERM only, and restarted"
                );
            } else {
                tracing::info!(%path, "the database's write-ahead log is back");
            }
        }
        if is_missing || is_log_missing {
            let reason = "a file of the database was deleted or replaced while it was open";
            return Err(io::Error::new(io::ErrorKind::NotFound, reason));
        }
        Ok(())
    }
}

impl OpenFile {
    fn at(path: PathBuf) -> io::Result<Self> {
        let metadata = std::fs::metadata(&path)?;
        let identity = (metadata.dev(), metadata.ino());
        Ok(Self { path, identity, is_missing: AtomicBool::new(false) })
    }

    /// The size of the file, if it is still at its path.
    fn size(&self) -> Option<u64> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        (self.identity == (metadata.dev(), metadata.ino())).then_some(metadata.len())
    }

    /// Whether the state has changed since the last check.
    fn has_changed(&self, is_missing: bool) -> bool {
        is_missing != self.is_missing.swap(is_missing, Ordering::Relaxed)
    }
}

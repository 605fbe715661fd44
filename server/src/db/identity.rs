//! The file that an SQLite database was opened from, and whether it is still at its path.
//!
//! On Unix an open file can be deleted or replaced: processes that have it open go on writing to
//! it, and all of that is lost when the last one closes it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file as it was when the database was opened.
pub struct DatabaseFile {
    path: PathBuf,
    /// Device and inode, which no other file has while this one is open.
    identity: (u64, u64),
    is_missing: AtomicBool,
}

impl DatabaseFile {
    /// The file at `path`, which exists.
    pub fn at(path: PathBuf) -> io::Result<Self> {
        let identity = identity(&path)?;
        Ok(Self { path, identity, is_missing: AtomicBool::new(false) })
    }

    /// Fails when the file was deleted, moved or replaced. It costs about a microsecond.
    pub fn check(&self) -> io::Result<()> {
        let is_missing = identity(&self.path).ok() != Some(self.identity);
        if is_missing != self.is_missing.swap(is_missing, Ordering::Relaxed) {
            self.log(is_missing);
        }
        if is_missing {
            let reason = "the database's file was deleted or replaced while it was open";
            return Err(io::Error::new(io::ErrorKind::NotFound, reason));
        }
        Ok(())
    }

    fn log(&self, is_missing: bool) {
        let path = self.path.display();
        if is_missing {
            tracing::error!(
                %path,
                "the database's file was deleted, moved or replaced: nothing is written until it is \
                 back, or licd is started anew on the one that is there now"
            );
        } else {
            tracing::info!(%path, "the database's file is back");
        }
    }
}

fn identity(path: &PathBuf) -> io::Result<(u64, u64)> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

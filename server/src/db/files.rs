//! The files of an SQLite database: making them for their owner alone, and noticing when others may
//! read or write them.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::open_error::OpenError;
use crate::permissions::{mode, quoted};

/// Of a file: others may read, write or run it, or its group may write it.
const EXPOSED_FILE: u32 = 0o027;
/// Of a folder: others or its group may put files into it, and so replace the database.
const EXPOSED_FOLDER: u32 = 0o022;
/// Of a folder such as /tmp: no user may replace the files of another.
const STICKY: u32 = 0o1000;

/// How many links may lead from one to the next, as on Linux.
const MAX_LINKS: usize = 40;

/// Makes the file, and its folder, if they do not exist: for nobody else to read. SQLite gives its
/// side files the same permissions.
pub(super) fn make(path: &Path) -> Result<(), OpenError> {
    refuse_unusable(path)?;
    refuse_lost(path)?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder(path)).and_then(|()| {
        OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
    });
    made.map_err(|error| OpenError::File(path.to_owned(), error))
}

/// Finds the file, and does not create it.
pub fn find(path: &Path) -> Result<(), OpenError> {
    refuse_unusable(path)?;
    refuse_lost(path)?;
    match path.metadata() {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(OpenError::Missing),
        Err(error) => Err(OpenError::File(path.to_owned(), error)),
    }
}

/// Where the file really is. SQLite keeps its log next to that, not next to a link that leads to it.
pub(super) fn resolve(path: PathBuf) -> PathBuf {
    let mut resolved = path.clone();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&resolved) {
            Ok(target) => resolved = folder(&resolved).join(target),
            Err(_) => return resolved,
        }
    }
    // A circle, which fails when it is opened.
    path
}

/// Fails when there is something at the path that is no file. To open a pipe would wait for somebody
/// who writes to it.
fn refuse_unusable(path: &Path) -> Result<(), OpenError> {
    match path.metadata() {
        Ok(file) if file.is_dir() => Err(OpenError::Folder),
        Ok(file) if !file.is_file() => Err(OpenError::NotAFile(path.to_owned())),
        _ => Ok(()),
    }
}

/// Fails when the file is missing or empty and its write-ahead log is not: the log then has what was
/// written, and SQLite would delete it when it opens the file.
fn refuse_lost(path: &Path) -> Result<(), OpenError> {
    let is_empty = |path: &Path| match path.metadata() {
        Ok(file) => file.len() == 0,
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    // The log first: a new file has a page before it has a log.
    let log = log_of(path);
    if !is_empty(&log) && is_empty(path) {
        return Err(OpenError::Lost { file: path.to_owned(), log });
    }
    Ok(())
}

/// Where SQLite keeps the write-ahead log of a file.
pub(super) fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// A way in which others on this machine may read or change a database.
pub struct Exposure {
    pub what: &'static str,
    /// The command that ends it.
    pub fix: String,
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; fix it with: {}", self.what, self.fix)
    }
}

/// Looks at the file, at those that SQLite keeps beside it, and at their folder. What does not exist
/// is not exposed: licd makes it for its owner alone.
pub(super) fn exposures(path: &Path) -> Vec<Exposure> {
    let mut found = Vec::new();
    let files = ["", "-wal", "-shm"].map(|suffix| beside(path, suffix));
    let is_exposed = |file: &&PathBuf| file.is_file() && mode(file) & EXPOSED_FILE != 0;
    let files: Vec<&PathBuf> = files.iter().filter(is_exposed).collect();
    if !files.is_empty() {
        let files = files.into_iter().map(|file| quoted(file)).collect::<Vec<_>>().join(" ");
        found.push(Exposure {
            what: "others can read or change the database",
            fix: format!("chmod 600 {files}"),
        });
    }
    let folder = folder(path);
    let mode = mode(folder);
    if mode & EXPOSED_FOLDER != 0 && mode & STICKY == 0 {
        found.push(Exposure {
            what: "others can replace the database",
            fix: format!("chmod go-w {}", quoted(folder)),
        });
    }
    found
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

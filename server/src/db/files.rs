//! The files of an SQLite database: creates them for their owner only, and detects if other users
//! can read or write them.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::open_error::OpenError;
use crate::permissions::{mode, quoted};

/// For a file: others may read, write or run it, or its group may write it.
const EXPOSED_FILE: u32 = 0o027;
/// For a folder: others or its group may create files in it, and so replace the database.
const EXPOSED_FOLDER: u32 = 0o022;
/// For a folder such as /tmp: users cannot replace each other's files.
const STICKY: u32 = 0o1000;

/// The most links that may lead from one to the next, as on Linux.
const MAX_LINKS: usize = 40;

/// Creates the file and its folder if they do not exist, accessible only to the owner. SQLite gives
/// its side files the same permissions.
pub(super) fn make(path: &Path) -> Result<(), OpenError> {
    refuse_unusable(path)?;
    refuse_strange_log(path)?;
    let made = make_folder(path).and_then(|()| {
        OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
    });
    made.map_err(|error| OpenError::File(path.to_owned(), error))
}

/// Creates the folder of a file if it does not exist, accessible only to the owner.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder(path))
}

/// Checks that the file exists, without creating it.
pub fn find(path: &Path) -> Result<(), OpenError> {
    refuse_unusable(path)?;
    refuse_strange_log(path)?;
    match path.metadata() {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(OpenError::Missing),
        Err(error) => Err(OpenError::File(path.to_owned(), error)),
    }
}

/// Follows links to the real file, since SQLite keeps its log next to that.
pub(super) fn resolve(path: PathBuf) -> PathBuf {
    let mut resolved = path.clone();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&resolved) {
            Ok(target) => resolved = folder(&resolved).join(target),
            Err(_) => return resolved,
        }
    }
    // A cycle, which makes opening fail.
    path
}

/// Fails if the path is neither a regular file nor free. Opening a pipe would wait for a writer.
fn refuse_unusable(path: &Path) -> Result<(), OpenError> {
    match path.metadata() {
        Ok(file) if file.is_dir() => Err(OpenError::Folder),
        Ok(file) if !file.is_file() => Err(OpenError::NotAFile(path.to_owned())),
        _ => Ok(()),
    }
}

/// Fails if the write-ahead log is not empty and cannot belong to the file. A file that is missing
/// or empty has lost what the log continues, and SQLite would delete the log. A copy that was put
/// here, such as a backup, is another database, and SQLite would mix the two.
fn refuse_strange_log(path: &Path) -> Result<(), OpenError> {
    let is_empty = |path: &Path| match path.metadata() {
        Ok(file) => file.len() == 0,
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    // The log first, since a new file has a page before it has a log.
    let log = log_of(path);
    if is_empty(&log) {
        return Ok(());
    }
    if is_empty(path) {
        return Err(OpenError::Lost { file: path.to_owned(), log });
    }
    if has_no_log(path) {
        return Err(OpenError::Copied { file: path.to_owned(), log });
    }
    Ok(())
}

/// Whether the file says that its changes are never in a write-ahead log: its two format versions
/// are 1, which licd changes to 2 before there is a log.
fn has_no_log(path: &Path) -> bool {
    let mut header = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header[18..] == [1, 1]
}

/// The path of a file's write-ahead log.
pub(super) fn log_of(path: &Path) -> PathBuf {
    with_suffix(path, "-wal")
}

/// A way for other users of this machine to read or change a database.
pub struct PermissionProblem {
    pub what: &'static str,
    /// The command that fixes it.
    pub fix: String,
}

impl fmt::Display for PermissionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; fix it with: {}", self.what, self.fix)
    }
}

/// Checks the file, SQLite's side files, and their folder. Missing files are no problem, since licd
/// creates them for their owner only.
pub(super) fn permission_problems(path: &Path) -> Vec<PermissionProblem> {
    let mut found = Vec::new();
    let files = ["", "-wal", "-shm"].map(|suffix| with_suffix(path, suffix));
    let is_exposed = |file: &&PathBuf| file.is_file() && mode(file) & EXPOSED_FILE != 0;
    let files: Vec<&PathBuf> = files.iter().filter(is_exposed).collect();
    if !files.is_empty() {
        let files = files.into_iter().map(|file| quoted(file)).collect::<Vec<_>>().join(" ");
        found.push(PermissionProblem {
            what: "others can read or change the database",
            fix: format!("chmod 600 {files}"),
        });
    }
    let folder = folder(path);
    let mode = mode(folder);
    if mode & EXPOSED_FOLDER != 0 && mode & STICKY == 0 {
        found.push(PermissionProblem {
            what: "others can replace the database",
            fix: format!("chmod go-w {}", quoted(folder)),
        });
    }
    found
}

pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

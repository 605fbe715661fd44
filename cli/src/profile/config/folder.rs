//! The folder of the configuration and the cache: reads its files, replaces them as a whole, and
//! locks them for a change. Other modules interpret the files.

use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};
use toml_edit::{DocumentMut, de, ser};

use crate::error::{Error, Exit, Result};
use crate::profile::system_keyring::Keyring;
use crate::terminal::Env;

/// The file that a change locks; it stays empty.
const LOCK_FILE: &str = "lock";

/// The folder of the configuration and the cache.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The folder of files that can be rebuilt.
    cache: PathBuf,
    /// Whether the environment names the folder. It then holds the keys too, instead of the
    /// system's keyring, so that it can be moved, mounted and deleted as one.
    pub self_contained: bool,
    /// The keyring for the keys of every other folder.
    pub keyring: Keyring,
}

impl Folder {
    pub fn locate(env: &Env) -> Result<Self> {
        if let Some(path) = env.config_dir() {
            let cache = path.join("cache");
            return Ok(Self { path, cache, self_contained: true, keyring: Keyring::default() });
        }
        let usual = directories::ProjectDirs::from("", "", "licctl").ok_or_else(|| {
            Error::new(
                Exit::Usage,
                "no_home",
                "Cannot find a home directory for the configuration.",
            )
            .fix("set LICCTL_CONFIG_DIR to a directory")
        })?;
        let (path, cache) = (usual.config_dir().to_owned(), usual.cache_dir().to_owned());
        Ok(Self { path, cache, self_contained: false, keyring: Keyring::default() })
    }

    /// A folder anywhere, with a keyring of its own.
    #[cfg(test)]
    pub fn at(path: &Path, keyring: Keyring) -> Self {
        let (path, cache) = (path.to_owned(), path.join("cache"));
        Self { path, cache, self_contained: false, keyring }
    }

    /// The cache folder.
    pub fn cache(self) -> Self {
        Self { path: self.cache.clone(), ..self }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads a TOML file; a missing file is empty.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let text = self.text(name)?;
        de::from_str(&text).map_err(|error| self.malformed(name, &text, &error))
    }

    /// Reads a TOML file with its comments and its order.
    pub fn document(&self, name: &str) -> Result<DocumentMut> {
        let text = self.text(name)?;
        text.parse().map_err(|error| self.malformed(name, &text, &de::Error::from(error)))
    }

    fn text(&self, name: &str) -> Result<String> {
        match fs::read_to_string(self.file(name)) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(self.unreadable(name, &error)),
        }
    }

    /// The parser's own text would quote the line, and with it a key.
    fn malformed(&self, name: &str, text: &str, error: &de::Error) -> Error {
        let line = error.span().map(|span| text[..span.start].lines().count().max(1));
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        self.unreadable(name, &format!("{line}{}", error.message()))
    }

    fn unreadable(&self, name: &str, why: &dyn Display) -> Error {
        let path = self.file(name).display().to_string();
        Error::new(Exit::Usage, "config", format!("Cannot read {path}."))
            .because(why.to_string())
            .fix("fix the file, or move it away and run licctl login")
    }

    /// Replaces a file as a whole, readable by its owner only.
    pub fn write(&self, name: &str, content: &impl Serialize) -> Result<()> {
        let text = ser::to_string_pretty(content);
        self.replace(name, &text.map_err(|error| self.unwritable(name, &error))?)
    }

    /// Replaces the text of a file, and reads it back. A link stays, as do the permissions of a
    /// file that is there.
    pub fn replace(&self, name: &str, text: &str) -> Result<()> {
        let failed = |error: &dyn Display| self.unwritable(name, error);
        create_private(&self.path).map_err(|error| failed(&error))?;
        write_whole(&self.file(name), text).map_err(|error| failed(&error))?;
        if self.text(name)? != text {
            return Err(failed(&"It does not contain what was written."));
        }
        Ok(())
    }

    fn unwritable(&self, name: &str, why: &dyn Display) -> Error {
        let path = self.file(name).display().to_string();
        Error::new(Exit::Internal, "config", format!("Cannot write {path}."))
            .because(why.to_string())
            .fix("check the owner and the free space, or set LICCTL_CONFIG_DIR")
    }

    /// Waits until no other licctl changes the files of this folder.
    pub async fn lock(&self, timeout: Duration) -> Result<LockedFolder> {
        let failed = |error: &dyn Display| self.unwritable(LOCK_FILE, error);
        create_private(&self.path).map_err(|error| failed(&error))?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.file(LOCK_FILE)).map_err(|error| failed(&error))?;
        let locking = tokio::task::spawn_blocking(move || file.lock().map(|()| file));
        match tokio::time::timeout(timeout, locking).await {
            Ok(Ok(Ok(file))) => Ok(LockedFolder { folder: self.clone(), _lock: file }),
            Ok(Ok(Err(error))) => Err(failed(&error)),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => {
                let path = self.path.display();
                let seconds = timeout.as_secs();
                Err(Error::new(Exit::Rejected, "locked", format!("{path} is locked."))
                    .because(format!("Another licctl has been holding it for {seconds} s."))
                    .fix("wait for the other licctl, or stop it, and try again"))
            }
        }
    }
}

/// A folder whose files no other licctl changes until this is dropped.
pub struct LockedFolder {
    folder: Folder,
    _lock: fs::File,
}

impl Deref for LockedFolder {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

/// Replaces a file atomically; a symbolic link keeps its target.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // A temporary file has mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(target.parent().unwrap_or(path))?;
    if let Ok(old) = fs::metadata(&target) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.persist(&target)?;
    Ok(())
}

fn create_private(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

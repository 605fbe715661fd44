//! Secrets at rest: values that licd must read again, such as those that sign webhooks. They are
//! sealed with a key that is not in the database but in a file, so that who finds a backup cannot
//! use them.
//!
//! The first line of the file seals, and all open. The file is read at the start, and again when a
//! value needs a key that was not in it.

mod seal;

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::permissions::chmod_hint;
use crate::small_file;

pub use seal::{Place, SecretKey, SecretKeyId, key_of};

/// How long a file that lacks a key is not read again.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Why a value cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is no key at all.
    #[error("there is no secret key")]
    Missing,
    /// The key of the value is none of those in the file.
    #[error("the secret key {needed} is needed, and the file has {}", ids(has))]
    Unknown { needed: SecretKeyId, has: Vec<SecretKeyId> },
    #[error("the sealed value is damaged, or belongs elsewhere")]
    Damaged,
    #[error("{0}")]
    File(#[from] FileError),
}

fn ids(ids: &[SecretKeyId]) -> String {
    match ids {
        [] => "none".to_owned(),
        ids => ids.iter().map(SecretKeyId::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Why the file with the secret keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path}: {error}", path = path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "{path}: line {line} is no undamaged secret key, such as `licd secret-key generate` prints",
        path = path.display()
    )]
    Malformed { path: PathBuf, line: usize },
    #[error("{path}: it has no secret key", path = path.display())]
    Empty { path: PathBuf },
}

/// The secret keys of this node. Cheap to clone; clones share what was read.
#[derive(Clone, Default)]
pub struct SecretKeys(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// None on PostgreSQL without the setting.
    file: Option<KeyFile>,
    read: Mutex<Read>,
}

/// What was in the file when it was last read.
#[derive(Default)]
struct Read {
    keys: Vec<SecretKey>,
    at: Option<Instant>,
}

#[derive(Clone)]
struct KeyFile {
    path: PathBuf,
    /// licd makes it when it is first needed.
    is_own: bool,
}

/// The keys stay out of logs.
impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SecretKeys").field(&self.path()).finish()
    }
}

impl SecretKeys {
    /// Those in the file that the operator names.
    pub fn named(path: PathBuf) -> Result<Self, FileError> {
        Self::of(KeyFile { path, is_own: false })
    }

    /// Those in the file beside an SQLite database, which is made when it is first needed.
    pub fn beside(database: &Path) -> Result<Self, FileError> {
        Self::of(KeyFile { path: Self::path_beside(database), is_own: true })
    }

    /// The file beside an SQLite database.
    pub fn path_beside(database: &Path) -> PathBuf {
        let mut name = database.as_os_str().to_owned();
        name.push(".secret");
        name.into()
    }

    /// Creates a file with a new key, readable only by its owner, whole or not at all. Never
    /// replaces a file.
    pub fn create(path: &Path) -> io::Result<()> {
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(file, "{}", SecretKey::generate().expose())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map_err(|error| error.error)?;
        std::fs::File::open(folder)?.sync_all()
    }

    fn of(file: KeyFile) -> Result<Self, FileError> {
        let keys = file.read()?;
        if let Some(fix) = chmod_hint(&file.path) {
            let setting = "LICD_SECRET_KEY_FILE";
            tracing::warn!("others can read or change the file of {setting}; fix it with: {fix}");
        }
        let read = Mutex::new(Read { keys, at: Some(Instant::now()) });
        Ok(Self(Arc::new(Shared { file: Some(file), read })))
    }

    /// Their file, if it has any.
    pub fn file(&self) -> Option<&Path> {
        self.path().filter(|_| !self.ids().is_empty())
    }

    /// The file that is configured, whether or not it exists.
    pub fn path(&self) -> Option<&Path> {
        self.0.file.as_ref().map(|file| &*file.path)
    }

    /// The ids of the keys that were last read; the first one seals.
    pub fn ids(&self) -> Vec<SecretKeyId> {
        self.keys().iter().map(SecretKey::id).collect()
    }

    /// Whether a value was sealed with one of the keys that were last read.
    pub fn has_key_of(&self, sealed: &[u8]) -> bool {
        key_of(sealed).is_some_and(|id| self.ids().contains(&id))
    }

    fn keys(&self) -> Vec<SecretKey> {
        self.0.read.lock().keys.clone()
    }

    /// Seals a secret with the first key. Without a file beside SQLite's one is made, and is on
    /// disk on return, unless something `is_sealed` already: then the file was lost, and a new one
    /// would hide that.
    pub async fn seal(
        &self,
        secret: &[u8],
        place: &Place,
        is_sealed: bool,
    ) -> Result<Vec<u8>, SecretError> {
        let mut keys = self.keys();
        if keys.is_empty() {
            keys = self.read_again(!is_sealed).await?;
        }
        let key = keys.first().ok_or(SecretError::Missing)?;
        key.seal(secret, place).ok_or(SecretError::Damaged)
    }

    /// Opens a value that was sealed in this place.
    pub async fn open(
        &self,
        sealed: &[u8],
        place: &Place,
    ) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        let needed = key_of(sealed).ok_or(SecretError::Damaged)?;
        let mut keys = self.keys();
        if !keys.iter().any(|key| key.id() == needed) && self.may_read_again() {
            keys = self.read_again(false).await?;
        }
        let key = keys.iter().find(|key| key.id() == needed);
        let has = || keys.iter().map(SecretKey::id).collect();
        let key = key.ok_or_else(|| SecretError::Unknown { needed, has: has() })?;
        key.open(sealed, place).ok_or(SecretError::Damaged)
    }

    fn may_read_again(&self) -> bool {
        self.0.read.lock().at.is_some_and(|at| at.elapsed() >= READ_AGAIN)
    }

    async fn read_again(&self, may_make: bool) -> Result<Vec<SecretKey>, SecretError> {
        let file = self.0.file.clone().ok_or(SecretError::Missing)?;
        let reading = tokio::task::spawn_blocking(move || {
            if may_make && file.is_own {
                file.make()?;
            }
            file.read()
        });
        let keys = reading.await.map_err(|_| SecretError::Missing)??;
        *self.0.read.lock() = Read { keys: keys.clone(), at: Some(Instant::now()) };
        Ok(keys)
    }
}

impl KeyFile {
    /// A file that licd makes may be missing.
    fn read(&self) -> Result<Vec<SecretKey>, FileError> {
        let path = || self.path.clone();
        let bytes = match small_file::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if self.is_own && error.kind() == ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(FileError::Unreadable { path: path(), error }),
        };
        let lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty());
        let keys = lines.map(|(n, line)| {
            let key = str::from_utf8(line).ok().and_then(SecretKey::parse);
            key.ok_or_else(|| FileError::Malformed { path: path(), line: n + 1 })
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() { Err(FileError::Empty { path: path() }) } else { Ok(keys) }
    }

    /// Makes the file with a new key. One that exists stays.
    fn make(&self) -> Result<(), FileError> {
        match SecretKeys::create(&self.path) {
            Ok(()) => tracing::info!(
                path = %self.path.display(),
                "made the file with the secret key; keep a copy of it apart from the backups"
            ),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(FileError::Unreadable { path: self.path.clone(), error });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use uuid::Uuid;

    use super::*;

    fn place() -> Place {
        Place { table: "webhooks", column: "secrets", world: 1, row: Uuid::from_u128(7) }
    }

    async fn sealed(keys: &SecretKeys) -> Vec<u8> {
        keys.seal(b"a secret", &place(), false).await.unwrap()
    }

    #[tokio::test]
    async fn the_file_beside_the_database_is_made_once_and_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("licd.db");
        let keys = SecretKeys::beside(&database).unwrap();
        let path = folder.path().join("licd.db.secret");
        assert!(!path.exists(), "not before it is needed");
        let lost = keys.seal(b"a secret", &place(), true).await;
        assert!(matches!(lost, Err(SecretError::Missing)) && !path.exists(), "it was lost");
        let [first, other] = [sealed(&keys).await, sealed(&keys).await];
        assert_eq!(key_of(&first), key_of(&other));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        // Another process that comes second reads what the first has made.
        let second = SecretKeys::beside(&database).unwrap();
        assert_eq!(&**second.open(&first, &place()).await.unwrap(), b"a secret");
    }

    #[tokio::test]
    async fn the_first_line_seals_and_all_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let [old, new] = [SecretKey::generate(), SecretKey::generate()];
        fs::write(&path, format!("{}\n", old.expose())).unwrap();
        let node = SecretKeys::named(path.clone()).unwrap();
        let by_old = sealed(&node).await;
        fs::write(&path, format!("{}\n\n {}\r\n", new.expose(), old.expose())).unwrap();
        let by_new = sealed(&SecretKeys::named(path.clone()).unwrap()).await;
        assert_eq!((key_of(&by_old), key_of(&by_new)), (Some(old.id()), Some(new.id())));
        // A node that runs since before reads the file again, once a second at most.
        let unknown = node.open(&by_new, &place()).await.unwrap_err().to_string();
        assert!(unknown.contains(&new.id().to_string()), "{unknown}");
        assert!(unknown.contains(&old.id().to_string()), "{unknown}");
        assert!(!unknown.contains("licdsk_"), "{unknown}");
        node.0.read.lock().at = Instant::now().checked_sub(READ_AGAIN);
        assert!(node.open(&by_new, &place()).await.is_ok());
        assert!(node.open(&by_old, &place()).await.is_ok());
    }

    #[tokio::test]
    async fn a_wrong_file_is_named_and_without_one_nothing_is_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let refused = || SecretKeys::named(path.clone()).unwrap_err().to_string();
        assert!(refused().contains(&path.display().to_string()));
        fs::write(&path, "\n").unwrap();
        assert!(refused().contains("it has no secret key"), "{}", refused());
        let key = SecretKey::generate();
        fs::write(&path, format!("{}\n{}x\n", key.expose(), key.expose())).unwrap();
        assert!(refused().contains("line 2"), "{}", refused());
        assert!(!refused().contains("licdsk_"), "{}", refused());
        let none = SecretKeys::default().seal(b"", &place(), false).await;
        assert!(matches!(none, Err(SecretError::Missing)));
    }
}

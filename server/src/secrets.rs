//! Encryption of secrets at rest that licd must read again, such as the secrets that sign webhooks.
//! The key is in a file and not in the database, so a stolen backup does not reveal the secrets.
//!
//! Each line of the file is a secret key. The first one seals, and all of them open. licd reads the
//! file at the start, and again when a value needs a key that was not in the file.

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

pub use seal::{SealContext, SecretKey, SecretKeyId, key_of};

/// Minimum time between two reads of the file.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// Reason why a value cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// licd has no secret key.
    #[error("licd has no secret key")]
    Missing,
    /// The file lacks the key that sealed the value.
    #[error("the secret key {needed} is needed, and the file has {}", ids(has))]
    Unknown { needed: SecretKeyId, has: Vec<SecretKeyId> },
    #[error("the sealed value is damaged, or was moved from another row")]
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

/// Reason why the file with the secret keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path}: {error}", path = path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "{path}: line {line} is not a valid secret key, such as `licd secret-key generate` prints",
        path = path.display()
    )]
    Malformed { path: PathBuf, line: usize },
    #[error("{path}: the file contains no secret key", path = path.display())]
    Empty { path: PathBuf },
}

/// The secret keys of this node. Cheap to clone. Clones share the loaded keys.
#[derive(Clone, Default)]
pub struct SecretKeys(Arc<SharedKeys>);

#[derive(Default)]
struct SharedKeys {
    /// `None` on PostgreSQL without `LICD_SECRET_KEY_FILE`.
    file: Option<KeyFile>,
    loaded: Mutex<LoadedKeys>,
}

/// Keys of the file when it was last read.
#[derive(Default)]
struct LoadedKeys {
    keys: Vec<SecretKey>,
    at: Option<Instant>,
}

#[derive(Clone)]
struct KeyFile {
    path: PathBuf,
    /// Whether licd creates the file when it first needs a key.
    is_own: bool,
}

/// Prints only the path, so that keys do not get into logs.
impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SecretKeys").field(&self.path()).finish()
    }
}

impl SecretKeys {
    /// Reads the keys of a file that the operator has created.
    pub fn named(path: PathBuf) -> Result<Self, FileError> {
        Self::of(KeyFile { path, is_own: false })
    }

    /// Reads the keys of the file next to an SQLite database. licd creates the file when it first
    /// needs a key.
    pub fn for_database(database: &Path) -> Result<Self, FileError> {
        Self::of(KeyFile { path: Self::path_for_database(database), is_own: true })
    }

    /// Returns the path of the file next to an SQLite database.
    pub fn path_for_database(database: &Path) -> PathBuf {
        let mut name = database.as_os_str().to_owned();
        name.push(".secret");
        name.into()
    }

    /// Creates a file with a new key, atomically and readable only by its owner. Never replaces a
    /// file.
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
        let loaded = Mutex::new(LoadedKeys { keys, at: Some(Instant::now()) });
        Ok(Self(Arc::new(SharedKeys { file: Some(file), loaded })))
    }

    /// Returns the path of the file if it contains keys.
    pub fn file(&self) -> Option<&Path> {
        self.path().filter(|_| !self.ids().is_empty())
    }

    /// Returns the configured path, whether or not the file exists.
    pub fn path(&self) -> Option<&Path> {
        self.0.file.as_ref().map(|file| &*file.path)
    }

    /// Returns the ids of the loaded keys. The first one seals.
    pub fn ids(&self) -> Vec<SecretKeyId> {
        self.keys().iter().map(SecretKey::id).collect()
    }

    /// Whether a value was sealed with one of the loaded keys.
    pub fn has_key_of(&self, sealed: &[u8]) -> bool {
        key_of(sealed).is_some_and(|id| self.ids().contains(&id))
    }

    fn keys(&self) -> Vec<SecretKey> {
        self.0.loaded.lock().keys.clone()
    }

    /// Seals a secret with the first key. On SQLite, first creates the file if there is none,
    /// unless a value `is_sealed` already. Then the file was lost, and a new file would hide that.
    pub async fn seal(
        &self,
        secret: &[u8],
        context: &SealContext,
        is_sealed: bool,
    ) -> Result<Vec<u8>, SecretError> {
        let mut keys = self.keys();
        if keys.is_empty() {
            keys = self.reload(!is_sealed).await?;
        }
        let key = keys.first().ok_or(SecretError::Missing)?;
        key.seal(secret, context).ok_or(SecretError::Damaged)
    }

    /// Opens a value that was sealed in this context.
    pub async fn open(
        &self,
        sealed: &[u8],
        context: &SealContext,
    ) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        let needed = key_of(sealed).ok_or(SecretError::Damaged)?;
        let mut keys = self.keys();
        if !keys.iter().any(|key| key.id() == needed) && self.may_reload() {
            keys = self.reload(false).await?;
        }
        let key = keys.iter().find(|key| key.id() == needed);
        let has = || keys.iter().map(SecretKey::id).collect();
        let key = key.ok_or_else(|| SecretError::Unknown { needed, has: has() })?;
        key.open(sealed, context).ok_or(SecretError::Damaged)
    }

    fn may_reload(&self) -> bool {
        self.0.loaded.lock().at.is_some_and(|at| at.elapsed() >= RELOAD_INTERVAL)
    }

    async fn reload(&self, may_create: bool) -> Result<Vec<SecretKey>, SecretError> {
        let file = self.0.file.clone().ok_or(SecretError::Missing)?;
        let reading = tokio::task::spawn_blocking(move || {
            if may_create && file.is_own {
                file.create()?;
            }
            file.read()
        });
        let keys = reading.await.map_err(|_| SecretError::Missing)??;
        *self.0.loaded.lock() = LoadedKeys { keys: keys.clone(), at: Some(Instant::now()) };
        Ok(keys)
    }
}

impl KeyFile {
    /// Reads the keys. A file that licd creates may be missing.
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

    /// Creates the file with a new key, unless it exists.
    fn create(&self) -> Result<(), FileError> {
        match SecretKeys::create(&self.path) {
            Ok(()) => tracing::info!(
                path = %self.path.display(),
                "created the file with the secret key; keep a copy of it, separate from the backups"
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

    fn seal_context() -> SealContext {
        SealContext { table: "webhooks", column: "secrets", world: 1, row: Uuid::from_u128(7) }
    }

    async fn sealed(keys: &SecretKeys) -> Vec<u8> {
        keys.seal(b"a secret", &seal_context(), false).await.unwrap()
    }

    #[tokio::test]
    async fn the_file_next_to_the_database_is_created_once_and_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("licd.db");
        let keys = SecretKeys::for_database(&database).unwrap();
        let path = folder.path().join("licd.db.secret");
        assert!(!path.exists(), "no key was needed yet");
        let lost = keys.seal(b"a secret", &seal_context(), true).await;
        assert!(matches!(lost, Err(SecretError::Missing)) && !path.exists(), "the file was lost");
        let [first, other] = [sealed(&keys).await, sealed(&keys).await];
        assert_eq!(key_of(&first), key_of(&other));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file remains");
        // A second process reads the file that the first has created.
        let second = SecretKeys::for_database(&database).unwrap();
        assert_eq!(&**second.open(&first, &seal_context()).await.unwrap(), b"a secret");
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
        // A node that already runs reads the file again, at most once a second.
        let unknown = node.open(&by_new, &seal_context()).await.unwrap_err().to_string();
        assert!(unknown.contains(&new.id().to_string()), "{unknown}");
        assert!(unknown.contains(&old.id().to_string()), "{unknown}");
        assert!(!unknown.contains("licdsk_"), "{unknown}");
        node.0.loaded.lock().at = Instant::now().checked_sub(RELOAD_INTERVAL);
        assert!(node.open(&by_new, &seal_context()).await.is_ok());
        assert!(node.open(&by_old, &seal_context()).await.is_ok());
    }

    #[tokio::test]
    async fn an_invalid_file_is_reported_and_without_a_file_nothing_is_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let refused = || SecretKeys::named(path.clone()).unwrap_err().to_string();
        assert!(refused().contains(&path.display().to_string()));
        fs::write(&path, "\n").unwrap();
        assert!(refused().contains("contains no secret key"), "{}", refused());
        let key = SecretKey::generate();
        fs::write(&path, format!("{}\n{}x\n", key.expose(), key.expose())).unwrap();
        assert!(refused().contains("line 2"), "{}", refused());
        assert!(!refused().contains("licdsk_"), "{}", refused());
        let none = SecretKeys::default().seal(b"", &seal_context(), false).await;
        assert!(matches!(none, Err(SecretError::Missing)));
    }
}

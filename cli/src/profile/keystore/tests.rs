//! Keys in a keyring that works, and in one that is locked, forgets or never answers.

use std::any::Any;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyring_core::api::{CredentialApi, CredentialStoreApi};
use keyring_core::{Credential, CredentialStore, Entry, mock};
use tempfile::TempDir;

use super::*;
use crate::profile::system_keyring::Keyring;

const KEY: &str = "sk_live_CANARYCANARYCANARYCANARYCANARY002L3MQ1";
const OTHER_KEY: &str = "sk_test_OTHERkeyOTHERkeyOTHERkeyOTHERkey3RW8Tu";

fn server() -> Url {
    "https://licenses.example".parse().unwrap()
}

fn key(text: &str) -> ApiKey {
    text.parse().unwrap()
}

fn folder(store: Arc<CredentialStore>) -> (TempDir, Folder) {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::at(dir.path(), Keyring::Of(store));
    (dir, folder)
}

async fn locked(store: Arc<CredentialStore>) -> (TempDir, LockedFolder) {
    let (dir, folder) = folder(store);
    let locked = folder.lock(Duration::MAX).await.unwrap();
    (dir, locked)
}

/// Stores a key for profile `acme`.
async fn put(folder: &LockedFolder, text: &str) -> KeyPlace {
    store(folder, "acme", &server(), &key(text)).await.unwrap().place
}

async fn kept(folder: &Folder, place: KeyPlace) -> Result<Option<String>> {
    let key = load(folder, place, "acme", &server()).await?;
    Ok(key.map(|key| key.expose().to_owned()))
}

/// The next thing asked of the entry of profile `acme` fails.
fn lock(store: &mock::Store) {
    let entry = store.build("licctl", "acme at https://licenses.example", None).unwrap();
    let credential: &mock::Cred = entry.as_any().downcast_ref().unwrap();
    credential.set_error(keyring_core::Error::NoStorageAccess("it is locked".into()));
}

#[tokio::test]
async fn a_keyring_that_works_keeps_the_key_and_no_file_does() {
    let (_dir, folder) = locked(mock::Store::new().unwrap()).await;
    let place = put(&folder, KEY).await;
    assert_eq!(place, KeyPlace::Keyring);
    assert!(!folder.file(CREDENTIALS_FILE).exists());
    assert_eq!(kept(&folder, place).await.unwrap().as_deref(), Some(KEY));
    let elsewhere: Url = "https://other.example".parse().unwrap();
    assert!(load(&folder, place, "acme", &elsewhere).await.unwrap().is_none());
    assert!(load(&folder, place, "other", &server()).await.unwrap().is_none());
    forget(&folder, place, "acme", &server()).await.unwrap();
    assert!(kept(&folder, place).await.unwrap().is_none());
    forget(&folder, place, "acme", &server()).await.unwrap();
}

#[tokio::test]
async fn a_key_that_moves_to_the_keyring_leaves_the_file() {
    let (_dir, mut folder) = folder(mock::Store::new().unwrap());
    folder.self_contained = true;
    let place = put(&folder.lock(Duration::MAX).await.unwrap(), KEY).await;
    assert_eq!(place, KeyPlace::File, "a folder that is carried about holds its keys");
    folder.self_contained = false;
    let folder = folder.lock(Duration::MAX).await.unwrap();
    assert_eq!(put(&folder, OTHER_KEY).await, KeyPlace::Keyring);
    let [old, new] = [KeyPlace::File, KeyPlace::Keyring].map(profile);
    forget_replaced(&folder, "acme", &old, &new).await.unwrap();
    assert!(!fs::read_to_string(folder.file(CREDENTIALS_FILE)).unwrap().contains("CANARY"));
    assert_eq!(kept(&folder, KeyPlace::Keyring).await.unwrap().as_deref(), Some(OTHER_KEY));
}

fn profile(place: KeyPlace) -> Profile {
    Profile { server: server(), key: Some(place), mode: None, ca_cert: None }
}

#[tokio::test]
async fn a_locked_keyring_is_an_error_and_loses_nothing() {
    let keyring = mock::Store::new().unwrap();
    let (_dir, folder) = locked(keyring.clone()).await;
    put(&folder, KEY).await;
    lock(&keyring);
    let error = kept(&folder, KeyPlace::Keyring).await.unwrap_err();
    assert_eq!(error.exit, Exit::NotAuthenticated);
    let text = error.text(None);
    assert!(text.contains("Cannot use the system keyring."), "{text}");
    assert!(text.contains("it is locked") && text.contains("--api-key-file FILE"), "{text}");
    lock(&keyring);
    assert!(forget(&folder, KeyPlace::Keyring, "acme", &server()).await.is_err());
    assert_eq!(kept(&folder, KeyPlace::Keyring).await.unwrap().as_deref(), Some(KEY));
}

#[tokio::test]
async fn a_keyring_that_takes_no_key_leaves_it_to_the_file() {
    let keyring = mock::Store::new().unwrap();
    lock(&keyring);
    let (_dir, folder) = locked(keyring).await;
    let Stored { place, note } = store(&folder, "acme", &server(), &key(KEY)).await.unwrap();
    assert_eq!(place, KeyPlace::File);
    assert!(note.unwrap().contains("(it is locked); the key is stored in"));
    assert_eq!(kept(&folder, place).await.unwrap().as_deref(), Some(KEY));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder.file(CREDENTIALS_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_keyring_that_loses_keys_is_not_used() {
    let (_dir, folder) = locked(Arc::new(Forgetful)).await;
    let Stored { place, note } = store(&folder, "acme", &server(), &key(KEY)).await.unwrap();
    assert_eq!(place, KeyPlace::File);
    assert!(note.unwrap().contains("(it did not keep the key)"));
    assert_eq!(kept(&folder, place).await.unwrap().as_deref(), Some(KEY));
}

#[tokio::test]
async fn a_keyring_that_never_answers_is_not_waited_for() {
    let (silent, _end) = Hanging::new();
    let (_dir, folder) = locked(silent).await;
    let text = key(KEY);
    let at = server();
    let (stored, loaded, forgotten) = tokio::join!(
        store(&folder, "acme", &at, &text),
        kept(&folder, KeyPlace::Keyring),
        forget(&folder, KeyPlace::Keyring, "acme", &at),
    );
    let Stored { place, note } = stored.unwrap();
    assert_eq!(place, KeyPlace::File);
    assert!(note.unwrap().contains("(no response within 2 s); the key is stored in"));
    assert_eq!(kept(&folder, place).await.unwrap().as_deref(), Some(KEY));
    for error in [loaded.unwrap_err(), forgotten.unwrap_err()] {
        assert_eq!(error.exit, Exit::NotAuthenticated);
        assert!(error.text(None).contains("no response within 2 s"), "{error:?}");
    }
}

/// A keyring that responds only after the other end is dropped, because the threads of a test must
/// end.
#[derive(Debug)]
struct Hanging(Mutex<Receiver<()>>);

impl Hanging {
    fn new() -> (Arc<Self>, Sender<()>) {
        let (end, ended) = channel();
        (Arc::new(Self(Mutex::new(ended))), end)
    }
}

impl CredentialStoreApi for Hanging {
    fn vendor(&self) -> String {
        "nobody".to_owned()
    }

    fn id(&self) -> String {
        "hanging".to_owned()
    }

    fn build(
        &self,
        _: &str,
        _: &str,
        _: Option<&std::collections::HashMap<&str, &str>>,
    ) -> keyring_core::Result<Entry> {
        let _ = self.0.lock().unwrap().recv();
        Err(keyring_core::Error::NoEntry)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A keyring that accepts every key, and has none when it is read.
#[derive(Debug)]
struct Forgetful;

impl CredentialApi for Forgetful {
    fn set_secret(&self, _: &[u8]) -> keyring_core::Result<()> {
        Ok(())
    }

    fn get_secret(&self) -> keyring_core::Result<Vec<u8>> {
        Err(keyring_core::Error::NoEntry)
    }

    fn delete_credential(&self) -> keyring_core::Result<()> {
        Err(keyring_core::Error::NoEntry)
    }

    fn get_credential(&self) -> keyring_core::Result<Option<Arc<Credential>>> {
        Err(keyring_core::Error::NoEntry)
    }

    fn get_specifiers(&self) -> Option<(String, String)> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl CredentialStoreApi for Forgetful {
    fn vendor(&self) -> String {
        "nobody".to_owned()
    }

    fn id(&self) -> String {
        "forgetful".to_owned()
    }

    fn build(
        &self,
        _: &str,
        _: &str,
        _: Option<&std::collections::HashMap<&str, &str>>,
    ) -> keyring_core::Result<Entry> {
        Ok(Entry::new_with_credential(Arc::new(Self)))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

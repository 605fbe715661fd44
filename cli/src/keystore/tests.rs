//! Keys in a keyring that works, in one that is locked, and in one that forgets.

use std::any::Any;
use std::sync::Arc;

use keyring_core::api::{CredentialApi, CredentialStoreApi};
use keyring_core::{Credential, CredentialStore, mock};
use tempfile::TempDir;

use super::*;

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
    let (_dir, folder) = folder(mock::Store::new().unwrap());
    let place = store(&folder, "acme", &server(), &key(KEY)).await.unwrap();
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
    let place = store(&folder, "acme", &server(), &key(KEY)).await.unwrap();
    assert_eq!(place, KeyPlace::File, "a folder that is carried about holds its keys");
    folder.self_contained = false;
    assert_eq!(
        store(&folder, "acme", &server(), &key(OTHER_KEY)).await.unwrap(),
        KeyPlace::Keyring
    );
    assert!(!fs::read_to_string(folder.file(CREDENTIALS_FILE)).unwrap().contains("CANARY"));
}

#[tokio::test]
async fn a_locked_keyring_is_an_error_and_loses_nothing() {
    let keyring = mock::Store::new().unwrap();
    let (_dir, folder) = folder(keyring.clone());
    store(&folder, "acme", &server(), &key(KEY)).await.unwrap();
    lock(&keyring);
    let error = kept(&folder, KeyPlace::Keyring).await.unwrap_err();
    assert_eq!(error.exit, Exit::NotAuthenticated);
    let told = error.text(None);
    assert!(told.contains("The system's keyring does not answer."), "{told}");
    assert!(told.contains("it is locked") && told.contains("LICCTL_API_KEY"), "{told}");
    lock(&keyring);
    assert!(forget(&folder, KeyPlace::Keyring, "acme", &server()).await.is_err());
    assert_eq!(kept(&folder, KeyPlace::Keyring).await.unwrap().as_deref(), Some(KEY));
}

#[tokio::test]
async fn a_keyring_that_takes_no_key_leaves_it_to_the_file() {
    let keyring = mock::Store::new().unwrap();
    lock(&keyring);
    let (_dir, folder) = folder(keyring);
    let place = store(&folder, "acme", &server(), &key(KEY)).await.unwrap();
    assert_eq!(place, KeyPlace::File);
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
    let (_dir, folder) = folder(Arc::new(Forgetful));
    let place = store(&folder, "acme", &server(), &key(KEY)).await.unwrap();
    assert_eq!(place, KeyPlace::File);
    assert_eq!(kept(&folder, place).await.unwrap().as_deref(), Some(KEY));
}

/// It takes everything, and has nothing when asked.
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
    ) -> keyring_core::Result<keyring_core::Entry> {
        Ok(keyring_core::Entry::new_with_credential(Arc::new(Self)))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

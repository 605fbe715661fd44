//! The system keyring. It may be missing, locked or unresponsive, or lose what it accepted.

use std::time::Duration;

use common::ApiKey;
use keyring::{Entry, Error as KeyringError};

use crate::error::{Error, Exit, Result};

const SERVICE: &str = "licctl";
/// Time in which the keyring must respond.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The keyring that stores keys.
#[derive(Clone, Debug, Default)]
pub enum Keyring {
    #[default]
    OfTheSystem,
    /// A keyring for tests.
    #[cfg(test)]
    Of(std::sync::Arc<keyring_core::CredentialStore>),
}

impl Keyring {
    /// Stores the key and reads it back, as some keyrings lose what they accepted.
    pub async fn store(&self, account: String, key: ApiKey) -> keyring::Result<()> {
        let storing = self.with(account, move |entry| {
            entry.set_password(key.expose())?;
            match entry.get_password() {
                Ok(stored) if stored == key.expose() => Ok(()),
                Ok(_) | Err(KeyringError::NoEntry) => Err(unavailable("it did not keep the key")),
                Err(error) => Err(error),
            }
        });
        storing.await
    }

    pub async fn load(&self, account: String) -> Result<Option<String>> {
        match self.with(account, |entry| entry.get_password()).await {
            Ok(key) => Ok(Some(key)),
            Err(KeyringError::NoEntry) => Ok(None),
            Err(error) => {
                Err(failed(&error, "unlock it and try again, or use --api-key-file FILE"))
            }
        }
    }

    pub async fn forget(&self, account: String) -> Result<()> {
        match self.with(account, |entry| entry.delete_credential()).await {
            Ok(()) | Err(KeyringError::NoEntry) => Ok(()),
            Err(error) => Err(failed(&error, "unlock it and try again")),
        }
    }

    /// Runs on its own thread, which is abandoned when the keyring does not respond.
    async fn with<T: Send + 'static>(
        &self,
        account: String,
        act: impl FnOnce(Entry) -> keyring::Result<T> + Send + 'static,
    ) -> keyring::Result<T> {
        let keyring = self.clone();
        let acting = tokio::task::spawn_blocking(move || act(keyring.entry(&account)?));
        match tokio::time::timeout(TIMEOUT, acting).await {
            Ok(answered) => answered.unwrap_or_else(|error| Err(unavailable(&error.to_string()))),
            Err(_) => Err(unavailable(&format!("no response within {} s", TIMEOUT.as_secs()))),
        }
    }

    fn entry(&self, account: &str) -> keyring::Result<Entry> {
        match self {
            Self::OfTheSystem => Entry::new(SERVICE, account),
            #[cfg(test)]
            Self::Of(store) => Ok(Entry { inner: store.build(SERVICE, account, None)? }),
        }
    }
}

fn unavailable(why: &str) -> KeyringError {
    KeyringError::NoStorageAccess(why.into())
}

/// The most specific cause of a failure.
pub fn cause(error: &KeyringError) -> String {
    match error {
        KeyringError::NoStorageAccess(inner) | KeyringError::PlatformFailure(inner) => {
            inner.to_string()
        }
        KeyringError::NoDefaultStore => {
            Entry::store_status().as_ref().err().unwrap_or(error).to_string()
        }
        _ => error.to_string(),
    }
}

fn failed(error: &KeyringError, fix: &str) -> Error {
    Error::new(Exit::NotAuthenticated, "keyring", "Cannot use the system keyring.")
        .because(cause(error))
        .fix(fix)
}

//! The system's keyring. It may be missing or locked, or lose what it accepted.

use common::ApiKey;
use keyring::Entry;

use crate::error::{Error, Exit, Result};

const SERVICE: &str = "licctl";

/// The keyring that stores keys.
#[derive(Clone, Debug, Default)]
pub enum Keyring {
    #[default]
    OfTheSystem,
    /// A keyring of a test.
    #[cfg(test)]
    Of(std::sync::Arc<keyring_core::CredentialStore>),
}

impl Keyring {
    /// Stores the key and reads it back, as some keyrings lose what they accepted.
    pub async fn keeps(&self, account: String, key: ApiKey) -> bool {
        let stored = self.with(account, move |entry| {
            entry.set_password(key.expose())?;
            Ok(entry.get_password()? == key.expose())
        });
        stored.await.unwrap_or(false)
    }

    pub async fn load(&self, account: String) -> Result<Option<String>> {
        match self.with(account, |entry| entry.get_password()).await {
            Ok(key) => Ok(Some(key)),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    pub async fn forget(&self, account: String) -> Result<()> {
        match self.with(account, |entry| entry.delete_credential()).await {
            Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Runs on a thread of its own, as the keyring may prompt for its password.
    async fn with<T: Send + 'static>(
        &self,
        account: String,
        act: impl FnOnce(Entry) -> keyring::Result<T> + Send + 'static,
    ) -> keyring::Result<T> {
        let keyring = self.clone();
        let acting = tokio::task::spawn_blocking(move || act(keyring.entry(&account)?));
        acting.await.unwrap_or(Err(keyring::Error::NoDefaultStore))
    }

    fn entry(&self, account: &str) -> keyring::Result<Entry> {
        match self {
            Self::OfTheSystem => Entry::new(SERVICE, account),
            #[cfg(test)]
            Self::Of(store) => Ok(Entry { inner: store.build(SERVICE, account, None)? }),
        }
    }
}

fn failed(error: &keyring::Error) -> Error {
    // A missing store has a cause of its own, which is more specific.
    let why = match error {
        keyring::Error::NoDefaultStore => Entry::store_status().as_ref().err(),
        _ => None,
    };
    Error::new(Exit::NotAuthenticated, "keyring", "The system's keyring does not answer.")
        .because(why.unwrap_or(error).to_string())
        .fix("unlock it, or set LICCTL_API_KEY")
}

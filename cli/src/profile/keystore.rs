//! Stores keys in the system's keyring when a stored key reads back, and otherwise in a file that
//! only its owner can read. A key is stored with its server, and returned for that server only.
//! [`system_keyring`] accesses the keyring.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::ApiKey;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{Folder, KeyPlace, LockedFolder, Profile, system_keyring};
use crate::error::{Error, Exit, Result};

/// The name of the file.
pub const CREDENTIALS_FILE: &str = "credentials.toml";

/// The content of `credentials.toml`.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Credentials(BTreeMap<String, Credential>);

#[derive(Serialize, Deserialize)]
struct Credential {
    /// The only origin that this key is sent to.
    origin: String,
    key: String,
}

/// Place where a key was stored.
pub struct Stored {
    pub place: KeyPlace,
    /// Reason why the key is not in the system's keyring, if the system has one.
    pub note: Option<String>,
}

/// Stores the key of a profile.
pub async fn store(
    folder: &LockedFolder,
    profile: &str,
    server: &Url,
    key: &ApiKey,
) -> Result<Stored> {
    let mut note = None;
    if !folder.self_contained {
        match folder.keyring.store(account(profile, server), key.clone()).await {
            Ok(()) => return Ok(Stored { place: KeyPlace::Keyring, note }),
            // Containers and servers have none.
            Err(keyring::Error::NoDefaultStore) => {}
            Err(error) => {
                let (why, file) = (system_keyring::cause(&error), describe(folder, KeyPlace::File));
                note = Some(format!(
                    "cannot use the system keyring ({why}); the key is stored in {file}"
                ));
            }
        }
    }
    let mut kept = read_file(folder)?;
    let credential = Credential { origin: origin(server), key: key.expose().to_owned() };
    kept.0.insert(profile.to_owned(), credential);
    folder.write(CREDENTIALS_FILE, &kept)?;
    Ok(Stored { place: KeyPlace::File, note })
}

/// The key of a profile for a server; none when there is none for this very server.
pub async fn load(
    folder: &Folder,
    place: KeyPlace,
    profile: &str,
    server: &Url,
) -> Result<Option<ApiKey>> {
    let text = match place {
        KeyPlace::Keyring => folder.keyring.load(account(profile, server)).await?,
        KeyPlace::File => {
            let mut kept = read_file(folder)?;
            let credential = kept.0.remove(profile).filter(|kept| kept.origin == origin(server));
            credential.map(|credential| credential.key)
        }
    };
    let damaged = |_| {
        let what = format!("The stored key of profile {profile} is damaged.");
        Error::new(Exit::NotAuthenticated, "damaged_key", what)
            .fix(format!("licctl login --profile {profile}"))
    };
    text.map(|text| text.parse().map_err(damaged)).transpose()
}

/// Removes the stored key of a profile.
pub async fn forget(
    folder: &LockedFolder,
    place: KeyPlace,
    profile: &str,
    server: &Url,
) -> Result<()> {
    match place {
        KeyPlace::Keyring => folder.keyring.forget(account(profile, server)).await,
        KeyPlace::File => forget_in_file(folder, profile),
    }
}

/// Removes the older key of a profile where [`store`] did not overwrite it: a key in the other
/// place, or a keyring entry of another server.
pub async fn forget_replaced(
    folder: &LockedFolder,
    profile: &str,
    old: &Profile,
    new: &Profile,
) -> Result<()> {
    let other_entry = origin(&old.server) != origin(&new.server);
    match old.key {
        Some(place) if Some(place) != new.key || (place == KeyPlace::Keyring && other_entry) => {
            forget(folder, place, profile, &old.server).await
        }
        _ => Ok(()),
    }
}

/// A description of the place for a person.
pub fn describe(folder: &Folder, place: KeyPlace) -> String {
    match place {
        KeyPlace::Keyring => "the system keyring".to_owned(),
        KeyPlace::File => folder.file(CREDENTIALS_FILE).display().to_string(),
    }
}

/// Scheme, host and port, to which a key is bound.
pub fn origin(server: &Url) -> String {
    server.origin().ascii_serialization()
}

fn account(profile: &str, server: &Url) -> String {
    format!("{profile} at {}", origin(server))
}

fn read_file(folder: &Folder) -> Result<Credentials> {
    refuse_when_others_can_read(&folder.file(CREDENTIALS_FILE))?;
    folder.read(CREDENTIALS_FILE)
}

fn forget_in_file(folder: &LockedFolder, profile: &str) -> Result<()> {
    let mut kept = read_file(folder)?;
    match kept.0.remove(profile) {
        Some(_) => folder.write(CREDENTIALS_FILE, &kept),
        None => Ok(()),
    }
}

fn refuse_when_others_can_read(path: &Path) -> Result<()> {
    if fs::metadata(path).is_ok_and(|file| others_can_read(&file)) {
        let what = format!("Other users can read {}, which holds API keys.", path.display());
        let path = path.display().to_string();
        return Err(Error::new(Exit::NotAuthenticated, "exposed_key", what)
            .fix(format!("chmod 600 {}", crate::escape::quote(&path))));
    }
    Ok(())
}

/// Whether anyone but the owner can read a file.
#[cfg(unix)]
pub fn others_can_read(file: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.is_file() && file.mode() & 0o077 != 0
}

#[cfg(not(unix))]
pub fn others_can_read(_: &fs::Metadata) -> bool {
    false
}

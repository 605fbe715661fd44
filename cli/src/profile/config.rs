//! Profiles, the named servers in `config.toml`. The file holds no secret: [`super::keystore`]
//! stores the keys. [`edit`] changes the file, and [`folder`] reads and writes it.

mod edit;
mod folder;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use common::{Mode, Name};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::{Error, Result};

pub use edit::ConfigEdit;
pub use folder::{Folder, LockedFolder};

const FILE: &str = "config.toml";

/// The profile that `login` writes when none is named.
pub const DEFAULT_PROFILE: &str = "default";

/// The content of `config.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Config {
    /// The profile in use when no other is named.
    pub current: Option<String>,
    #[serde(default)]
    pub profiles: BTreeMap<String, Profile>,
}

/// A server, and where the key for it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Profile {
    pub server: Url,
    pub key: Option<KeyPlace>,
    /// The mode of the key.
    pub mode: Option<Mode>,
    /// The absolute path of certificates to trust in addition to the system's.
    pub ca_cert: Option<String>,
}

/// The address of a server as people write it. An address with a path keeps it.
pub fn address(server: &Url) -> &str {
    server.as_str().trim_end_matches('/')
}

/// Place where the key of a profile is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyPlace {
    Keyring,
    File,
}

/// A name for a profile: a line of text, as it is typed and shown.
pub fn profile_name(text: &str) -> Result<String> {
    let name = text.parse::<Name>();
    name.map(|name| name.to_string())
        .map_err(|error| Error::usage(format!("The profile name {error}.")).fix("--profile NAME"))
}

impl Config {
    pub fn load(folder: &Folder) -> Result<Self> {
        folder.read(FILE)
    }

    /// The profile of this name, or an error that lists the existing ones.
    pub fn get(&self, name: &str) -> Result<&Profile> {
        self.profiles.get(name).ok_or_else(|| {
            let known = self.profiles.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let error = Error::not_found(format!("Profile {name} not found."));
            if known.is_empty() {
                error.fix(format!("licctl login --profile {name}"))
            } else {
                error.because(format!("Existing profiles: {known}")).fix("licctl profiles list")
            }
        })
    }
}

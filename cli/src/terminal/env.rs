//! The environment variables of one run. Only these are looked at, so that tests bring their own.

use std::collections::HashMap;
use std::path::PathBuf;

use common::setting;

use crate::error::{Error, Result};

/// Prefix of the settings of licctl.
const OWN: &str = "LICCTL";

pub const API_KEY: &str = "LICCTL_API_KEY";
pub const CA_CERT: &str = "LICCTL_CA_CERT";
pub const CONFIG_DIR: &str = "LICCTL_CONFIG_DIR";
pub const OUTPUT: &str = "LICCTL_OUTPUT";
pub const PAGER: &str = "LICCTL_PAGER";
pub const PATIENCE: &str = "LICCTL_PATIENCE";
pub const PROFILE: &str = "LICCTL_PROFILE";
pub const SERVER: &str = "LICCTL_SERVER";

/// Variables and their values. An empty value counts as none, as CI systems set them so.
#[derive(Clone, Default)]
pub struct Env(HashMap<String, String>);

impl Env {
    pub fn of_this_process() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
                .collect(),
        )
    }

    /// The value; a setting of licctl without blanks and line ends around it.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name).map(String::as_str);
        let value = value.map(|value| match setting(value) {
            Ok(tidied) if name.starts_with(OWN) => tidied,
            _ => value,
        });
        value.filter(|value| !value.is_empty())
    }

    /// Refuses settings of licctl that contain an invisible character.
    pub fn refuse_invisible(&self) -> Result<()> {
        let own = self.0.iter().filter(|(name, _)| name.starts_with(OWN));
        for (name, value) in own {
            setting(value).map_err(|error| Error::usage(format!("{name}: {error}.")))?;
        }
        Ok(())
    }

    /// Whether a CI system runs this.
    pub fn is_ci(&self) -> bool {
        self.get("CI").is_some_and(|value| !matches!(value, "0" | "false"))
    }

    /// All variables with a value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(_, value)| !value.is_empty())
    }

    /// The folder of the configuration when it is not the usual one.
    pub fn config_dir(&self) -> Option<PathBuf> {
        self.get(CONFIG_DIR).map(PathBuf::from)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Env {
    fn from(variables: [(&str, &str); N]) -> Self {
        variables.into_iter().collect()
    }
}

//! Secrets in files: instead of a variable, `NAME_FILE` can name a file that contains its value,
//! which is how systemd and container platforms provide secrets.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, ensure};
use common::setting;
use licd::{permissions, small_file};

/// A file named by an environment variable.
pub struct SecretFile {
    variable: String,
    path: PathBuf,
}

impl SecretFile {
    /// The file that contains the variable's value, if one is named. Fails if the variable itself
    /// is set too, since one of them would be out of date.
    pub fn of(value: &str) -> anyhow::Result<Option<Self>> {
        let variable = format!("{value}_FILE");
        let Some(path) = given(&variable) else { return Ok(None) };
        ensure!(
            given(value).is_none(),
            "{value} and {variable} are both set; set only one of them"
        );
        Ok(Some(Self { variable, path: path.into() }))
    }

    /// Reads the value, without blanks and line ends around it. Warns if other users can read the
    /// file.
    pub fn read<T>(&self) -> anyhow::Result<T>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        let place = || format!("{}: {}", self.variable, self.path.display());
        let bytes = small_file::read(&self.path).with_context(place)?;
        let text = str::from_utf8(&bytes).ok().context("it is not UTF-8").with_context(place)?;
        if let Some(fix) = self.chmod_hint() {
            let variable = &self.variable;
            tracing::warn!("others can read or change the file of {variable}; fix it with: {fix}");
        }
        setting(text).with_context(place)?.parse().with_context(place)
    }

    /// The command that stops other users from reading or writing the file, if they can.
    pub fn chmod_hint(&self) -> Option<String> {
        permissions::chmod_hint(&self.path)
    }
}

/// The value of a variable. An empty one counts as unset.
fn given(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}

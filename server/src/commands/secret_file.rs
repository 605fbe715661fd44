//! Secrets in files: in place of a variable, `NAME_FILE` may name a file that holds its value, as
//! systemd and container platforms hand out secrets.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, ensure};
use licd::{permissions, small_file};

/// A file that an environment variable names.
pub struct SecretFile {
    variable: String,
    path: PathBuf,
}

impl SecretFile {
    /// The file that holds the variable's value, if one is named. Fails if the value is in the
    /// environment too: one of them would be out of date.
    pub fn of(value: &str) -> anyhow::Result<Option<Self>> {
        let variable = format!("{value}_FILE");
        let Some(path) = given(&variable) else { return Ok(None) };
        ensure!(
            given(value).is_none(),
            "{value} and {variable} are both set; set only one of them"
        );
        Ok(Some(Self { variable, path: path.into() }))
    }

    /// Reads the value, which ends before the file's last newline. Warns if others may read it.
    pub fn read<T>(&self) -> anyhow::Result<T>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        let place = || format!("{}: {}", self.variable, self.path.display());
        let bytes = small_file::read(&self.path).with_context(place)?;
        let text = str::from_utf8(&bytes).ok().context("it is not UTF-8").with_context(place)?;
        if let Some(fix) = self.fix_of_exposure() {
            let variable = &self.variable;
            tracing::warn!("others can read or change the file of {variable}; fix it with: {fix}");
        }
        let line = text.strip_suffix('\n').unwrap_or(text);
        line.strip_suffix('\r').unwrap_or(line).parse().with_context(place)
    }

    /// The command that ends that others may read or write the file.
    pub fn fix_of_exposure(&self) -> Option<String> {
        permissions::fix_of_exposure(&self.path)
    }
}

/// The value of a variable. An empty one is as good as none.
fn given(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}

//! The secret keys of a node: `licd secret-key`, and the setting that names their file.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context;
use clap::Subcommand;
use licd::db::DatabaseUrl;
use licd::db::inspect::Sealed;
use licd::secrets::{FileError, SecretKey as Key, SecretKeys, key_of};

use super::{print, say};

#[derive(Subcommand)]
pub enum SecretKey {
    /// Create a secret key, in a file for LICD_SECRET_KEY_FILE or on standard output.
    Generate {
        /// The new file, readable only by its owner.
        file: Option<PathBuf>,
    },
}

impl SecretKey {
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Generate { file: None } => print(Key::generate().expose()),
            Self::Generate { file: Some(path) } => {
                SecretKeys::create(&path)
                    .with_context(|| format!("cannot create {}", path.display()))?;
                say(format_args!("Created {}, readable only by its owner.", path.display()));
                Ok(())
            }
        }
    }
}

/// The ids of the secret keys that open the values.
fn ids_of<'v>(values: impl Iterator<Item = &'v Vec<u8>>) -> Vec<String> {
    let ids = values.map(|value| match key_of(value) {
        Some(key) => key.to_string(),
        None => "of a later licd".to_owned(),
    });
    ids.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The ids of all secret keys that a database needs.
pub fn needed_keys(sealed: &Sealed) -> Vec<String> {
    ids_of(sealed.webhooks.iter().chain(&sealed.signing_keys))
}

/// Describes the features that fail because no secret key of this machine opens their secrets: a
/// sentence for webhooks, and one for signing keys, without a period. Both name the required keys
/// and those in the file.
pub fn missing_keys(keys: &SecretKeys, sealed: &Sealed) -> Vec<String> {
    let has: Vec<_> = keys.ids().iter().map(ToString::to_string).collect();
    let has = match has.is_empty() {
        true => "there is none".to_owned(),
        false => format!("the file has {}", has.join(", ")),
    };
    let of = |values: &[Vec<u8>], what: &str| {
        let locked: Vec<_> = values.iter().filter(|value| !keys.has_key_of(value)).collect();
        let (count, needed) = (locked.len(), ids_of(locked.into_iter()).join(", "));
        let missing = format!("{count} {what}: they need the secret key {needed}, and {has}");
        (count > 0).then_some(missing)
    };
    let webhooks = of(&sealed.webhooks, "webhooks are not sent");
    let signing_keys = of(&sealed.signing_keys, "signing keys sign no lease");
    webhooks.into_iter().chain(signing_keys).collect()
}

#[derive(clap::Args)]
pub struct SecretKeyFile {
    /// The file with the secret keys that seal secrets in the database, the same on each node. By
    /// default it is next to an SQLite database, with .secret after its name, and created when
    /// needed.
    #[arg(
        id = "secret_key_file",
        long = "secret-key-file",
        env = "LICD_SECRET_KEY_FILE",
        value_name = "FILE"
    )]
    path: Option<PathBuf>,
}

impl SecretKeyFile {
    /// Reads the keys. An empty setting counts as unset.
    pub fn read(&self, database: &DatabaseUrl) -> Result<SecretKeys, FileError> {
        let named = self.path.clone().filter(|path| !path.as_os_str().is_empty());
        match (named, database) {
            (Some(path), _) => SecretKeys::named(path),
            (None, DatabaseUrl::Sqlite(file)) => SecretKeys::for_database(file),
            (None, DatabaseUrl::Postgres(_)) => Ok(SecretKeys::default()),
        }
    }
}

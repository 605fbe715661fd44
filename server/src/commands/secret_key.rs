//! The secret keys of a node: `licd secret-key`, and the setting that names their file.

use std::path::PathBuf;

use clap::Subcommand;
use licd::db::DatabaseUrl;
use licd::secrets::{FileError, SecretKey as Key, SecretKeys};

use super::print;

#[derive(Subcommand)]
pub enum SecretKey {
    /// Print a new secret key for the file that LICD_SECRET_KEY_FILE names.
    Generate,
}

impl SecretKey {
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Generate => print(Key::generate().expose()),
        }
    }
}

#[derive(clap::Args)]
pub struct SecretKeyFile {
    /// The file with the secret keys that seal secrets in the database, the same on each node. By
    /// default it is beside an SQLite database, with .secret after its name, and made when needed.
    #[arg(
        id = "secret_key_file",
        long = "secret-key-file",
        env = "LICD_SECRET_KEY_FILE",
        value_name = "FILE"
    )]
    path: Option<PathBuf>,
}

impl SecretKeyFile {
    /// Its keys. As everywhere, an empty setting counts as unset.
    pub fn read(&self, database: &DatabaseUrl) -> Result<SecretKeys, FileError> {
        let named = self.path.clone().filter(|path| !path.as_os_str().is_empty());
        match (named, database) {
            (Some(path), _) => SecretKeys::named(path),
            (None, DatabaseUrl::Sqlite(file)) => SecretKeys::beside(file),
            (None, DatabaseUrl::Postgres(_)) => Ok(SecretKeys::default()),
        }
    }
}

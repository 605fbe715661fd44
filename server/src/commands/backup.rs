//! `licd backup`: copies an SQLite database to a file, even while licd is running.

use std::path::PathBuf;

use licd::backup::{self, BackupError};
use licd::db::DatabaseUrl;

use super::secret_key::SecretKeyFile;
use super::spinner::with_spinner;
use super::{Database, print, say, signals};

#[derive(clap::Args)]
pub struct Backup {
    /// The file to write, which must not exist yet.
    path: PathBuf,
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    secret_keys: SecretKeyFile,
}

impl Backup {
    pub async fn run(self) -> anyhow::Result<()> {
        let url = self.database.url()?;
        let keys = self.secret_keys.read(&url)?;
        let DatabaseUrl::Sqlite(database) = url else {
            return Err(BackupError::Postgres("backup").into());
        };
        let writing = signals::until_stopped(None, async |stop| {
            Ok(backup::write(&database, &self.path, stop.requested()).await?)
        });
        let size = with_spinner("Copying and checking the database", writing).await?;
        print(format_args!("{}: {size} bytes, complete and intact.", self.path.display()))?;
        if let Some(file) = keys.file() {
            let file = file.display();
            say(format_args!("Secrets in it need the keys in {file}: keep these too, elsewhere."));
        }
        Ok(())
    }
}

//! `licd backup`: copies an SQLite database to a file, even while licd is running.

use std::path::PathBuf;

use licd::backup::{self, BackupError};
use licd::db::DatabaseUrl;

use super::spinner::with_spinner;
use super::{Database, print, signals};

#[derive(clap::Args)]
pub struct Backup {
    /// The file to write, which must not exist yet.
    path: PathBuf,
    #[command(flatten)]
    database: Database,
}

impl Backup {
    pub async fn run(self) -> anyhow::Result<()> {
        let DatabaseUrl::Sqlite(database) = self.database.url()? else {
            return Err(BackupError::Postgres("backup").into());
        };
        let writing = signals::until_stopped(None, async |stop| {
            Ok(backup::write(&database, &self.path, stop.requested()).await?)
        });
        let size = with_spinner("Copying and checking the database", writing).await?;
        print(format_args!("{}: {size} bytes, complete and intact.", self.path.display()))
    }
}

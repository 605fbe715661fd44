//! `licd restore`: puts a backup in the place of an SQLite database.

use std::path::PathBuf;

use licd::backup::{self, BackupError, Restored};
use licd::db::DatabaseUrl;

use super::spinner::with_spinner;
use super::{Database, print, signals};

#[derive(clap::Args)]
#[command(after_help = "\
Stop licd first. Everything since the backup is undone, also that a key was
revoked or a seat taken; the database that was there is kept beside the new one.")]
pub struct Restore {
    /// The file that `licd backup` wrote. It is only read.
    path: PathBuf,
    #[command(flatten)]
    database: Database,
}

impl Restore {
    pub async fn run(self) -> anyhow::Result<()> {
        let DatabaseUrl::Sqlite(database) = self.database.url()? else {
            return Err(BackupError::Postgres("restore").into());
        };
        let restoring = signals::until_stopped(None, async |stop| {
            Ok(backup::restore(&self.path, &database, stop.requested()).await?)
        });
        let Restored { size, kept } = with_spinner("Restoring the database", restoring).await?;
        print(format_args!(
            "{}: restored from {}, {size} bytes, complete and intact.",
            database.display(),
            self.path.display()
        ))?;
        match kept {
            Some(kept) => print(format_args!(
                "{}: what was there before; delete it once it is not needed.",
                kept.display()
            )),
            None => Ok(()),
        }
    }
}

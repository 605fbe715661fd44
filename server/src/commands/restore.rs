//! `licd restore`: puts a backup in the place of an SQLite database.

use std::path::PathBuf;

use licd::backup::{self, BackupError, Origin, Restored};
use licd::db::DatabaseUrl;

use super::secret_key::{SecretKeyFile, missing_keys};
use super::spinner::with_spinner;
use super::{Database, print, say, signals};

#[derive(clap::Args)]
#[command(after_help = "\
Stop licd first. Everything since the backup is undone, also that a key was
revoked or a seat taken; the database that was there is kept beside the new one.")]
pub struct Restore {
    /// The file that `licd backup` wrote. It is only read.
    path: PathBuf,
    /// Create a database where there is none, for example on a new machine.
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    secret_keys: SecretKeyFile,
}

impl Restore {
    pub async fn run(self) -> anyhow::Result<()> {
        let url = self.database.url()?;
        let keys = self.secret_keys.read(&url);
        let DatabaseUrl::Sqlite(database) = url else {
            return Err(BackupError::Postgres("restore").into());
        };
        let restoring = signals::until_stopped(None, async |stop| {
            Ok(backup::restore(&self.path, &database, self.new, stop.requested()).await?)
        });
        let restored = with_spinner("Restoring the database", restoring).await?;
        let Restored { size, kept, origin, sealed } = restored;
        let state = if origin == Origin::Backup { "complete and intact" } else { "intact" };
        let from = self.path.display();
        print(format_args!(
            "{}: restored from {from}, {size} bytes, {state}.",
            database.display(),
        ))?;
        match origin {
            Origin::Backup => {}
            Origin::LiveWithLog => say(format_args!(
                "Warning: {from} was not written by `licd backup`. If it was copied while licd ran, it \
                 and its log may not belong together."
            )),
            Origin::Live => say(format_args!(
                "Warning: {from} was not written by `licd backup`, and its log, {from}-wal, is missing. \
                 If licd ran when it was copied, the newest changes are missing as well."
            )),
        }
        match keys {
            Ok(keys) => missing_keys(&keys, &sealed)
                .iter()
                .for_each(|missing| say(format_args!("Warning: {missing}."))),
            Err(error) => say(format_args!("Warning: the secret keys cannot be read: {error}.")),
        }
        match kept {
            Some(kept) => print(format_args!(
                "{}: what was there before; delete it once it is not needed.",
                kept.display()
            )),
            None => Ok(()),
        }
    }
}

//! `licd migrate`: migrates the schema ahead of a rollout.

use anyhow::Context;
use licd::db::Db;

use super::{Database, print};

#[derive(clap::Args)]
pub struct Migrate {
    #[command(flatten)]
    database: Database,
    /// Create tables in the first schema of PostgreSQL's search path, although another schema has
    /// tables of licd.
    #[arg(long)]
    new_schema: bool,
}

impl Migrate {
    pub async fn run(self) -> anyhow::Result<()> {
        let url = self.database.url()?;
        let (db, upgrade) =
            Db::upgrade(&url, self.new_schema).await.with_context(|| url.to_string())?;
        for (version, about) in &upgrade.applied {
            print(format_args!("{version}  {about}"))?;
        }
        db.close().await;
        let version = upgrade.version;
        match upgrade.applied.len() {
            0 => print(format_args!("{url} is at schema version {version}; nothing to do.")),
            1 => print(format_args!("{url} is now at schema version {version}: one step.")),
            steps => {
                print(format_args!("{url} is now at schema version {version}: {steps} steps."))
            }
        }
    }
}

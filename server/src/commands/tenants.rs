//! `licd tenants`: the customers of the service.

use anyhow::Context;
use clap::Subcommand;
use common::Name;
use licd::db::Db;
use licd::ops::tenants;

use super::{Database, print, say};

#[derive(Subcommand)]
pub enum Tenants {
    /// Make a tenant; prints its first admin key, once, to standard output. The first tenant makes
    /// the database too.
    Create {
        name: Name,
        #[command(flatten)]
        database: Database,
    },
    /// List the tenants, oldest first: id, then name.
    List {
        #[command(flatten)]
        database: Database,
    },
}

impl Tenants {
    pub async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Create { name, database } => {
                let db = open_or_make(&database).await?;
                let (tenant, key) = tenants::create(&db, name).await?;
                say(format_args!("Made tenant {} ({}). Its admin key:", tenant.name, tenant.id));
                print(key.expose())
            }
            Self::List { database } => {
                let tenants = tenants::list(&database.open_as_it_is().await?).await?;
                tenants
                    .iter()
                    .try_for_each(|tenant| print(format_args!("{}  {}", tenant.id, tenant.name)))
            }
        }
    }
}

/// A tenant may be made before the first `licd serve`. Since a mistyped path would look the same,
/// a database that is made is mentioned.
async fn open_or_make(database: &Database) -> anyhow::Result<Db> {
    let url = database.url();
    let (db, upgrade) = Db::upgrade(&url).await.with_context(|| url.to_string())?;
    if upgrade.is_first() {
        say(format_args!("There was no database of licd at {url}; made one."));
    }
    Ok(db)
}

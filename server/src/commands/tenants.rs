//! `licd tenants`: creates and lists the customers of the service.

use anyhow::Context;
use clap::Subcommand;
use common::{ApiKey, Name, Tenant};
use licd::db::Db;
use licd::ops::tenants;

use super::{Database, print, say};

#[derive(Subcommand)]
pub enum Tenants {
    /// Create a tenant, and print its first admin key once, to standard output. Creates the
    /// database if there is none.
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
                let db = open_or_create(&database).await?;
                let show = |tenant: &Tenant, key: &ApiKey| {
                    let Tenant { name, id } = tenant;
                    say(format_args!("Created tenant {name} ({id}). Its admin key:"));
                    print(key.expose()).is_ok()
                };
                tenants::create(&db, name, show).await?;
                Ok(())
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

/// A tenant may be created before the first `licd serve`. A new database is reported, since a
/// mistyped path would look the same.
async fn open_or_create(database: &Database) -> anyhow::Result<Db> {
    let url = database.url()?;
    let (db, upgrade) = Db::upgrade(&url, false).await.with_context(|| url.to_string())?;
    if upgrade.is_first() {
        say(format_args!("Created a new database at {url}."));
    }
    Ok(db)
}

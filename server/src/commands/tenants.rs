//! `licd tenants`: the customers of the service.

use clap::Subcommand;
use common::Name;
use licd::tenancy;

use super::{Database, print, say};

#[derive(Subcommand)]
pub enum Tenants {
    /// Make a tenant; prints its first admin key, once, to standard output.
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
                let (tenant, key) = tenancy::create(&database.open().await?, name).await?;
                say(format_args!("Made tenant {} ({}). Its admin key:", tenant.name, tenant.id));
                print(key.expose())
            }
            Self::List { database } => {
                let tenants = tenancy::list(&database.open().await?).await?;
                tenants
                    .iter()
                    .try_for_each(|tenant| print(format_args!("{}  {}", tenant.id, tenant.name)))
            }
        }
    }
}

//! `licd keys`: creates keys on the server's host.

use clap::Subcommand;
use common::{ApiKey, Mode, Name, Role};
use licd::ops::tenants::{self, NewKey};

use super::{Database, print};

#[derive(Subcommand)]
pub enum Keys {
    /// Create a key for a tenant, and print it once, to standard output.
    Create {
        /// The tenant's name or id.
        #[arg(long, value_name = "TENANT")]
        tenant: String,
        /// The name of the key in lists.
        #[arg(long, default_value = "created on the host")]
        name: Name,
        /// The role of the key.
        #[arg(long, default_value = "admin")]
        role: Role,
        /// The mode of the key.
        #[arg(long, default_value = "live")]
        mode: Mode,
        #[command(flatten)]
        database: Database,
    },
    /// Print a new live key for LICD_BOOTSTRAP_KEY, without storing it.
    Generate,
}

impl Keys {
    pub async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Create { tenant, name, role, mode, database } => {
                let db = database.open_as_it_is().await?;
                let show = |key: &ApiKey| print(key.expose()).is_ok();
                tenants::create_key(&db, &tenant, NewKey { name, role, mode }, show).await?;
                Ok(())
            }
            Self::Generate => print(ApiKey::generate(Mode::Live).expose()),
        }
    }
}

//! `licd keys`: keys made on the server's host.

use clap::Subcommand;
use common::{ApiKey, Mode, Name, Role};
use licd::ops::tenants::{self, NewKey};

use super::{Database, print};

#[derive(Subcommand)]
pub enum Keys {
    /// Make a key for a tenant; prints it, once, to standard output.
    Create {
        /// The tenant's name or id.
        #[arg(long, value_name = "TENANT")]
        tenant: String,
        /// What to call the key in lists.
        #[arg(long, default_value = "made on the host")]
        name: Name,
        /// What the key may do: validate, read or admin.
        #[arg(long, default_value = "admin")]
        role: Role,
        /// Which of the tenant's worlds it opens: live or test.
        #[arg(long, default_value = "live")]
        mode: Mode,
        #[command(flatten)]
        database: Database,
    },
    /// Print a well-formed live key that no database knows yet, for LICD_BOOTSTRAP_KEY.
    Generate,
}

impl Keys {
    pub async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Create { tenant, name, role, mode, database } => {
                let db = database.open_as_it_is().await?;
                let key = tenants::create_key(&db, &tenant, NewKey { name, role, mode }).await?;
                print(key.expose())
            }
            Self::Generate => print(ApiKey::generate(Mode::Live).expose()),
        }
    }
}

//! Reads the facts that `licd doctor` interprets, on a connection of its own, with any schema, and
//! without changing anything.

mod postgres;
mod sharding;
mod sqlite;

pub use postgres::{Postgres, PostgresFacts, postgres_servers};
pub use sharding::{ShardingFacts, sharding_facts};
pub use sqlite::Sqlite;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::Deserialize;

use super::open_error::OpenError;
use super::url::DatabaseUrl;

/// The secrets of each webhook, as JSON.
const WEBHOOKS: &str = "select cast(secrets as text) from webhooks order by id limit 10000";
const SIGNING_KEYS: &str = "select private_key from signing_keys where private_key is not null
     order by id limit 10000";

/// Values that need secret keys.
#[derive(Default)]
pub struct Sealed {
    /// The current secret of each webhook.
    pub webhooks: Vec<Vec<u8>>,
    /// Those that sign leases, or are to.
    pub signing_keys: Vec<Vec<u8>>,
}

/// Returns the values that are sealed in a database with the schema of this licd.
pub async fn sealed(url: &DatabaseUrl) -> Result<Sealed, OpenError> {
    match url {
        DatabaseUrl::Sqlite(path) => Ok(Sqlite::open(path).await?.sealed().await?),
        DatabaseUrl::Postgres(hosts) => {
            let Some(server) = postgres_servers(hosts).into_iter().next() else {
                return Ok(Sealed::default());
            };
            Ok(server.sealed(&mut server.connect().await?).await?)
        }
    }
}

/// The current secret of each webhook, sealed.
fn current(secrets: &[String]) -> Vec<Vec<u8>> {
    #[derive(Deserialize)]
    struct Secret {
        sealed: String,
    }
    let first = |json: &String| {
        let secrets: Vec<Secret> = serde_json::from_str(json).ok()?;
        STANDARD_NO_PAD.decode(&secrets.first()?.sealed).ok()
    };
    secrets.iter().map(|json| first(json).unwrap_or_default()).collect()
}

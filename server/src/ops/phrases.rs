//! Completes the phrases by which people find users and licenses. A change of how phrases are made
//! applies to stored records in this way, each time a node starts. Phrases that nobody finds any more
//! stay until the record changes.

use std::time::Duration;

use tokio::time::sleep;

use crate::db::{self, Db};
use crate::store::phrases::{self, Named, Reached};

/// The time between two portions, so that requests have their turn at SQLite's only writer.
const PAUSE: Duration = Duration::from_millis(10);
/// The time before a portion is tried again that failed.
const RETRY: Duration = Duration::from_secs(2);

/// Adds the phrases that users and licenses lack. Takes a minute or two per million of them.
pub async fn complete(db: &Db) {
    for named in [Named::Users, Named::Licenses] {
        let (mut reached, mut added) = (Reached::default(), 0);
        loop {
            match portion(db, named, reached).await {
                Ok(Some((more, last))) => {
                    reached = last;
                    added += more;
                    sleep(PAUSE).await;
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(%error, "phrases could not be added");
                    sleep(RETRY).await;
                }
            }
        }
        if added > 0 {
            tracing::info!(?named, phrases = added, "the search knows all names now");
        }
    }
}

async fn portion(db: &Db, named: Named, after: Reached) -> db::Result<Option<(u64, Reached)>> {
    let mut tx = db.begin().await?;
    let filled = phrases::fill_in(&mut tx, named, after).await?;
    tx.commit().await?;
    Ok(filled)
}

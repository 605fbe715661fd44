//! When each key was last used. Uses are noted in memory and written every few seconds, so that
//! using a key costs no write; a crash forgets the last few seconds of this, and nothing else.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use common::{KeyId, Timestamp};

use crate::db::{Db, Result};
use crate::store::keys;

/// The uses not yet written; one entry for each key used since the last time.
#[derive(Default)]
pub struct Usage(Mutex<BTreeMap<KeyId, Timestamp>>);

impl Usage {
    pub fn note(&self, key: KeyId, now: Timestamp) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, now);
    }

    /// Writes what was noted, in the order of ids, as several nodes may do at once.
    pub async fn write(&self, db: &Db) -> Result<()> {
        let noted = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if noted.is_empty() {
            return Ok(());
        }
        let mut tx = db.begin().await?;
        for (key, at) in noted {
            keys::touch(&mut tx, key, at).await?;
        }
        tx.commit().await
    }
}

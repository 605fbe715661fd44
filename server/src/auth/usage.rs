//! When each key was last used. Uses are noted in memory and written every few seconds, so that
//! using a key costs no write; a crash forgets the last few seconds of this, and nothing else.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{KeyId, Timestamp};

use crate::db::{Db, Result};
use crate::store::keys;

/// The uses not yet written; one entry for each key used since the last time.
#[derive(Default)]
pub struct Usage(Mutex<BTreeMap<KeyId, Timestamp>>);

impl Usage {
    pub fn note(&self, key: KeyId, now: Timestamp) {
        self.lock().insert(key, now);
    }

    /// Writes what was noted, each use by itself: who revokes a key holds several keys locked, and
    /// two who hold some and want others would wait for each other. What could not be written stays
    /// noted.
    pub async fn write(&self, db: &Db) -> Result<()> {
        let mut noted = std::mem::take(&mut *self.lock());
        if noted.is_empty() {
            return Ok(());
        }
        let written = write_each(db, &mut noted).await;
        let mut since = self.lock();
        for (key, at) in noted {
            since.entry(key).or_insert(at);
        }
        written
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<KeyId, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes out of `noted` what it wrote.
async fn write_each(db: &Db, noted: &mut BTreeMap<KeyId, Timestamp>) -> Result<()> {
    let mut conn = db.write().await?;
    while let Some(next) = noted.first_entry() {
        keys::touch(&mut conn, *next.key(), *next.get()).await?;
        next.remove();
    }
    Ok(())
}

//! When each key was last used. Uses are noted in memory and written every few seconds, so that
//! using a key costs no write; a crash forgets the last few seconds of this, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{KeyId, Timestamp};

use crate::db::{Db, Result};
use crate::store::keys;

/// How many keys are written in one statement, after which others may write too.
const PORTION: usize = 500;

/// The uses not yet written; one entry for each key used since the last time.
#[derive(Default)]
pub struct LastUses(Mutex<BTreeMap<KeyId, Timestamp>>);

impl LastUses {
    pub fn note(&self, key: KeyId, now: Timestamp) {
        self.lock().insert(key, now);
    }

    /// Writes what was noted, in portions. What could not be written stays noted.
    pub async fn write(&self, db: &Db) -> Result<()> {
        let noted: Vec<_> = self.lock().iter().map(|(key, at)| (*key, *at)).collect();
        for portion in noted.chunks(PORTION) {
            let written = keys::touch(&mut db.write().await?, portion).await?;
            self.forget(portion, &written.into_iter().collect());
        }
        Ok(())
    }

    /// Forgets the uses that were written, unless there was a later one meanwhile.
    fn forget(&self, uses: &[(KeyId, Timestamp)], written: &BTreeSet<KeyId>) {
        let mut noted = self.lock();
        for (key, at) in uses.iter().filter(|(key, _)| written.contains(key)) {
            if noted.get(key) == Some(at) {
                noted.remove(key);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<KeyId, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

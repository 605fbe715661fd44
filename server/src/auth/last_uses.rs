//! The uses of each key: time and address of the last one, and hourly counts. They are noted in
//! memory and written every few seconds, so that using a key writes nothing. A crash loses only the
//! last few seconds of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use chrono::TimeDelta;
use common::{KeyId, Timestamp, hour_of};
use parking_lot::Mutex;

use crate::db::{Db, Result};
use crate::store::key_uses::{self, KeyUse};
use crate::store::{keys, retention};

/// Maximum number of keys in one transaction. Other writes can run between two transactions.
const PORTION: usize = 500;
/// Time for which hourly counts are kept.
const RETENTION: TimeDelta = TimeDelta::days(30);

/// The uses that are not written yet, one entry for each key used since the last write.
#[derive(Default)]
pub struct LastUses {
    noted: Mutex<BTreeMap<KeyId, KeyUse>>,
    /// Held while uses are written, so that none is written twice concurrently.
    writing: tokio::sync::Mutex<()>,
}

impl LastUses {
    pub fn note(&self, key: KeyId, address: Option<IpAddr>, now: Timestamp) {
        let mut noted = self.noted.lock();
        let noted = noted.entry(key).or_insert_with(|| KeyUse::new(now));
        (noted.last_at, noted.last_address) = (now, address);
        *noted.hours.entry(hour_of(now)).or_default() += 1;
    }

    /// Returns the number of keys with uses that are not written yet.
    pub fn unwritten(&self) -> usize {
        self.noted.lock().len()
    }

    /// Writes the uses in batches. Uses that cannot be written remain, but a use whose commit was not
    /// confirmed is not counted again. Concurrent calls wait for each other.
    pub async fn write(&self, db: &Db) -> Result<()> {
        let _writing = self.writing.lock().await;
        let noted: Vec<_> =
            self.noted.lock().iter().map(|(key, uses)| (*key, uses.clone())).collect();
        for portion in noted.chunks(PORTION) {
            let mut tx = db.begin().await?;
            let free: BTreeSet<_> = keys::touch(&mut tx, portion).await?.into_iter().collect();
            let written: Vec<_> = portion.iter().filter(|(key, _)| free.contains(key)).collect();
            key_uses::add(&mut tx, &written).await?;
            self.forget_counts(&written);
            tx.commit().await?;
            self.forget_times(&written);
        }
        Ok(())
    }

    /// Removes the counts that were written, and keeps counts added in the meantime.
    fn forget_counts(&self, written: &[&(KeyId, KeyUse)]) {
        let mut noted = self.noted.lock();
        for (key, uses) in written {
            let Some(noted) = noted.get_mut(key) else { continue };
            for (hour, count) in &uses.hours {
                noted.hours.entry(*hour).and_modify(|noted| *noted -= count);
            }
            noted.hours.retain(|_, count| *count > 0);
        }
    }

    /// Removes the keys that were not used in the meantime.
    fn forget_times(&self, written: &[&(KeyId, KeyUse)]) {
        let mut noted = self.noted.lock();
        for (key, uses) in written {
            let is_written =
                |noted: &KeyUse| noted.hours.is_empty() && noted.last_at == uses.last_at;
            if noted.get(key).is_some_and(is_written) {
                noted.remove(key);
            }
        }
    }
}

/// Deletes the counts of old hours.
pub async fn forget_old(db: &Db, now: Timestamp) -> Result<()> {
    retention::delete_old(db, retention::KEY_USES, now.plus(-RETENTION)).await
}

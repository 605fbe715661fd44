//! Outcomes of validations, counted in memory and added to the database every few seconds, so that
//! a validation writes nothing for them. A crash loses the last few seconds. A batch whose commit
//! was not confirmed is written again and may count twice, which is acceptable for statistics.
//!
//! Memory is bounded. Beyond the bounds, for example while the database is unavailable, some
//! outcomes are not counted or lose their users. licd logs how many.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use chrono::TimeDelta;
use common::{ExternalId, LicenseId, Open, Reason, RefusalId, Timestamp, UserRefusal, hour_of};
use parking_lot::Mutex;

use crate::db::{Db, Result};
use crate::store::outcomes::{self, OutcomeCount};
use crate::store::{Scope, retention};

/// Maximum number of unwritten counts: five outcomes for 10,000 worlds. Outcomes of further worlds
/// are not counted.
const MAX_COUNTS: usize = 50_000;
/// Maximum number of unwritten refused users, counted once for each reason. Further refusals are
/// counted without their user.
const MAX_REFUSALS: usize = 10_000;
/// Maximum number of rows per statement. Other writers can go in between.
const BATCH: usize = 500;
/// Time for which outcomes are stored.
const RETENTION: TimeDelta = TimeDelta::days(30);

/// A validation that ended with a decision.
pub struct DecidedValidation<'a> {
    pub scope: Scope,
    pub user: &'a ExternalId,
    /// `None` if the user is licensed.
    pub reason: Option<Reason>,
    /// The license that gave the reason.
    pub license: Option<LicenseId>,
}

/// Outcomes that are not written yet.
#[derive(Default)]
pub struct OutcomeCounts {
    pending: Mutex<PendingOutcomes>,
    /// Locked while rows are written, because they are then neither pending nor stored.
    writing: tokio::sync::Mutex<()>,
}

impl OutcomeCounts {
    /// Counts validations that were decided together.
    pub fn record_batch<'a>(
        &self,
        decided: impl Iterator<Item = DecidedValidation<'a>>,
        now: Timestamp,
    ) {
        let hour = hour_of(now);
        let mut pending = self.pending.lock();
        for DecidedValidation { scope, user, reason, license } in decided {
            pending.count(scope, OutcomeCount { hour, reason, count: 1 });
            if let Some(reason) = reason {
                let id = RefusalId::new(now);
                let refusal = RefusalCount { id, license, count: 1, first_at: now, last_at: now };
                pending.refuse((scope, hour, reason), user, refusal);
            }
        }
    }

    /// Returns the number of counts and refused users that are not written yet.
    pub fn unwritten(&self) -> usize {
        let pending = self.pending.lock();
        pending.counts.len() + pending.users
    }

    /// Writes the outcomes in batches. Outcomes that cannot be written stay pending. Concurrent
    /// calls wait for each other.
    pub async fn flush(&self, db: &Db) -> Result<()> {
        let _writing = self.writing.lock().await;
        let taken = std::mem::take(&mut *self.pending.lock());
        taken.report_dropped();
        let mut unwritten = Unwritten::from(taken);
        let written = unwritten.write(db).await;
        self.pending.lock().put_back(unwritten);
        written
    }
}

/// Deletes outcomes older than [`RETENTION`].
pub async fn forget_old(db: &Db, now: Timestamp) -> Result<()> {
    let since = now.plus(-RETENTION);
    retention::delete_old(db, retention::OUTCOMES, since).await?;
    retention::delete_old(db, retention::REFUSALS, since).await
}

/// Refusals in one world, in one hour, for one reason.
type RefusalKey = (Scope, Timestamp, Reason);

/// Unwritten outcomes. The maps are sorted, so that all nodes write rows in the same order.
#[derive(Default)]
struct PendingOutcomes {
    counts: BTreeMap<(Scope, Timestamp, Option<Reason>), i64>,
    refusals: BTreeMap<RefusalKey, BTreeMap<ExternalId, RefusalCount>>,
    /// Number of users in `refusals`.
    users: usize,
    /// Number of validations that were not counted.
    uncounted: i64,
    /// Number of refusals that were counted without their user.
    without_user: i64,
}

/// The refusals of one user.
#[derive(Clone, Copy)]
struct RefusalCount {
    id: RefusalId,
    license: Option<LicenseId>,
    count: i64,
    first_at: Timestamp,
    last_at: Timestamp,
}

impl RefusalCount {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        if other.first_at < self.first_at {
            (self.id, self.first_at) = (other.id, other.first_at);
        }
        if other.last_at >= self.last_at {
            (self.license, self.last_at) = (other.license, other.last_at);
        }
    }
}

impl PendingOutcomes {
    fn count(&mut self, scope: Scope, OutcomeCount { hour, reason, count }: OutcomeCount) {
        let is_full = self.counts.len() >= MAX_COUNTS;
        match self.counts.entry((scope, hour, reason)) {
            Entry::Occupied(mut known) => *known.get_mut() += count,
            Entry::Vacant(_) if is_full => self.uncounted += count,
            Entry::Vacant(free) => {
                free.insert(count);
            }
        }
    }

    fn refuse(&mut self, key: RefusalKey, user: &ExternalId, refusal: RefusalCount) {
        let is_full = self.users >= MAX_REFUSALS;
        let known = self.refusals.get_mut(&key).and_then(|users| users.get_mut(user));
        match known {
            Some(known) => known.add(refusal),
            None if is_full => self.without_user += refusal.count,
            None => {
                self.refusals.entry(key).or_default().insert(user.clone(), refusal);
                self.users += 1;
            }
        }
    }

    fn put_back(&mut self, unwritten: Unwritten) {
        for (scope, count) in unwritten.counts {
            self.count(scope, count);
        }
        for (scope, refusal) in unwritten.refusals {
            let UserRefusal { id, user_id, reason, license_id, hour, count, first_at, last_at } =
                refusal;
            let refusal = RefusalCount { id, license: license_id, count, first_at, last_at };
            if let Open::Known(reason) = reason {
                self.refuse((scope, hour, reason), &user_id, refusal);
            }
        }
    }

    fn report_dropped(&self) {
        let (uncounted, without_user) = (self.uncounted, self.without_user);
        if uncounted > 0 {
            tracing::warn!(uncounted, "too many worlds had validations: some were not counted");
        }
        if without_user > 0 {
            tracing::warn!(
                without_user,
                "too many users were refused: some refusals were counted without their user"
            );
        }
    }
}

/// Rows in order. Batches are written from the end.
struct Unwritten {
    counts: Vec<(Scope, OutcomeCount)>,
    refusals: Vec<(Scope, UserRefusal)>,
}

impl From<PendingOutcomes> for Unwritten {
    fn from(pending: PendingOutcomes) -> Self {
        let count = |((scope, hour, reason), count)| (scope, OutcomeCount { hour, reason, count });
        let refusals = pending.refusals.into_iter().flat_map(|((scope, hour, reason), users)| {
            users.into_iter().map(move |(user_id, refusal)| {
                let RefusalCount { id, license: license_id, count, first_at, last_at } = refusal;
                let reason = Open::Known(reason);
                let refusal =
                    UserRefusal { id, user_id, reason, license_id, hour, count, first_at, last_at };
                (scope, refusal)
            })
        });
        Self {
            counts: pending.counts.into_iter().map(count).collect(),
            refusals: refusals.collect(),
        }
    }
}

impl Unwritten {
    /// Writes until nothing remains, or the database fails.
    async fn write(&mut self, db: &Db) -> Result<()> {
        while !self.counts.is_empty() {
            let rest = self.counts.len().saturating_sub(BATCH);
            outcomes::add_counts(&mut db.write().await?, &self.counts[rest..]).await?;
            self.counts.truncate(rest);
        }
        while !self.refusals.is_empty() {
            let rest = self.refusals.len().saturating_sub(BATCH);
            outcomes::add_refusals(&mut db.write().await?, &self.refusals[rest..]).await?;
            self.refusals.truncate(rest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

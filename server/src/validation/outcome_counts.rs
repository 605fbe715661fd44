//! Outcomes of validations, counted in memory and added to the database every few seconds, so that
//! counting writes nothing during a validation. A crash loses the last few seconds. A portion whose
//! commit was not confirmed is written again and may count twice, which is acceptable for
//! statistics.
//!
//! Memory is bounded. Beyond the bounds, for example while the database is unavailable, some
//! outcomes are not counted or lose their users. The log says how many.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use chrono::TimeDelta;
use common::{ExternalId, LicenseId, Open, Reason, RefusalId, Timestamp, UserRefusal, hour_of};
use parking_lot::Mutex;

use crate::db::{Db, Result};
use crate::store::Scope;
use crate::store::outcomes::{self, OutcomeCount};

/// How many counts are kept until they are written: five outcomes for 10 thousand worlds. The
/// outcomes of further worlds are not counted.
const MAX_COUNTS: usize = 50_000;
/// How many refused users are kept until they are written, one for each reason. Further ones are
/// only counted.
const MAX_REFUSALS: usize = 10_000;
/// How many rows one statement writes; others can write between two.
const PORTION: usize = 500;
/// How long outcomes are kept.
const KEPT: TimeDelta = TimeDelta::days(30);

/// A validation that ended with a decision.
pub struct DecidedValidation<'a> {
    pub scope: Scope,
    pub user: &'a ExternalId,
    /// None if the user is licensed.
    pub reason: Option<Reason>,
    /// The license that gave the reason.
    pub license: Option<LicenseId>,
}

/// The outcomes that are not written yet.
#[derive(Default)]
pub struct OutcomeCounts {
    noted: Mutex<Noted>,
    /// Held while a portion is written, when its rows are neither noted nor stored.
    writing: tokio::sync::Mutex<()>,
}

impl OutcomeCounts {
    /// Counts validations that were decided together.
    pub fn note_batch<'a>(
        &self,
        decided: impl Iterator<Item = DecidedValidation<'a>>,
        now: Timestamp,
    ) {
        let hour = hour_of(now);
        let mut noted = self.noted.lock();
        for DecidedValidation { scope, user, reason, license } in decided {
            noted.count(scope, OutcomeCount { hour, reason, count: 1 });
            if let Some(reason) = reason {
                let id = RefusalId::new(now);
                let refusal = RefusalCount { id, license, count: 1, first_at: now, last_at: now };
                noted.refuse((scope, hour, reason), user, refusal);
            }
        }
    }

    /// How many counts and refused users are not written yet.
    pub fn unwritten(&self) -> usize {
        let noted = self.noted.lock();
        noted.counts.len() + noted.users
    }

    /// Writes the noted outcomes, in portions. Those that cannot be written are noted again.
    /// Concurrent calls wait for each other.
    pub async fn flush(&self, db: &Db) -> Result<()> {
        let _writing = self.writing.lock().await;
        let taken = std::mem::take(&mut *self.noted.lock());
        taken.report_dropped();
        let mut unwritten = Unwritten::from(taken);
        let written = unwritten.write(db).await;
        self.noted.lock().put_back(unwritten);
        written
    }
}

/// Deletes the outcomes of old hours in portions, and lets others write in between.
pub async fn forget_old(db: &Db, now: Timestamp) -> Result<()> {
    let since = now.plus(-KEPT);
    while outcomes::forget_old_counts(&mut db.write().await?, since).await? {}
    while outcomes::forget_old_refusals(&mut db.write().await?, since).await? {}
    Ok(())
}

/// Refusals in one world, in one hour, for one reason.
type RefusalKey = (Scope, Timestamp, Reason);

/// The maps are sorted, so that every node writes its rows in the same order.
#[derive(Default)]
struct Noted {
    counts: BTreeMap<(Scope, Timestamp, Option<Reason>), i64>,
    refusals: BTreeMap<RefusalKey, BTreeMap<ExternalId, RefusalCount>>,
    /// How many users are in `refusals`.
    users: usize,
    /// How many validations were not counted.
    uncounted: i64,
    /// How many refusals were counted without their user.
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

impl Noted {
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

/// Rows in their order. Portions are written from the end.
struct Unwritten {
    counts: Vec<(Scope, OutcomeCount)>,
    refusals: Vec<(Scope, UserRefusal)>,
}

impl From<Noted> for Unwritten {
    fn from(noted: Noted) -> Self {
        let count = |((scope, hour, reason), count)| (scope, OutcomeCount { hour, reason, count });
        let refusals = noted.refusals.into_iter().flat_map(|((scope, hour, reason), users)| {
            users.into_iter().map(move |(user_id, refusal)| {
                let RefusalCount { id, license: license_id, count, first_at, last_at } = refusal;
                let reason = Open::Known(reason);
                let refusal =
                    UserRefusal { id, user_id, reason, license_id, hour, count, first_at, last_at };
                (scope, refusal)
            })
        });
        Self { counts: noted.counts.into_iter().map(count).collect(), refusals: refusals.collect() }
    }
}

impl Unwritten {
    /// Writes until nothing remains, or the database fails.
    async fn write(&mut self, db: &Db) -> Result<()> {
        while !self.counts.is_empty() {
            let rest = self.counts.len().saturating_sub(PORTION);
            outcomes::add_counts(&mut db.write().await?, &self.counts[rest..]).await?;
            self.counts.truncate(rest);
        }
        while !self.refusals.is_empty() {
            let rest = self.refusals.len().saturating_sub(PORTION);
            outcomes::add_refusals(&mut db.write().await?, &self.refusals[rest..]).await?;
            self.refusals.truncate(rest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

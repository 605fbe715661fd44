//! The use of a license: its seats, all as of one moment.

use std::sync::LazyLock;

use common::{Activation, ActivationId, License, LicenseId, Timestamp, UsageActivation, UserId};

use super::licenses::NOT_FOUND;
use super::view::View;
use crate::budget::{MemoryBudget, MemoryShare};
use crate::db::Conn;
use crate::error::Error;
use crate::fair::Turns;
use crate::store::{Page, Scope, licenses, seats};
use crate::validation::LastChecks;

/// How many activations are read without a limit. They are of one moment, so they are kept in memory
/// until the caller has read them.
const MAX_ACTIVATIONS: i64 = 1_000_000;
/// How much memory all readers together may take for activations. Half of it, which one tenant may
/// take, is enough for [`MAX_ACTIVATIONS`].
static BUDGET: MemoryBudget = MemoryBudget::new(160 * 1024 * 1024);
/// How many activations each reader has without counting: a page always has room.
const UNCOUNTED: usize = 1001;
/// How many reads without a limit run at a time. Each holds a connection until all of its
/// activations are read, and SQLite has few.
static READERS: LazyLock<Turns> = LazyLock::new(|| Turns::new(2));
/// How many activations one statement reads.
const PORTION: i64 = 5000;

/// Who uses a license.
pub struct LicenseUsage {
    pub license: License,
    /// How many seats are held.
    pub activations_held: i64,
    /// By how many users.
    pub users: i64,
    pub activations: Activations,
}

/// Reads the activations after one, as many as `limit` or all.
pub async fn read(
    view: View,
    id: LicenseId,
    after: ActivationId,
    limit: Option<i64>,
) -> Result<LicenseUsage, Error> {
    let _turn = match limit {
        Some(_) => None,
        None => Some(READERS.take(view.scope.tenant).await?),
    };
    let scope = view.scope;
    let mut tx = view.snapshot().await?;
    let license = licenses::find(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let (activations_held, users) = seats::count(&mut tx, scope, id).await?;
    // One more shows whether others follow.
    let most = limit.map_or(activations_held, |limit| activations_held.min(limit + 1));
    let mut activations = Activations::read(&mut tx, scope, id, after, most).await?;
    activations.show(&view.last_checks);
    Ok(LicenseUsage { license, activations_held, users, activations })
}

/// Activations of one moment, in the order of their ids. The users' external ids lie one behind the
/// other in one text, which takes less memory than a text for each.
pub struct Activations {
    license: LicenseId,
    records: Vec<Seat>,
    external_ids: String,
    _share: MemoryShare,
}

struct Seat {
    id: ActivationId,
    user_id: UserId,
    activated_at: Timestamp,
    last_checked_at: Timestamp,
    /// Where the external id ends; it begins where the one before ends.
    external_id_end: usize,
}

impl Activations {
    /// Reads at most so many.
    async fn read(
        conn: &mut Conn,
        scope: Scope,
        license: LicenseId,
        after: ActivationId,
        most: i64,
    ) -> Result<Self, Error> {
        if most > MAX_ACTIVATIONS {
            let why = "limit is required: this license has more than 1000000 activations";
            return Err(Error::invalid("limit", why));
        }
        let most = most as usize;
        let mut share = BUDGET.share(Some(scope.tenant));
        let mut records: Vec<Seat> = Vec::with_capacity(most);
        let mut external_ids = String::new();
        while records.len() < most {
            let after = records.last().map_or(after, |last| last.id);
            let limit = PORTION.min((most - records.len()) as i64);
            let portion =
                seats::page_of_license(conn, scope, license, Page::oldest_first(after, limit))
                    .await?;
            if portion.is_empty() {
                break;
            }
            for UsageActivation { activation, external_id } in portion {
                external_ids.push_str(external_id.as_str());
                records.push(Seat {
                    id: activation.id,
                    user_id: activation.user_id,
                    activated_at: activation.activated_at,
                    last_checked_at: activation.last_checked_at,
                    external_id_end: external_ids.len(),
                });
            }
            let size = records.len().saturating_sub(UNCOUNTED) * size_of::<Seat>();
            share.grow_to(size + external_ids.capacity().saturating_sub(UNCOUNTED * 255))?;
        }
        Ok(Self { license, records, external_ids, _share: share })
    }

    /// Moves the times of the last checks to those that are noted.
    fn show(&mut self, checks: &LastChecks) {
        for seat in &mut self.records {
            let place = (seat.user_id, self.license);
            seat.last_checked_at = checks.latest(place, seat.id, seat.last_checked_at);
        }
    }

    /// Only a text that is no external id fails, and none is stored.
    pub fn page(&self, page: Page<ActivationId>) -> Result<Vec<UsageActivation>, Error> {
        let start = self.records.partition_point(|seat| !page.reaches(seat.id));
        let end = self.records.len().min(start + page.limit as usize);
        (start..end).map(|number| self.activation(number)).collect()
    }

    fn activation(&self, number: usize) -> Result<UsageActivation, Error> {
        let seat = &self.records[number];
        let before = number.checked_sub(1).map_or(0, |before| self.records[before].external_id_end);
        let external_id = &self.external_ids[before..seat.external_id_end];
        let activation = Activation {
            id: seat.id,
            user_id: seat.user_id,
            license_id: self.license,
            activated_at: seat.activated_at,
            last_checked_at: seat.last_checked_at,
        };
        let external_id = external_id.parse().map_err(|_| Error::Internal)?;
        Ok(UsageActivation { activation, external_id })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use common::{Mode, TenantId};
    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tempfile::TempDir;

    use super::*;
    use crate::db::Db;
    use crate::ops::Operations;

    #[tokio::test]
    async fn tenants_take_turns_in_reading_all() {
        let folder = TempDir::new().unwrap();
        let url = format!("sqlite://{}", folder.path().join("licd.db").display());
        let db = Db::open(&url.parse().unwrap()).await.unwrap();
        let ops = &Operations::new(db, Arc::default());
        let [greedy, other] = [(); 2].map(|()| TenantId::new(Timestamp::now()));
        let others_turn = READERS.take(greedy).await.unwrap();
        let turn = READERS.take(greedy).await.unwrap();
        let read = &Mutex::new(Vec::new());
        let mut waiting: Vec<_> = [greedy, greedy, greedy, other]
            .map(|tenant| {
                Box::pin(async move {
                    let view = ops.view(Scope { world: 1.into(), tenant, mode: Mode::Live });
                    let id = LicenseId::new(Timestamp::now());
                    let usage = super::read(view, id, ActivationId::default(), None).await;
                    assert!(matches!(usage, Err(NOT_FOUND)));
                    read.lock().unwrap().push(tenant);
                })
            })
            .into();
        for waiting in &mut waiting {
            assert!(waiting.now_or_never().is_none());
        }
        drop(turn);
        join_all(waiting).await;
        assert_eq!(*read.lock().unwrap(), [greedy, other, greedy, greedy]);
        drop(others_turn);
    }
}

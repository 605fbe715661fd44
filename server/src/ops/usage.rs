//! The use of a license: its seats, all as of one moment.

use common::{Activation, ActivationId, License, LicenseId};
use tokio::sync::Semaphore;

use super::licenses::NOT_FOUND;
use super::view::View;
use crate::budget::{MemoryBudget, MemoryShare};
use crate::db::Conn;
use crate::error::Error;
use crate::store::{Page, Scope, licenses, seats};

/// How many activations are read without a limit. They are of one moment, so they are kept in memory
/// until the caller has read them.
const MAX_ACTIVATIONS: i64 = 1_000_000;
/// How much memory all readers together may take for activations.
static BUDGET: MemoryBudget = MemoryBudget::new(80 * 1024 * 1024);
/// How many activations each reader has without counting: a page always has room.
const UNCOUNTED: usize = 1001;
/// How many reads without a limit run at a time. Each holds a connection until all of its
/// activations are read, and SQLite has few.
static READERS: Semaphore = Semaphore::const_new(2);
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
        None => Some(READERS.acquire().await.map_err(|_| Error::Unavailable)?),
    };
    let scope = view.scope;
    let mut tx = view.snapshot().await?;
    let license = licenses::find(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let (activations_held, users) = seats::count(&mut tx, scope, id).await?;
    // One more shows whether others follow.
    let most = limit.map_or(activations_held, |limit| activations_held.min(limit + 1));
    let activations = Activations::read(&mut tx, scope, id, after, most).await?;
    Ok(LicenseUsage { license, activations_held, users, activations })
}

/// Activations of one moment, in the order of their ids.
pub struct Activations {
    records: Vec<Activation>,
    _share: MemoryShare,
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
        let mut share = BUDGET.share();
        share.grow_to(most.saturating_sub(UNCOUNTED) * size_of::<Activation>())?;
        let mut records: Vec<Activation> = Vec::with_capacity(most);
        while records.len() < most {
            let after = records.last().map_or(after, |last| last.id);
            let limit = PORTION.min((most - records.len()) as i64);
            let portion =
                seats::page_of_license(conn, scope, license, Page { after, limit }).await?;
            if portion.is_empty() {
                break;
            }
            records.extend(portion);
        }
        Ok(Self { records, _share: share })
    }

    pub fn page(&self, page: Page<ActivationId>) -> Vec<Activation> {
        let start = self.records.partition_point(|record| record.id <= page.after);
        self.records[start..].iter().take(page.limit as usize).cloned().collect()
    }
}

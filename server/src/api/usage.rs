//! Who uses a license.

use std::future::ready;

use axum::extract::State;
use common::{Activation, ActivationId, LicenseId, Usage};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::licenses::NOT_FOUND;
use crate::App;
use crate::db::Conn;
use crate::error::Error;
use crate::http::answer::{ListParams, Pages, pages, text};
use crate::http::budget::{MemoryBudget, MemoryShare};
use crate::http::credentials::Reader;
use crate::http::extract::{Id, Limit, Query};
use crate::store::{Page, Scope, licenses, seats};

/// How many activations are answered without a `limit`. All of them are of one moment, so they are
/// kept in memory until the caller has read them.
const MAX_ACTIVATIONS: i64 = 1_000_000;
/// How much memory all answers together may take for activations.
static BUDGET: MemoryBudget = MemoryBudget::new(80 * 1024 * 1024);
/// How many activations each answer has without counting: a page always has room.
const UNCOUNTED: usize = 1001;
/// How many answers without a `limit` are read at a time. Each holds a connection until all of its
/// activations are read, and SQLite has few.
static READERS: Semaphore = Semaphore::const_new(2);
/// How many activations one statement reads.
const PORTION: i64 = 5000;

/// The query of a license's usage.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct PageOfUsage {
    limit: Option<Limit>,
    after: Option<ActivationId>,
}

pub async fn get(
    State(app): State<App>,
    Reader(caller): Reader,
    Id(id): Id<LicenseId>,
    Query(query): Query<PageOfUsage>,
) -> Result<Pages<Usage>, Error> {
    let scope = caller.scope();
    let wanted = ListParams { after: query.after.unwrap_or_default().uuid(), limit: query.limit };
    let turn = match wanted.limit {
        Some(_) => None,
        None => Some(READERS.acquire().await.map_err(|_| Error::Unavailable)?),
    };
    let mut tx = app.snapshot(scope.tenant).await?;
    let license = licenses::find(&mut tx, scope, id).await?.ok_or(NOT_FOUND)?;
    let (total, active) = seats::count(&mut tx, scope, id).await?;
    let kept = Activations::read(&mut tx, scope, id, wanted, total).await?;
    drop((tx, turn));
    let head = format!(r#"{{"license":{},"activations":["#, text(&license)?);
    let tail = format!(r#"],"totalActivations":{total},"activeSeats":{active}}}"#);
    pages(&head, &tail, wanted, move |page| ready(Ok(kept.page(page)))).await
}

/// Activations of one moment, in the order of their ids.
struct Activations {
    records: Vec<Activation>,
    _share: MemoryShare,
}

impl Activations {
    /// Reads those that are wanted, and one more, of a license that has `total`.
    async fn read(
        conn: &mut Conn,
        scope: Scope,
        license: LicenseId,
        wanted: ListParams,
        total: i64,
    ) -> Result<Self, Error> {
        let most = wanted.limit.map_or(total, |limit| total.min(limit.0 + 1));
        if most > MAX_ACTIVATIONS {
            let why = "limit is required: this license has more than 1000000 activations";
            return Err(Error::invalid("limit", why));
        }
        let most = most as usize;
        let mut share = BUDGET.share();
        share.grow_to(most.saturating_sub(UNCOUNTED) * size_of::<Activation>())?;
        let mut records: Vec<Activation> = Vec::with_capacity(most);
        while records.len() < most {
            let after = records.last().map_or(wanted.after, |last| last.id.uuid());
            let limit = PORTION.min((most - records.len()) as i64);
            let page = Page { after, limit };
            let portion = seats::page_of_license(conn, scope, license, page).await?;
            if portion.is_empty() {
                break;
            }
            records.extend(portion);
        }
        Ok(Self { records, _share: share })
    }

    fn page(&self, page: Page) -> Vec<Activation> {
        let is_before = |record: &Activation| -> bool { record.id.uuid() <= page.after };
        let start = self.records.partition_point(is_before);
        self.records[start..].iter().take(page.limit as usize).cloned().collect()
    }
}

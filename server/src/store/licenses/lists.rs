//! Lists of licenses: pages of those that match a filter, in the order of their ids or expiry.

use common::{LicenseId, LicenseWithSeats, PlanId, ProductId, Status, Timestamp};

use super::source::{LicenseFilter, Source};
use super::{CountedLicense, columns};
use crate::db::{Conn, Result};
use crate::store::page::{scanned, stop};
use crate::store::phrases::Search;
use crate::store::{Found, Page, Scope};

/// A page of the licenses that match a filter.
pub async fn page(
    conn: &mut Conn,
    scope: Scope,
    filter: &LicenseFilter,
    page: Page<LicenseId>,
) -> Result<Found<LicenseWithSeats, LicenseId>> {
    let mut filter = filter.clone();
    let (source, filter) = Source::find(conn, scope, &mut filter).await?;
    let page = source.scan(filter, page);
    let (matches, stop) = source.sql(page);
    let matches = conn.query(matches).bind_scope(scope).bind_scan(page);
    let matches = source
        .bind(matches)
        .bind(filter.plan)
        .bind(filter.product)
        .bind(filter.status)
        .bind(filter.expiring_before)
        .bind(filter.suffixes.map(|suffixes| suffixes.first))
        .bind(filter.suffixes.map(|suffixes| suffixes.last))
        .bind(filter.state.map(|(status, _)| status))
        .bind(filter.state.map(|(_, now)| now));
    let words = filter.search.as_ref().map(Search::ranges);
    let matches = (0..Search::MAX_WORDS).fold(matches, |matches, at| {
        let range = words.map(|words| words[at]);
        matches.bind(range.map(|range| &range.from)).bind(range.map(|range| &range.until))
    });
    let rows: Vec<CountedLicense> = matches.fetch_all().await?;
    let records = with_seats(rows);
    let Some(stop) = stop else { return Ok(Found { records, rest: None }) };
    let stop = source.bind(conn.query(stop).bind_scope(scope).bind_stop(page));
    page.found(records, stop).await
}

fn with_seats(rows: Vec<CountedLicense>) -> Vec<LicenseWithSeats> {
    rows.into_iter().map(LicenseWithSeats::from).collect()
}

/// Filter of a list of expiring licenses. All given conditions must match.
#[derive(Clone, Copy)]
pub struct ExpiryFilter {
    pub product: Option<ProductId>,
    pub plan: Option<PlanId>,
    pub status: Option<Status>,
    /// Expiring at or after this.
    pub from: Timestamp,
    /// Expiring before this.
    pub to: Timestamp,
}

/// A page of the licenses that expire in the period, soonest first.
pub async fn by_expiry(
    conn: &mut Conn,
    scope: Scope,
    filter: &ExpiryFilter,
    page: Page<(Timestamp, LicenseId)>,
) -> Result<Found<LicenseWithSeats, (Timestamp, LicenseId)>> {
    macro_rules! ending {
        ($columns:literal, $limit:literal) => {
            concat!(
                "select ", $columns, " from licenses
                 where world = $1 and world > 0 and (expires_at, id) > ($2, $3) and expires_at < $4
                 order by expires_at, id ", $limit
            )
        };
    }
    let is_whole = (filter.product, filter.plan, filter.status) == (None, None, None);
    let page = if is_whole { page.without_filter() } else { page };
    // The nil id sorts before all licenses that expire at the same time.
    let (expires_at, id) = page.cursor.max((filter.from, LicenseId::default()));
    let rows: Vec<CountedLicense> = conn
        .query(concat!(
            "select ",
            columns!(),
            " from (",
            ending!("*", "limit $5"),
            ") licenses
             where (cast($6 as uuid) is null or product_id = $6)
                 and (cast($7 as text) is null or status = $7)
                 and (cast($8 as uuid) is null or plan_id = $8)
             order by expires_at, id limit $9"
        ))
        .bind_scope(scope)
        .bind(expires_at)
        .bind(id)
        .bind(filter.to)
        .bind(page.scan())
        .bind(filter.product)
        .bind(filter.status)
        .bind(filter.plan)
        .bind(page.limit)
        .fetch_all()
        .await?;
    let stop = conn.query(ending!("expires_at, id", "limit 1 offset $5")).bind_scope(scope);
    let stop = stop.bind(expires_at).bind(id).bind(filter.to).bind(page.scan() - 1);
    let rest = if page.is_done(&rows) { None } else { stop.fetch_optional().await? };
    Ok(Found { records: with_seats(rows), rest })
}

/// A page of the licenses in force without free seats, all or those of a product or plan.
pub async fn full(
    conn: &mut Conn,
    scope: Scope,
    (product, plan): (Option<ProductId>, Option<PlanId>),
    now: Timestamp,
    page: Page<LicenseId>,
) -> Result<Found<LicenseWithSeats, LicenseId>> {
    macro_rules! full {
        () => {
            "world = $1 and world > 0 and is_full and status = 'active'"
        };
    }
    let matches = conn.query(scanned!(
        page,
        columns!(),
        "licenses" where full!(),
        "(expires_at is null or expires_at > $5)
             and (cast($6 as uuid) is null or product_id = $6)
             and (cast($7 as uuid) is null or plan_id = $7)",
        "id"
    ));
    let matches = matches.bind_scope(scope).bind_scan(page);
    let rows = matches.bind(now).bind(product).bind(plan).fetch_all().await?;
    let stop = conn.query(stop!(page, "licenses" where full!(), "id"));
    page.found(with_seats(rows), stop.bind_scope(scope).bind_stop(page)).await
}

//! Lists of licenses: pages of those that match a filter, in the order of their ids or ends, and
//! their totals.

use common::{LicenseId, LicenseTotals, LicenseWithSeats, Timestamp};

use super::CountedLicense;
use super::source::{LicenseFilter, Source};
use crate::db::{Conn, Query, Result};
use crate::store::phrases::Search;
use crate::store::{Found, Page, Scope};

/// Maximum number of licenses that totals count, and of those that they look at.
const MAX_COUNTED: i64 = 10_000;
const MAX_LOOKED_AT: i64 = 100_000;

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
    let statements = source.statements(page);
    let query = conn.query(statements.page).bind_scope(scope).bind_scan(page);
    let records = with_seats(bind(query, &source, filter).fetch_all().await?);
    let Some(stop) = statements.stop else { return Ok(Found { records, rest: None }) };
    let stop = source.bind(conn.query(stop).bind_scope(scope).bind_stop(page));
    page.found(records, stop).await
}

/// Binds the placeholders of a source and of the conditions of a filter.
fn bind<'q>(query: Query<'q>, source: &Source<'_>, filter: &LicenseFilter) -> Query<'q> {
    let query = source
        .bind(query)
        .bind(filter.plan)
        .bind(filter.product)
        .bind(filter.status)
        .bind(filter.ends.map(|(from, _)| from))
        .bind(filter.suffixes.map(|suffixes| suffixes.first))
        .bind(filter.suffixes.map(|suffixes| suffixes.last))
        .bind(filter.state.map(|(status, _)| status))
        .bind(filter.state.map(|(_, now)| now));
    let words = filter.search.as_ref().map(Search::ranges);
    let query = (0..Search::MAX_WORDS).fold(query, |query, at| {
        let range = words.map(|words| words[at]);
        query.bind(range.map(|range| &range.from)).bind(range.map(|range| &range.until))
    });
    query
        .bind(filter.ends.map(|(_, before)| before))
        .bind(filter.seats.map(|(seats, _)| seats))
        .bind(filter.seats.map(|(_, now)| now))
        .bind(filter.trial)
}

fn with_seats(rows: Vec<CountedLicense>) -> Vec<LicenseWithSeats> {
    rows.into_iter().map(LicenseWithSeats::from).collect()
}

/// A page of the licenses that match a filter with a period of ends, soonest first.
pub async fn by_end(
    conn: &mut Conn,
    scope: Scope,
    filter: &LicenseFilter,
    page: Page<(Timestamp, LicenseId)>,
) -> Result<Found<LicenseWithSeats, (Timestamp, LicenseId)>> {
    let (end, id) = page.cursor;
    let in_source = Page { cursor: id, order: page.order, limit: page.limit, scan: page.scan };
    let source = Source::ByEnd(end);
    let statements = source.statements(in_source);
    let query = conn.query(statements.page).bind_scope(scope).bind_scan(in_source);
    let records = with_seats(bind(query, &source, filter).fetch_all().await?);
    if page.is_done(&records) {
        return Ok(Found { records, rest: None });
    }
    let stop = conn.query(
        "select expires_at, id from licenses
         where world = $1 and world > 0 and (expires_at, id) > ($2, $3) and expires_at < $4
         order by expires_at, id limit 1 offset $5",
    );
    let before = filter.ends.map(|(_, before)| before);
    let stop = stop.bind_scope(scope).bind(end).bind(id).bind(before).bind(page.scan() - 1);
    Ok(Found { records, rest: stop.fetch_optional().await? })
}

/// The sums of the licenses that match a filter.
pub async fn totals(
    conn: &mut Conn,
    scope: Scope,
    filter: &LicenseFilter,
) -> Result<LicenseTotals> {
    let mut filter = filter.clone();
    let (source, filter) = match filter.ends {
        // The nil id sorts before all licenses that end at the same time.
        Some((from, _)) => (Source::ByEnd(from), &filter),
        None => Source::find(conn, scope, &mut filter).await?,
    };
    let page = Page {
        limit: MAX_COUNTED + 1,
        scan: Some(MAX_LOOKED_AT),
        ..Page::oldest_first(LicenseId::default(), 0)
    };
    let statements = source.statements(page);
    let query = conn.query(statements.totals).bind_scope(scope).bind_scan(page);
    let (licenses, seats, unlimited, held): (i64, i64, i64, i64) =
        bind(query, &source, filter).fetch_one().await?;
    let stop: Option<(LicenseId,)> = match statements.stop {
        Some(stop) if licenses <= MAX_COUNTED => {
            let stop = conn.query(stop).bind_scope(scope).bind_stop(page);
            source.bind(stop).fetch_optional().await?
        }
        _ => None,
    };
    let complete = licenses <= MAX_COUNTED && stop.is_none();
    Ok(LicenseTotals { licenses: licenses.min(MAX_COUNTED), seats, unlimited, held, complete })
}

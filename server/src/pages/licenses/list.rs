//! The list of licenses, with its filters.

use askama::Template;
use axum::response::Response;
use chrono::Duration;
use common::{LicenseId, LicenseState, LicenseWithSeats, PlanId, ProductId, Timestamp};
use serde::Deserialize;

use crate::error::Error;
use crate::http::extract::Query;
use crate::ops::licenses::{self, ExpiryFilter, LicenseQuery, Names};
use crate::ops::view::View;
use crate::pages::catalog::Catalog;
use crate::pages::{
    Badge, FormError, Layout, Pager, Paging, SeatsBar, Viewer, filters, optional, page,
};

/// The choices for the expiry: the value in the address, and the label.
const EXPIRIES: [(&str, &str); 2] = [(SOON, "within 30 days"), (OVER, "expired")];
const SOON: &str = "30";
const OVER: &str = "expired";

/// The choice for the seats.
const FULL: &str = "full";

/// Time before its end from which a license expires "soon".
const SOON_DAYS: Duration = Duration::days(30);

#[derive(Template)]
#[template(path = "licenses.html")]
struct LicensesPage {
    layout: Layout,
    query: ListQuery,
    catalog: Catalog,
    licenses: Vec<LicenseWithSeats>,
    names: Names,
    pager: Pager,
    error: FormError,
}

/// The query of the list.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    product: String,
    plan: String,
    status: String,
    /// One of [`EXPIRIES`].
    expiry: String,
    /// `full`: only active licenses without a free seat.
    seats: String,
    /// The last characters of the id.
    end: String,
    before: String,
}

/// Search terms and order.
enum LicenseSearch {
    /// By their ends, soonest first.
    Ending(ExpiryFilter),
    /// Newest first.
    Matching(LicenseQuery),
    /// Active and without a free seat, of this product or plan, newest first.
    Full((Option<ProductId>, Option<PlanId>)),
}

impl ListQuery {
    fn read(&self, now: Timestamp) -> Result<LicenseSearch, Error> {
        // No license belongs to a malformed id.
        let product = given(&self.product).map(|id| id.parse().unwrap_or_default());
        let plan = given(&self.plan).map(|id| id.parse().unwrap_or_default());
        let state: Option<LicenseState> = optional("status", "The status", &self.status)?;
        let search = given(self.end.trim().trim_start_matches('…'));
        if self.seats == FULL {
            if state.is_some() || search.is_some() || !self.expiry.is_empty() {
                let rule = "Full licenses can be filtered by product and plan only.";
                return Err(Error::invalid("seats", rule));
            }
            return Ok(LicenseSearch::Full((product, plan)));
        }
        let beginning = Timestamp::from_millis(0).unwrap_or(now);
        let (from, to) = match self.expiry.as_str() {
            "" => (beginning, None),
            OVER => (beginning, Some(now)),
            SOON if search.is_none() => (now, Some(now.plus(SOON_DAYS))),
            SOON => {
                let rule = "The expiry can be combined with product, plan and status only.";
                return Err(Error::invalid("expiry", rule));
            }
            _ => {
                return Err(Error::invalid(
                    "expiry",
                    "The expiry must be one of those in the list.",
                ));
            }
        };
        // Until a license ends, its status is the stored one.
        let status = match state {
            Some(LicenseState::Grace) if from == now => {
                let rule = "A license in grace has ended already.";
                return Err(Error::invalid("status", rule));
            }
            // The words are the same.
            state => state.and_then(|state| state.as_str().parse().ok()),
        };
        let is_wide = state.is_none() && plan.is_none() && search.is_none();
        Ok(match to {
            Some(to) if from == now || is_wide => {
                LicenseSearch::Ending(ExpiryFilter { product, plan, status, from, to })
            }
            expiring_before => LicenseSearch::Matching(LicenseQuery {
                plan,
                product,
                state: state.map(|state| (state, now)),
                expiring_before,
                search,
                ..LicenseQuery::default()
            }),
        })
    }

    async fn find(&self, view: View, paging: &Paging<'_>) -> Result<Vec<LicenseWithSeats>, Error> {
        match self.read(Timestamp::now())? {
            LicenseSearch::Ending(filter) => {
                let after = parse_end(&self.before);
                licenses::by_expiry(view, filter, after, paging.rows + 1).await
            }
            LicenseSearch::Matching(query) => licenses::page(view, query, paging.page()).await,
            LicenseSearch::Full(of) => licenses::full(view, of, paging.page()).await,
        }
    }

    /// The cursor of a row in the order of this query.
    fn cursor(&self, row: &LicenseWithSeats) -> String {
        match (self.is_by_end(), row.expires_at) {
            (true, Some(end)) => format!("{end} {}", row.id),
            _ => row.id.to_string(),
        }
    }

    fn is_by_end(&self) -> bool {
        matches!(self.read(Timestamp::now()), Ok(LicenseSearch::Ending(_)))
    }

    fn filters(&self) -> [(&str, &str); 6] {
        [
            ("product", &self.product),
            ("plan", &self.plan),
            ("status", &self.status),
            ("expiry", &self.expiry),
            ("seats", &self.seats),
            ("end", &self.end),
        ]
    }

    fn is_filtered(&self) -> bool {
        self.filters().iter().any(|(_, value)| !value.is_empty())
    }
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The cursor of a list that is sorted by end.
fn parse_end(cursor: &str) -> Option<(Timestamp, LicenseId)> {
    let (end, id) = cursor.split_once(' ')?;
    end.parse().ok().zip(id.parse().ok())
}

pub async fn list(
    Viewer(visitor): Viewer,
    Query(query): Query<ListQuery>,
) -> Result<Response, Error> {
    let view = visitor.view();
    let catalog = Catalog::read(&view).await?;
    let filters = query.filters();
    let labels = if query.is_by_end() { ["Soonest", "Later"] } else { ["Newest", "Older"] };
    let paging = Paging { labels, others: &filters, ..Paging::new(&query.before) };
    let (mut licenses, error) = match query.find(view.clone(), &paging).await {
        Ok(found) => (found, FormError::default()),
        Err(error) => (Vec::new(), FormError::of(error)?),
    };
    let pager = paging.pager(&mut licenses, |row| query.cursor(row));
    let names = licenses::names(view, &licenses).await?;
    let (layout, status) = (visitor.layout, error.status());
    page(status, &LicensesPage { layout, query, catalog, licenses, names, pager, error })
}

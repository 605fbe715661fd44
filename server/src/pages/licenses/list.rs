//! The list of licenses, with its filters, its totals, and links to those that end in a month.

use askama::Template;
use axum::response::Response;
use chrono::{Months, NaiveDate};
use common::{
    LicenseId, LicenseState, LicenseTotals, LicenseWithSeats, SeatsTaken, Timestamp, day_of,
    month_of,
};
use form_urlencoded::Serializer;
use serde::Deserialize;

use crate::error::Error;
use crate::http::extract::Query;
use crate::ops::licenses::{self, LicenseQuery, Names};
use crate::ops::view::View;
use crate::pages::catalog::Catalog;
use crate::pages::{
    Badge, FormError, Layout, Pager, Paging, SeatsBar, Viewer, all, filters, once, optional, page,
    short,
};

/// The value of `ends` for licenses that have ended.
const ENDED: &str = "ended";
/// Number of months from this one that have links.
const MONTHS: u32 = 4;

/// The choices for the seats: the value in the address, and the label.
const SEATS: [(&str, &str); 2] = [("full", "all taken"), ("over", "over the limit")];
/// The choices for trials.
const TRIALS: [(&str, &str); 2] = [("false", "left out"), ("true", "only trials")];

#[derive(Template)]
#[template(path = "licenses.html")]
struct LicensesPage {
    layout: Layout,
    query: ListQuery,
    catalog: Catalog,
    licenses: Vec<LicenseWithSeats>,
    names: Names,
    totals: LicenseTotals,
    pager: Pager,
    error: FormError,
    once: String,
}

/// The query of the list.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    product: String,
    plan: String,
    status: String,
    /// [`ENDED`], or a month such as `2026-12`.
    ends: String,
    /// The first and the last day of a period of last valid days.
    from: String,
    to: String,
    seats: String,
    trial: String,
    /// The last characters of the id, or words.
    end: String,
    before: String,
}

/// A link to the list with another period.
struct PeriodLink {
    label: String,
    query: String,
    is_current: bool,
}

impl ListQuery {
    /// Returns what the filters select. An error names its field.
    pub fn read(&self, now: Timestamp) -> Result<LicenseQuery, Error> {
        // No license belongs to a malformed id.
        let product = given(&self.product).map(|id| id.parse().unwrap_or_default());
        let plan = given(&self.plan).map(|id| id.parse().unwrap_or_default());
        all! {
            state = optional::<LicenseState>("status", "The status", &self.status),
            seats = optional::<SeatsTaken>("seats", "The seats", &self.seats),
            ends = self.period(now),
        }
        Ok(LicenseQuery {
            plan,
            product,
            state: state.map(|state| (state, now)),
            ends,
            seats: seats.map(|seats| (seats, now)),
            trial: self.trial.parse().ok(),
            search: given(self.end.trim().trim_start_matches('…')),
            ..LicenseQuery::default()
        })
    }

    /// The period of the ends, if one is given.
    fn period(&self, now: Timestamp) -> Result<Option<(Timestamp, Timestamp)>, Error> {
        let day = |field: &str, text: &str| match text {
            "" => Ok(None),
            text => {
                let rule = "The day must be a date, such as 2027-01-31.";
                day_of(text).map(Some).ok_or_else(|| Error::invalid(field, rule))
            }
        };
        let (from, to) = (day("from", &self.from)?, day("to", &self.to)?);
        if from.is_some() || to.is_some() {
            let period = (from.unwrap_or(NaiveDate::MIN), to.unwrap_or(NaiveDate::MAX));
            return Ok(Some(Timestamp::ends_on(period.0, period.1)));
        }
        match self.ends.as_str() {
            "" => Ok(None),
            ENDED => Ok(Some((Timestamp::FIRST, now))),
            month => {
                let rule = "The month must be one such as 2027-01.";
                let (first, last) = month_of(month).ok_or_else(|| Error::invalid("ends", rule))?;
                Ok(Some(Timestamp::ends_on(first, last)))
            }
        }
    }

    async fn find(
        &self,
        view: View,
        paging: &Paging<'_>,
    ) -> Result<(Vec<LicenseWithSeats>, LicenseTotals), Error> {
        let query = self.read(Timestamp::now())?;
        let totals = licenses::totals(view.clone(), query.clone()).await?;
        let found = match query.ends {
            Some(_) => {
                licenses::by_end(view, query, parse_end(&self.before), paging.rows + 1).await?
            }
            None => licenses::page(view, query, paging.page()).await?,
        };
        Ok((found, totals))
    }

    /// The cursor of a row in the order of this query.
    fn cursor(&self, row: &LicenseWithSeats) -> String {
        match (self.is_by_end(), row.expires_at) {
            (true, Some(end)) => format!("{end} {}", row.id),
            _ => row.id.to_string(),
        }
    }

    fn is_by_end(&self) -> bool {
        [&self.ends, &self.from, &self.to].iter().any(|text| !text.is_empty())
    }

    fn filters(&self) -> [(&str, &str); 9] {
        [
            ("product", &self.product),
            ("plan", &self.plan),
            ("status", &self.status),
            ("ends", &self.ends),
            ("from", &self.from),
            ("to", &self.to),
            ("seats", &self.seats),
            ("trial", &self.trial),
            ("end", &self.end),
        ]
    }

    fn is_filtered(&self) -> bool {
        self.filters().iter().any(|(_, value)| !value.is_empty())
    }

    /// The filters as the query of an address.
    fn encoded(&self) -> String {
        let given = self.filters().into_iter().filter(|(_, value)| !value.is_empty());
        Serializer::new(String::new()).extend_pairs(given).finish()
    }

    /// Links to the licenses with another period, and the same other filters.
    fn periods(&self) -> Vec<PeriodLink> {
        let link = |label: String, ends: &str, status: &str| {
            let others = Self { from: String::new(), to: String::new(), ..self.clone() };
            let query = Self { ends: ends.to_owned(), status: status.to_owned(), ..others };
            let is_current = query.filters() == self.filters();
            PeriodLink { label, query: query.encoded(), is_current }
        };
        let today = Timestamp::now().date();
        let months = (0..MONTHS).filter_map(|months| today.checked_add_months(Months::new(months)));
        let month = |day: NaiveDate| {
            link(day.format("%b %Y").to_string(), &day.format("%Y-%m").to_string(), "")
        };
        let all = [("All", "", ""), ("Ended", ENDED, ""), ("In grace", ENDED, "grace")];
        let all = all.map(|(label, ends, status)| link(label.to_owned(), ends, status));
        all.into_iter().chain(months.map(month)).collect()
    }
}

/// By what people tell a license apart.
fn title(license: &LicenseWithSeats, names: &Names) -> String {
    names.title_of(license).unwrap_or_else(|| short(license.id))
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
    let ((mut licenses, totals), error) = match query.find(view.clone(), &paging).await {
        Ok(found) => (found, FormError::default()),
        Err(error) => (Default::default(), FormError::of(error)?),
    };
    let pager = paging.pager(&mut licenses, |row| query.cursor(row));
    let names = licenses::names(view, &licenses).await?;
    let (layout, status) = (visitor.layout, error.status());
    let once = once();
    page(
        status,
        &LicensesPage { layout, query, catalog, licenses, names, totals, pager, error, once },
    )
}

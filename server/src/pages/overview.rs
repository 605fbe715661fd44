//! The overview: recent validations, and what needs attention.

mod charts;
mod steps;

use std::cmp::Reverse;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::TimeDelta;
use common::{
    HourStatistics, Key, License, LicenseWithSeats, SeatsTaken, Status, Timestamp, UserRefusal,
    Webhook, hour_of,
};
use form_urlencoded::byte_serialize;
use serde::Deserialize;

use self::charts::{Chart, Counts, Span};
use self::steps::{StepsPage, steps};
use super::keys::state;
use super::webhooks::state as webhook_state;
use super::{Layout, SeatsBar, Viewer, filters, page, refusals};
use crate::error::Error;
use crate::http::extract::Query;
use crate::ops::licenses::{LicenseQuery, Names};
use crate::ops::outcomes::RefusalFilter;
use crate::ops::view::View;
use crate::ops::{keys, licenses, outcomes, webhooks};
use crate::store::Page;

/// Number of rows in a card.
const SHOWN: usize = 8;
/// Number of the newest refusals that are read to find those to show.
const READ_REFUSALS: i64 = 200;
/// Number up to which the overview counts licenses.
const COUNTED: usize = 50;
/// Time before its end from which a license is shown.
const EXPIRES_SOON: TimeDelta = TimeDelta::days(30);
const HOURS: usize = 24;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    layout: Layout,
    /// None if there was no validation in seven days.
    validations: Option<Validations>,
    refusals: Vec<UserRefusal>,
    full: Licenses,
    expiring: Licenses,
    /// The query of the list of those.
    soon: String,
    names: Names,
    keys: Vec<Key>,
    /// Webhooks that need attention.
    webhooks: Vec<Webhook>,
}

/// The query of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct OverviewQuery {
    last: Span,
}

pub async fn show(
    Viewer(visitor): Viewer,
    Query(OverviewQuery { last }): Query<OverviewQuery>,
) -> Result<Response, Error> {
    let (view, now) = (visitor.view(), Timestamp::now());
    let hours = outcomes::statistics(view.clone(), Some(last.start(now)), Some(now)).await?.hours;
    let validations = Validations::of(visitor.layout.base(), &hours, last);
    if validations.is_none()
        && let Some(steps) = steps(view.clone()).await?
    {
        return page(StatusCode::OK, &StepsPage { layout: visitor.layout, steps });
    }
    let refusals = recent_refusals(view.clone(), now).await?;
    let counted = COUNTED as i64 + 1;
    let full = LicenseQuery { seats: Some((SeatsTaken::Full, now)), ..LicenseQuery::default() };
    let full = licenses::page(view.clone(), full, Page::newest_first(None, counted)).await?;
    let expiring = expiring(view.clone(), now, counted).await?;
    let (full, expiring) = (Licenses::of(full), Licenses::of(expiring));
    let shown = [&full.shown[..], &expiring.shown[..]].concat();
    let names = licenses::names(view.clone(), &shown).await?;
    let keys = keys::needing_attention(view.clone(), now, SHOWN as i64).await?;
    let mut webhooks = webhooks::all(view, &visitor.app.secrets, visitor.key.role).await?;
    webhooks.retain(Webhook::needs_attention);
    let layout = visitor.layout;
    let [from, to] = [now, now.plus(EXPIRES_SOON)].map(Timestamp::date);
    let soon = format!("from={from}&to={to}&status=active&trial=false");
    let shown =
        OverviewPage { layout, validations, refusals, full, expiring, soon, names, keys, webhooks };
    page(StatusCode::OK, &shown)
}

/// The refusals of the last hour, most frequent first, then earlier ones, newest first.
async fn recent_refusals(view: View, now: Timestamp) -> Result<Vec<UserRefusal>, Error> {
    let hour_ago = now.plus(-TimeDelta::hours(1));
    let newest = Page::newest_first(None, READ_REFUSALS);
    let mut found = outcomes::refusals(view, RefusalFilter::default(), newest).await?.records;
    found.sort_by_key(|refusal| {
        let last = refusal.last_at;
        Reverse(if last > hour_ago { (true, refusal.count, last) } else { (false, 0, last) })
    });
    found.truncate(SHOWN);
    Ok(found)
}

/// The active licenses that end soon, without trials, soonest first.
async fn expiring(view: View, now: Timestamp, limit: i64) -> Result<Vec<LicenseWithSeats>, Error> {
    let ends = Some((now, now.plus(EXPIRES_SOON)));
    let query = LicenseQuery {
        status: Some(Status::Active),
        ends,
        trial: Some(false),
        ..LicenseQuery::default()
    };
    licenses::by_end(view, query, None, limit).await
}

/// The results of validations.
struct Validations {
    /// In the last 24 hours.
    last: Counts,
    /// In the 24 hours before.
    before: Counts,
    chart: Chart,
}

impl Validations {
    /// `hours` begin with the start of the span and end with the current hour.
    fn of(base: String, hours: &[HourStatistics], span: Span) -> Option<Self> {
        if hours.iter().all(|hour| hour.total == 0) {
            return None;
        }
        let (earlier, last) = hours.split_at(hours.len() - HOURS);
        Some(Self {
            last: Counts::of(last),
            before: Counts::of(&earlier[earlier.len() - HOURS..]),
            chart: Chart::of(base, hours, span),
        })
    }

    /// The percentage that was valid, rounded down: 100 only if none was refused.
    fn share_valid(&self) -> Option<String> {
        let thousandths = (self.last.valid * 1000).checked_div(self.last.total())?;
        Some(format!("{}.{} %", thousandths / 10, thousandths % 10))
    }
}

/// Some licenses, and how many there are.
struct Licenses {
    shown: Vec<LicenseWithSeats>,
    count: String,
}

impl Licenses {
    /// Of at most one license more than [`COUNTED`].
    fn of(mut found: Vec<LicenseWithSeats>) -> Self {
        let count = match found.len() {
            count @ 0..=COUNTED => count.to_string(),
            _ => format!("{COUNTED}+"),
        };
        found.truncate(SHOWN);
        Self { shown: found, count }
    }
}

impl OverviewPage {
    /// The license's product and plan.
    fn terms(&self, license: &License) -> String {
        format!("{} · {}", self.names.product_of(license), self.names.plan_of(license))
    }

    /// The expiry of the key, if it is soon.
    fn near_end(&self, key: &Key) -> Option<Timestamp> {
        key.expires_at.filter(|end| end.since(Timestamp::now()) < keys::EXPIRES_SOON)
    }
}

/// The address of the refusals of the last 24 hours.
fn since_yesterday() -> String {
    let hour = hour_of(Timestamp::now()).plus(-TimeDelta::hours(HOURS as i64 - 1));
    refusals::link(&[("from", &hour.to_string())])
}

/// A text, encoded for a query.
fn encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

//! The page of a license.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use common::{Event, LicenseId, LicenseWithSeats, Status, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Badge, Layout, Mistake, Pager, Paging, SeatsBar, Viewer, Visitor, actor, changes, filters,
    last_day, page, short,
};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Id, Query};
use crate::ops::events::{self, EventQuery};
use crate::ops::licenses::{self, AssignedUser, Names, SeatHolder};
use crate::store::Page;

/// How many users each of the two lists shows.
const USERS: i64 = 20;

/// How many of its events the page shows.
const EVENTS: i64 = 10;

#[derive(Template)]
#[template(path = "license.html")]
struct LicensePage {
    layout: Layout,
    license: LicenseWithSeats,
    names: Names,
    seats: SeatsBar,
    seated: Users<SeatHolder>,
    waiting: Users<AssignedUser>,
    events: Vec<Event>,
    attempt: Attempt,
}

impl LicensePage {
    /// The address of the page, which those of its forms begin with.
    fn path(&self) -> String {
        format!("{}/licenses/{}", self.layout.base(), self.license.id)
    }
}

/// The query of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ShowQuery {
    /// The cursors of the two lists of users.
    holders: String,
    assigned: String,
}

/// What came of a form on this page: the mistake, and what it had in its fields.
#[derive(Default)]
pub struct Attempt {
    pub title: &'static str,
    pub mistake: Mistake,
    pub fields: Fields,
}

impl Attempt {
    /// An attempt that failed by a mistake of the visitor.
    pub fn failed(title: &'static str, error: Error) -> Result<Self, Error> {
        Ok(Self { title, mistake: Mistake::of(error)?, fields: Fields::default() })
    }
}

/// The fields of the forms on this page, of which each has some.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Fields {
    pub status: Option<String>,
    pub max_seats: Option<String>,
    /// The last valid day.
    pub expires_at: Option<String>,
    /// One in each line.
    pub features: Option<String>,
    /// The external id of a user.
    pub user_id: Option<String>,
    /// The page that the form leads back to, if it is another one.
    pub back: String,
    /// What was asked before, and answered yes.
    pub confirmed: String,
}

impl Fields {
    pub fn is_confirmed(&self) -> bool {
        !self.confirmed.is_empty()
    }

    /// The same, with this confirmed.
    pub fn confirmed(&self, what: &str) -> Self {
        Self { confirmed: what.to_owned(), ..self.clone() }
    }

    /// A path behind the mode: the one that the form names, or the license's own.
    pub fn way_back(&self, id: LicenseId) -> String {
        let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
        if self.back.starts_with('/') && self.back.bytes().all(is_path) {
            self.back.clone()
        } else {
            format!("/licenses/{id}")
        }
    }
}

/// A page of users, newest first.
struct Users<T> {
    rows: Vec<T>,
    pager: Pager,
    is_newest: bool,
}

impl<T> Users<T> {
    /// Of rows of which one more than [`USERS`] was read.
    fn of(
        mut rows: Vec<T>,
        cursor: impl Fn(&T) -> String,
        before: &str,
        paging: Paging<'_>,
    ) -> Self {
        let pager = Pager::of(&mut rows, cursor, before, Paging { rows: USERS, ..paging });
        Self { rows, pager, is_newest: before.is_empty() }
    }
}

pub async fn get(
    State(app): State<App>,
    Viewer(visitor): Viewer,
    Id(id): Id<LicenseId>,
    Query(query): Query<ShowQuery>,
) -> Result<Response, Error> {
    show(&app, visitor, id, &query, Attempt::default()).await
}

pub async fn show(
    app: &App,
    visitor: Visitor,
    id: LicenseId,
    query: &ShowQuery,
    mut attempt: Attempt,
) -> Result<Response, Error> {
    let view = app.ops.view(visitor.scope);
    let license = licenses::get(view.clone(), id).await?;
    let names = licenses::names(view.clone(), std::slice::from_ref(&license)).await?;
    let ShowQuery { holders, assigned } = query;
    let newest = Page::newest_first(holders.parse().ok(), USERS + 1);
    let found = licenses::holders(view.clone(), id, newest).await?;
    let cursor = |holder: &SeatHolder| holder.activation_id.to_string();
    let others = &[("assigned", assigned.as_str())];
    let place = Some(("seats", "holders"));
    let paging = Paging { cursor: "holders", place, others, ..Paging::default() };
    let seated = Users::of(found, cursor, holders, paging);
    let newest = Page::newest_first(assigned.parse().ok(), USERS + 1);
    let found = licenses::waiting(view.clone(), id, newest).await?;
    let cursor = |user: &AssignedUser| user.assignment_id.to_string();
    let others = &[("holders", holders.as_str())];
    let place = Some(("waiting", "users without a seat"));
    let paging = Paging { cursor: "assigned", place, others, ..Paging::default() };
    let waiting = Users::of(found, cursor, assigned, paging);
    let of_license = EventQuery { subject: Some(id.to_string()), ..EventQuery::default() };
    let events = events::page(view, of_license, Page::newest_first(None, EVENTS)).await?;
    fill_in(&mut attempt.fields, &license);
    let (layout, seats) = (visitor.layout, SeatsBar::of(&license.seats));
    let status = attempt.mistake.status();
    page(status, &LicensePage { layout, license, names, seats, seated, waiting, events, attempt })
}

/// Fills in the terms of the license where no form was sent.
fn fill_in(fields: &mut Fields, license: &LicenseWithSeats) {
    let text = |value: Option<String>| move || value.unwrap_or_default();
    fields.max_seats.get_or_insert_with(text(license.max_seats.map(|limit| limit.to_string())));
    fields.expires_at.get_or_insert_with(text(license.expires_at.map(last_day)));
    let features: Vec<_> = license.features.iter().map(|feature| feature.as_str()).collect();
    fields.features.get_or_insert_with(|| features.join("\n"));
}

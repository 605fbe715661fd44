//! The page of a license.

use askama::Template;
use askama::filters::HtmlSafe;
use axum::response::Response;
use common::{
    Event, ExpiresInDays, LicenseDetails, LicenseId, LicenseKey, LicenseWithSeats, Name, RenewFrom,
    RenewLicense, Status, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::affected::refused_users;
use crate::error::Error;
use crate::http::extract::{Id, Query};
use crate::ops::events::{self, EventQuery};
use crate::ops::licenses::{self, AssignedUser, Names, SeatHolder};
use crate::ops::view::View;
use crate::ops::{license_keys, plans};
use crate::pages::catalog::Catalog;
use crate::pages::event_line::{actor, changes};
use crate::pages::filters::{day, end_in_words, last_day_in_words};
use crate::pages::terms::TermFields;
use crate::pages::{
    Badge, FormState, Layout, Pager, Paging, SeatsBar, Viewer, Visitor, counted, filters, last_day,
    once, page, short,
};
use crate::store::Page;

/// Maximum number of users in each of the two lists.
const USERS: i64 = 20;

/// Number of events that the page shows.
const EVENTS: i64 = 3;

#[derive(Template)]
#[template(path = "license.html")]
struct LicensePage {
    layout: Layout,
    license: LicenseWithSeats,
    names: Names,
    /// The plans that it may get, for who may act.
    catalog: Catalog,
    seats: SeatsBar,
    holders: Vec<SeatHolder>,
    holders_pager: Pager,
    waiting: Vec<AssignedUser>,
    waiting_pager: Pager,
    keys: Vec<LicenseKey>,
    keys_pager: Pager,
    events: Vec<Event>,
    /// Sentence about the users who are refused if the license stops being valid.
    refused_users: String,
    renewals: Vec<Renewal>,
    /// The action that a refused form did not perform.
    title: &'static str,
    form: FormState<Fields>,
}

impl LicensePage {
    /// The address of the page, with which those of its forms begin.
    fn path(&self) -> String {
        format!("{}/licenses/{}", self.layout.base(), self.license.id)
    }

    /// Until when a lease holds the seat.
    fn offline_until(&self, holder: &SeatHolder) -> Option<Timestamp> {
        holder.leased_until.filter(|until| Timestamp::now() < *until)
    }

    /// A link to a user: by name, with the id next to it, or by the id.
    fn user_link<'a>(&self, user: &'a AssignedUser) -> UserLink<'a> {
        UserLink { base: self.layout.base(), user }
    }

    /// The names and values of the metadata. Texts stand without quotes.
    fn metadata(&self) -> Vec<(String, String)> {
        let Ok(Value::Object(members)) = serde_json::to_value(&self.license.metadata) else {
            return Vec::new();
        };
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        members.into_iter().map(|(name, value)| (name, text(value))).collect()
    }

    fn in_grace_until(&self) -> Option<Timestamp> {
        let LicenseDetails { license, terms, .. } = &self.license.details;
        license.in_grace_until(terms, Timestamp::now())
    }
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if let Some(name) = user.name -%}
        <a href="{{ base }}/users/{{ user.user_id }}"><bdi>{{ name }}</bdi></a> <small class="quiet">{{ user.external_id }}</small>
        {%- else -%}<a href="{{ base }}/users/{{ user.user_id }}">{{ user.external_id }}</a>{%- endif %}"#
)]
struct UserLink<'a> {
    base: String,
    user: &'a AssignedUser,
}

impl HtmlSafe for UserLink<'_> {}

/// The query of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ShowQuery {
    /// The cursors of the two lists of users.
    holders: String,
    assigned: String,
    /// The cursor of the list of keys.
    keys: String,
}

/// The fields of the forms on this page. Each form has some of them.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Fields {
    pub name: Option<String>,
    pub status: Option<String>,
    pub max_seats: Option<String>,
    /// The last valid day.
    pub expires_at: Option<String>,
    #[serde(flatten)]
    pub terms: TermFields,
    /// One per line.
    pub features: Option<String>,
    /// The external id of a user.
    pub user_id: Option<String>,
    /// The external id of the user who gets the seat of that one.
    pub to_user_id: Option<String>,
    /// The plan that the license is to have.
    pub plan_id: String,
    /// Start of the term of a renewal, as in the API.
    pub from: String,
    /// The path of the page to return to, if the form is on another one.
    pub back: String,
    /// Time of the license's last change when the form was shown. A question passes it on.
    pub seen: String,
    /// The questions that the visitor has confirmed.
    pub confirmed: String,
}

impl Fields {
    pub fn is_confirmed(&self) -> bool {
        !self.confirmed.is_empty()
    }

    /// Whether this question about the terms was confirmed. There may be several, one by one.
    pub fn confirms(&self, question: &str) -> bool {
        self.confirmed.split(' ').any(|confirmed| confirmed == question)
    }

    pub fn also_confirmed(&self, question: &str) -> Self {
        self.confirmed(&format!("{} {question}", self.confirmed))
    }

    /// Returns the fields with this value confirmed.
    pub fn confirmed(&self, what: &str) -> Self {
        Self { confirmed: what.to_owned(), ..self.clone() }
    }

    /// The path, behind the mode, that the form names, or the license's own.
    pub fn path_back(&self, id: LicenseId) -> String {
        let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
        if self.back.starts_with('/') && self.back.bytes().all(is_path) {
            self.back.clone()
        } else {
            format!("/licenses/{id}")
        }
    }
}

pub async fn get(
    Viewer(visitor): Viewer,
    Id(id): Id<LicenseId>,
    Query(query): Query<ShowQuery>,
) -> Result<Response, Error> {
    show(visitor, id, query, "", FormState::default()).await
}

/// Shows the license; `title` says what the form did not do, if it was refused.
pub async fn show(
    visitor: Visitor,
    id: LicenseId,
    query: ShowQuery,
    title: &'static str,
    mut form: FormState<Fields>,
) -> Result<Response, Error> {
    let view = visitor.view();
    let license = licenses::get(view.clone(), id).await?;
    let names = licenses::names(view.clone(), std::slice::from_ref(&license)).await?;
    let ShowQuery { holders, assigned, .. } = &query;
    let others = &[("assigned", assigned.as_str())];
    let place = Some(("seats", "holders"));
    let labels = ["Newest holders", "Older holders"];
    let paging =
        Paging { parameter: "holders", rows: USERS, place, labels, others, ..Paging::new(holders) };
    let mut holders = licenses::holders(view.clone(), id, paging.page()).await?;
    let holders_pager = paging.pager(&mut holders, |holder| holder.activation_id);
    let others = &[("holders", query.holders.as_str())];
    let place = Some(("waiting", "users without a seat"));
    let labels = ["Newest without a seat", "Older without a seat"];
    let first = Paging::new(assigned);
    let paging = Paging { parameter: "assigned", rows: USERS, place, labels, others, ..first };
    let mut waiting = licenses::waiting(view.clone(), id, paging.page()).await?;
    let waiting_pager = paging.pager(&mut waiting, |user| user.assignment_id);
    let place = Some(("keys", "license keys"));
    let others = &[("holders", query.holders.as_str()), ("assigned", query.assigned.as_str())];
    let paging =
        Paging { parameter: "keys", rows: USERS, place, others, ..Paging::new(&query.keys) };
    let mut keys = license_keys::of_license(view.clone(), id, paging.page()).await?;
    let keys_pager = paging.pager(&mut keys, |key| key.id);
    let of_license = EventQuery { subject: Some(id.to_string()), ..EventQuery::default() };
    let events = events::page(view.clone(), of_license, Page::newest_first(None, EVENTS)).await?;
    // Who may not act sees no form that says it.
    let (refused_users, renewals, catalog) = match visitor.layout.may_act() {
        true => (
            refused_users(view.clone(), &license).await?,
            renewals(view.clone(), &license).await?,
            Catalog::read(&view).await?,
        ),
        false => Default::default(),
    };
    fill_in(&mut form.fields, &license);
    let status = form.error.status();
    let shown = LicensePage {
        layout: visitor.layout,
        seats: SeatsBar::of(&license.seats),
        license,
        names,
        catalog,
        holders,
        holders_pager,
        waiting,
        waiting_pager,
        keys,
        keys_pager,
        events,
        refused_users,
        renewals,
        title,
        form,
    };
    page(status, &shown)
}

/// A renewal that the page offers.
struct Renewal {
    /// As in the API: empty for the usual one.
    from: &'static str,
    label: String,
}

/// The usual renewal by the plan's term and, for a license that has ended, one from the old end.
async fn renewals(view: View, license: &LicenseWithSeats) -> Result<Vec<Renewal>, Error> {
    let Some(days) = plans::get(view, license.plan_id).await?.expires_in_days else {
        return Ok(Vec::new());
    };
    let now = Timestamp::now();
    let renewal = |from: Option<RenewFrom>| {
        let request = RenewLicense { from, term: None };
        let end = licenses::renewed_end(license, request, Some(days), now).ok()?;
        let through = last_day_in_words(end);
        let (from, label) = match from {
            Some(_) => ("end", format!("Renew from the old end, through {through}")),
            None => ("", format!("Renew {}, through {through}", term_in_words(days))),
        };
        Some((end, Renewal { from, label }))
    };
    let usual = renewal(None);
    let late = renewal(Some(RenewFrom::End));
    let late = late.filter(|(end, _)| usual.as_ref().is_some_and(|(usual, _)| end != usual));
    Ok(usual.into_iter().chain(late).map(|(_, renewal)| renewal).collect())
}

/// `1 year`, `30 days`.
pub fn term_in_words(days: ExpiresInDays) -> String {
    match days.get() {
        days if days % 365 == 0 => counted(days / 365, "year"),
        days => counted(days, "day"),
    }
}

/// Fills in the terms of the license, but for fields that were sent.
fn fill_in(fields: &mut Fields, license: &LicenseWithSeats) {
    let text = |value: Option<String>| move || value.unwrap_or_default();
    fields.name.get_or_insert_with(text(license.name.as_ref().map(Name::to_string)));
    fields.max_seats.get_or_insert_with(text(license.max_seats.map(|limit| limit.to_string())));
    fields.expires_at.get_or_insert_with(text(license.expires_at.map(last_day)));
    fields.terms.fill_in(&license.terms);
    if fields.plan_id.is_empty() {
        fields.plan_id = license.plan_id.to_string();
    }
    let features: Vec<_> = license.features.iter().map(|feature| feature.as_str()).collect();
    fields.features.get_or_insert_with(|| features.join("\n"));
}

//! The refused validations, newest first, with filters that other pages link to.

use askama::Template;
use axum::response::Response;
use common::{Reason, Timestamp, UserRefusal};
use form_urlencoded::Serializer;
use serde::Deserialize;

use super::catalog::Catalog;
use super::{Chip, FormError, Layout, Pager, Paging, Viewer, filters, optional, page, words};
use crate::error::Error;
use crate::http::extract::Query;
use crate::ops::outcomes::{self, RefusalFilter};
use crate::store::Found;

#[derive(Template)]
#[template(path = "refusals.html")]
struct RefusalsPage {
    layout: Layout,
    query: ListQuery,
    catalog: Catalog,
    chips: Vec<Chip>,
    refusals: Vec<UserRefusal>,
    pager: Pager,
    error: FormError,
}

/// The query of the list. An empty filter matches everything.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    reason: String,
    /// A time, or one to the minute in UTC, as a form has it.
    from: String,
    to: String,
    product: String,
    plan: String,
    license: String,
    /// The external id of a user.
    user: String,
    before: String,
}

impl ListQuery {
    fn read(&self) -> Result<RefusalFilter, Error> {
        Ok(RefusalFilter {
            user: (!self.user.is_empty()).then(|| self.user.clone()),
            reason: optional("reason", "The reason", &self.reason)?,
            from: time("from", "The start", &self.from)?,
            to: time("to", "The end", &self.to)?,
            product: id(&self.product),
            plan: id(&self.plan),
            license: id(&self.license),
        })
    }

    fn fields(&self) -> [(&str, &str); 7] {
        [
            ("reason", &self.reason),
            ("from", &self.from),
            ("to", &self.to),
            ("product", &self.product),
            ("plan", &self.plan),
            ("license", &self.license),
            ("user", &self.user),
        ]
    }

    fn is_filtered(&self) -> bool {
        self.fields().iter().any(|(_, value)| !value.is_empty())
    }
}

fn time(field: &str, label: &str, text: &str) -> Result<Option<Timestamp>, Error> {
    let text = text.trim();
    let is_to_the_minute = text.len() == "2027-01-31T12:00".len();
    let whole = if is_to_the_minute { format!("{text}:00Z") } else { text.to_owned() };
    optional(field, label, &whole)
}

/// No refusal belongs to a malformed id.
fn id<T: std::str::FromStr + Default>(text: &str) -> Option<T> {
    (!text.is_empty()).then(|| text.trim().parse().unwrap_or_default())
}

pub async fn list(
    Viewer(visitor): Viewer,
    Query(query): Query<ListQuery>,
) -> Result<Response, Error> {
    let view = visitor.view();
    let catalog = Catalog::read(&view).await?;
    let fields = query.fields();
    let paging = Paging { others: &fields, ..Paging::new(&query.before) };
    let list = format!("{}/refusals", visitor.layout.base());
    let of = [("User", "user"), ("License", "license")];
    let chips = Chip::all(&view, &list, &fields, of).await?;
    let found = async { outcomes::refusals(view, query.read()?, paging.page()).await };
    let (mut found, error) = match found.await {
        Ok(found) => (found, FormError::default()),
        Err(error) => (Found { records: Vec::new(), rest: None }, FormError::of(error)?),
    };
    let pager = paging.pager_of(&mut found, |refusal| refusal.id);
    let (layout, refusals, status) = (visitor.layout, found.records, error.status());
    page(status, &RefusalsPage { layout, query, catalog, chips, refusals, pager, error })
}

/// The address of this page with some filters, behind that of the mode.
pub fn link(filters: &[(&str, &str)]) -> String {
    format!("/refusals?{}", Serializer::new(String::new()).extend_pairs(filters).finish())
}

/// The time as the form has it.
fn minute(text: &str) -> &str {
    text.get(..16).unwrap_or(text)
}

/// The query that finds the user, who may have been deleted.
fn user_query(refusal: &UserRefusal) -> String {
    Serializer::new(String::new()).append_pair("q", refusal.user_id.as_str()).finish()
}

/// The reason in words; one of a later release as it is.
pub fn reason(refusal: &UserRefusal) -> String {
    refusal.reason.known().map_or_else(|| refusal.reason.to_string(), |it| words(it).to_owned())
}

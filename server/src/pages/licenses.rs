//! Licenses: the list, the form for a new one, and the page of each with its forms.

mod catalog;
mod change;
mod list;
mod new;
mod show;

pub use change::{assign, set_expiry, set_features, set_limit, set_status, unassign};
pub use list::list;
pub use new::{create, new};
pub use show::get;

use common::{ExternalId, License};

use super::filters;
use super::form::{Mistake, day, once, optional, required};
use super::html::page;
use super::layout::{Layout, Notice};
use super::parts::{Badge, Pager, ROWS, SeatsBar, short};
use super::visitor::{Editor, Viewer, Visitor};
use crate::error::Error;
use crate::ops::licenses::Names;

/// The user whom a form names, exactly as it is written: two that differ in a space are two.
fn external_id(field: &str, text: &str) -> Result<ExternalId, Error> {
    text.parse().map_err(|rule| Error::invalid(field, format!("The external id {rule}.")))
}

/// The lines of a text area, without the empty ones.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty())
}

/// The name of the license's product.
fn product_of<'a>(names: &'a Names, license: &License) -> &'a str {
    names.products.get(&license.product_id).map_or("", |name| name.as_str())
}

/// The name of the license's plan.
fn plan_of<'a>(names: &'a Names, license: &License) -> &'a str {
    names.plans.get(&license.plan_id).map_or("", |name| name.as_str())
}

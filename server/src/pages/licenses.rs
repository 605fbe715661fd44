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

use super::event_line::actor;
use super::fields::{
    created_before, end_of_day, external_id, features, last_day, lines, once, optional, required,
};
use super::filters;
use super::form::Mistake;
use super::html::page;
use super::layout::{Layout, Notice};
use super::parts::{Badge, Pager, Paging, ROWS, SeatsBar, short};
use super::visitor::{Editor, Viewer, Visitor};

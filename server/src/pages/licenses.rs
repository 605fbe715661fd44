//! Licenses: the list, the form for a new one, and the page of each with its forms.

mod change;
mod list;
mod new;
mod questions;
mod show;

pub use change::{
    assign, notice_of_assignment, set_expiry, set_features, set_limit, set_status, unassign,
};
pub use list::list;
pub use new::{create, new};
pub use show::get;

use super::catalog;
use super::event_line::{actor, changes};
use super::fields::{
    all, created_before, end_of_day, external_id, features, last_day, once, optional, required,
};
use super::filters;
use super::form::Mistake;
use super::html::page;
use super::layout::{Done, Layout, Notice};
use super::meanwhile;
use super::parts::{Badge, Pager, Paging, ROWS, SeatsBar, short};
use super::question::Question;
use super::typed_users;
use super::visitor::{Editor, Viewer, Visitor};

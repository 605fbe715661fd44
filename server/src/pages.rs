//! The dashboard: keys, licenses and everything else in a browser. A page's handler reads the
//! request, calls the operations that the API calls too, and renders a template; no rule is decided
//! here.
//!
//! Pages are forms and links, and all of it works without script. A page shows what was read for this
//! request; the browser keeps nothing but the session's cookie.

pub mod assets;
mod catalog;
pub mod delete;
mod edit_conflict;
mod errors;
mod event_line;
pub mod events;
mod fields;
mod filters;
mod form;
mod html;
pub mod keys;
mod layout;
mod leases;
pub mod licenses;
pub mod numbers;
pub mod overview;
mod paging;
mod parts;
pub mod plans;
pub mod products;
mod question;
pub mod refusals;
pub mod sign_in;
mod terms;
mod user_lookup;
pub mod users;
mod visitor;
pub mod webhooks;

pub use errors::{form_opened, refuse_cross_site, render};
pub use visitor::{Viewer, front_door, home};

// What most pages are made of.
use fields::{
    LeaseTime, all, cleared, email, end_of_day, given, last_day, once, optional, required,
};
use form::{FormError, FormState, Stop};
use html::page;
use layout::{Done, Layout, Notice};
use paging::{Before, Pager, Paging};
use parts::{Badge, Chip, OVERLAPS, SeatsBar, Tone, counted, pattern, short, words};
use question::Question;
use visitor::{Editor, Visitor};

//! The dashboard: keys, licenses and all else in a browser. A page's handler reads the request, calls
//! the operations that the API calls too, and fills in a template; no rule is decided here.
//!
//! Pages are forms and links, and all of it works without script. What a page shows was read for
//! this request; nothing is kept but the session's cookie in the browser.

pub mod assets;
mod catalog;
mod errors;
mod event_line;
pub mod events;
mod fields;
mod filters;
mod form;
mod html;
pub mod keys;
mod layout;
pub mod licenses;
mod meanwhile;
pub mod overview;
mod parts;
pub mod plans;
pub mod products;
mod question;
pub mod sign_in;
mod typed_users;
pub mod users;
mod visitor;

pub use errors::{form_opened, refuse_cross_site, render};
pub use sign_in::SignInLimit;
pub use visitor::{Viewer, front_door, home};

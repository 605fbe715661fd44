//! Licenses: the list, the form for a new one, and the page of each with its forms.

mod affected;
mod change;
mod export;
pub mod keys;
mod list;
mod new;
mod questions;
mod renew;
mod save;
mod show;

pub use change::{change, notice_of_assignment};
pub use export::export;
pub use list::list;
pub use new::{create, new};
pub use renew::renew;
pub use show::{get, term_in_words};

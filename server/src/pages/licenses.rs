//! Licenses: the list, the form for a new one, and the page of each with its forms.

mod affected;
mod change;
pub mod keys;
mod list;
mod new;
mod questions;
mod save;
mod show;

pub use change::{change, notice_of_assignment};
pub use list::list;
pub use new::{create, new};
pub use show::get;

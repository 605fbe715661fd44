//! The harness: a running licd, callers with keys of every kind, and their answers.

mod answer;
mod app;
mod browser;
mod caller;
mod contract;
mod database;
mod visitor;
mod waiting;
mod words;

pub use answer::Answer;
pub use app::{App, SECRET_KEY, new_secret_key};
pub use browser::Browser;
pub use caller::{Caller, client};
pub use database::{TestDatabase, catalog};
pub use visitor::{Visitor, cookie_of};
pub use waiting::{clock_passes, find, until, until_within};

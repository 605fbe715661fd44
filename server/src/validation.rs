//! The decision, and the fast way to it.
//!
//! [`verdict`] decides and knows neither SQL nor time; `batch` reads, decides and writes for many
//! requests at once, once `desk` has looked at their keys; `explain` puts the decision into words
//! and has no effect.

mod batch;
mod desk;
mod explain;
mod places;
pub mod verdict;

pub use desk::{Answer, Question, answer};
pub use explain::explain;
pub use places::{Lane, Places};

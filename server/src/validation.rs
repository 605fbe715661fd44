//! The decision, and the fast way to it.
//!
//! [`verdict`] decides and knows neither SQL nor time; `batch` reads, decides and writes for many
//! requests at once; `explain` puts the decision into words and has no effect.

mod batch;
mod explain;
pub mod verdict;

pub use batch::{Answer, Ask, UnknownProduct, answer};
pub use explain::explain;

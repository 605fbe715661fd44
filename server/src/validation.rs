//! The decision, and the fast way to it.
//!
//! [`verdict`] decides and knows neither SQL nor time; `batch` reads, decides and writes for many
//! requests in one transaction; [`Validator`] is the queue in which they gather.

mod batch;
mod explain;
mod queue;
pub mod verdict;

pub use batch::Ask;
pub use explain::explain;
pub use queue::Validator;

//! Validations: the decision, and the batches that make it fast.
//!
//! [`verdict`] decides and knows neither SQL nor time; `batch` reads, decides and writes for many
//! requests at once, once `admission` has checked their keys.

pub mod admission;
mod batch;
pub mod gate;
pub mod last_uses;
pub mod limit;
mod outcome;
pub mod outcome_counts;
mod placements;
pub mod queue;
mod request;
pub mod verdict;

pub use admission::answer;
pub use last_uses::LastUses;
pub use outcome::Answer;
pub use outcome_counts::OutcomeCounts;
pub use request::ValidationRequest;

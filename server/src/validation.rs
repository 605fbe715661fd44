//! Validations: the decision, and the batches that make it fast.
//!
//! [`verdict`] decides and knows neither SQL nor time. `reading` decides for many requests at once
//! and writes nothing; what needs a new user or a seat comes to `claims`. What happens with every
//! validation, but need not be on disk with its answer, is noted in memory: [`last_checks`],
//! [`last_uses`] and [`outcome_counts`].

mod batch;
mod claims;
pub mod gate;
pub mod last_checks;
pub mod last_uses;
pub mod limit;
pub mod outcome_counts;
mod placements;
pub mod queue;
mod reading;
mod request;
pub mod verdict;

pub use batch::{Answer, Validator};
pub use claims::Claim;
pub use last_checks::LastChecks;
pub use last_uses::LastUses;
pub use outcome_counts::OutcomeCounts;
pub use reading::Read;
pub use request::ValidationRequest;

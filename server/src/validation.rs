//! Validations: the decision, and the batches that make it fast.
//!
//! [`verdict`] makes the decision, without SQL or a clock. `reading` decides many requests together
//! and writes nothing; requests that need a new user or a seat go on to `claims`. Whatever every
//! validation leaves behind that need not be on disk before its response is collected in memory:
//! [`last_checks`] and [`outcome_counts`].

mod batch;
mod claims;
mod given;
pub mod idle;
pub mod last_checks;
pub mod outcome_counts;
pub mod queue;
mod reading;
mod request;
pub mod verdict;

pub use batch::{ValidationResult, Validator};
pub use claims::Claim;
pub use given::{Given, Settled};
pub use last_checks::LastChecks;
pub use outcome_counts::OutcomeCounts;
pub use reading::Read;
pub use request::ValidationRequest;

//! Validations: the decision, and the batches that make it fast.
//!
//! [`verdict`] makes the decision, without SQL or a clock. `reading` decides many requests together
//! and writes nothing. Requests that need a new user or a seat go on to `claims`. Data that need
//! not be on disk before the response is collected in memory: [`last_checks`] and
//! [`outcome_counts`].

mod batch;
mod claims;
pub mod idle;
pub mod last_checks;
pub mod outcome_counts;
pub mod queue;
mod reading;
mod request;
mod seat_changes;
pub mod verdict;
mod worlds;

pub use batch::{BatchValidator, ValidationResult};
pub use claims::Claim;
pub use last_checks::LastChecks;
pub use outcome_counts::OutcomeCounts;
pub use reading::Read;
pub use request::ValidationRequest;
pub use seat_changes::{SeatChanges, UserOutcome};

//! The handlers, one file for each resource. They translate: from the caller, the path, the query
//! and the body to one call of `ops`, and from its outcome to an answer.

pub mod events;
pub mod explain;
pub mod health;
pub mod keys;
pub mod licenses;
pub mod metrics;
pub mod plans;
pub mod products;
pub mod reference;
pub mod refusals;
pub mod statistics;
pub mod usage;
pub mod users;
pub mod validate;

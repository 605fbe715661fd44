//! What can be done, without HTTP and without SQL text.

pub mod idempotency;
pub mod readiness;
pub mod tenants;

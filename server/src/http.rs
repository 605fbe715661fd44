//! HTTP below the routes: connections, and what a request's head must be before it is routed.

pub mod connections;
pub mod head;

pub use connections::{ClientAddress, ConnectionLimits};

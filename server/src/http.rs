//! HTTP below the routes: connections.

pub mod connections;

pub use connections::{ClientAddress, ConnectionLimits};

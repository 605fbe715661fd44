//! What every request shares: connections, the context of a request, credentials, extractors,
//! answers, and the OpenAPI document.

pub mod answer;
pub mod budget;
pub mod connections;
pub mod context;
pub mod credentials;
pub mod extract;
pub mod head;
pub mod newest_first;
pub mod openapi;

pub use connections::{ClientAddress, ConnectionLimits};

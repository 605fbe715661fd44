//! Parts that every request shares: connections, the client and the context of a request,
//! credentials, extractors, answers, and the OpenAPI document.

pub mod answer;
mod app;
mod client;
pub mod connections;
pub mod context;
pub mod credentials;
mod error;
pub mod extract;
pub mod head;
pub mod idempotency;
pub mod if_match;
pub mod json;
pub mod newest_first;
pub mod openapi;
mod tls;
pub mod waiting;
pub mod writer;

pub use app::{App, Parts};
pub use client::{Client, TrustedProxies};
pub use connections::ConnectionLimits;
pub use tls::{Tls, TlsError};

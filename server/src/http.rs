//! The connections that requests come over.

use std::net::SocketAddr;

/// The address that a connection came from. It stands in the extensions of each of its requests.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub SocketAddr);

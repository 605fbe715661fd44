//! The bounds of connections that a test shortens; everybody else takes the default.

use std::time::Duration;

/// What bounds connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// How many there may be at once, at least 1. None for as many as the limit on open files has
    /// room for, and at most 8192.
    pub max_connections: Option<usize>,
    /// How long a request's head may take to arrive, from its first byte on, or from the beginning
    /// of the connection.
    pub head_timeout: Duration,
    /// How long a connection is kept alive between two requests.
    pub idle_timeout: Duration,
    /// Each time this has passed while a client does not take all that it is sent, it must have
    /// taken 64 KiB.
    pub write_timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: None,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(20),
        }
    }
}

//! Clients that hold connections in silence, send slowly, never read, pipeline or break the rules of
//! HTTP. Each is bounded, none stops the service for others, and each refusal has the usual shape.

mod bound;
mod protocol;
pub mod slow;
mod stop;
pub mod wire;

use licd::config::Config;
use licd::http::ConnectionLimits;

use crate::harness::App;

/// A licd with these bounds on connections.
async fn start(connections: ConnectionLimits) -> App {
    App::with(Config { connections, ..Config::default() }).await
}

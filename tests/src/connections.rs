//! What clients do to connections: hold them in silence, dribble, never read, pipeline, break the
//! rules of HTTP. Each is bounded, none stops the service for others, and each refusal has the
//! shape that all refusals have.

mod bound;
mod protocol;
mod slow;
mod stop;
mod wire;

use licd::config::Config;
use licd::http::ConnectionLimits;

use crate::harness::App;

/// A licd with these bounds on connections.
async fn start(connections: ConnectionLimits) -> App {
    App::with(Config { connections, ..Config::default() }).await
}

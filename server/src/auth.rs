//! Authentication and rates: [`gate`] checks the key of each request, [`limit`] limits the rate of
//! keys and addresses, [`last_uses`] records when a key was used, and `queue_hints` the lane in
//! which it waits.

pub mod gate;
pub mod last_uses;
pub mod limit;
mod queue_hints;
mod sign_in_limit;
mod wrong_keys;

pub use queue_hints::Placement;
pub use sign_in_limit::SignInLimit;
pub use wrong_keys::WrongKeys;

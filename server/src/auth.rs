//! Who a caller is and what it may do: [`gate`] checks the key of each request, [`limit`] how often a
//! key and an address may try, [`last_uses`] notes when a key was used, and `queue_hints` in whose
//! turn it waits.

pub mod gate;
pub mod last_uses;
pub mod limit;
mod queue_hints;
mod sign_in_limit;
mod wrong_keys;

pub use queue_hints::Placement;
pub use sign_in_limit::SignInLimit;
pub use wrong_keys::WrongKeys;

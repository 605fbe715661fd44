//! Webhooks leave here: to which addresses, in which form, when, and what follows from the answer.

pub mod addresses;
pub mod client;
pub mod connect;
mod lookups;
mod portion;
mod schedule;
pub mod sender;
pub mod settle;
mod trials;
mod turn;

pub use turn::message;

//! Webhooks leave here: to which addresses, in which form, when, and what follows from the answer.

pub mod addresses;
pub mod client;
pub mod connect;
pub mod signature;

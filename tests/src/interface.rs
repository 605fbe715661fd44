//! The specification, section by section and row by row, with the project's decisions where it is
//! silent. The name of a test, or the comment above it, names the row.

mod assignments;
mod deletion;
mod etags;
mod event_lists;
mod events;
mod explain;
mod forget;
mod health;
mod key_makers;
mod keys;
mod license_lists;
mod license_search;
mod licenses;
mod metadata;
mod numbers;
mod outcomes;
mod plans;
mod products;
mod reference;
mod refused;
mod renames;
mod renewals;
mod seats;
mod statistics;
mod status;
mod transfer;
mod usage;
mod user_search;
mod users;
mod validate;

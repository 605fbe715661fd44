//! The specification, section by section and row by row, with what the project decided where it is
//! silent. The name of a test, or the comment above it, says which row it is about.

mod assignments;
mod explain;
mod health;
mod keys;
mod licenses;
mod outcomes;
mod plans;
mod products;
mod refused;
mod seats;
mod statistics;
mod status;
mod usage;
mod users;
mod validate;

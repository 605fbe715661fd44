//! Black-box tests of licd and licctl.
//!
//! Every test has a licd of its own, on a database of its own: an SQLite file or, if
//! `LICD_TEST_DATABASE_URL` names a PostgreSQL server, a fresh database there. `tests/run` runs all
//! tests on SQLite, and on PostgreSQL those that depend on the database. The client of `harness`
//! checks every response against the OpenAPI document, so every test is a test of that document too.
//!
//! [tests/README.md](../README.md) finds the test of a behaviour.

#![cfg(test)]

mod backup;
mod batches;
mod book;
mod checks;
mod clocks;
mod cluster;
mod connections;
mod copy;
mod crashes;
mod dashboard;
mod doctor;
mod faults;
mod harness;
mod host;
mod idempotency;
mod interface;
mod journey;
mod leases;
mod license_keys;
mod lists;
mod log;
mod metrics;
mod migrate;
mod model;
mod neighbours;
mod nodes;
mod notices;
mod operations;
mod overload;
mod pages;
mod plans;
mod proxies;
mod races;
mod refusals;
mod secrets;
mod sessions;
mod sharding;
mod shut_out;
mod signing_keys;
mod tenants;
mod terms;
mod tidy;
mod tls;
mod webhooks;
mod worlds;

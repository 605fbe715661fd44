//! licd and licctl from outside, as their users meet them.
//!
//! Every test has a licd of its own, on a database of its own: an SQLite file, or, when
//! `LICD_TEST_DATABASE_URL` names a PostgreSQL server, a fresh database there. `tests/run` runs all
//! of this once on each. What passes through the client of `harness` is checked against the
//! OpenAPI document on the way, so that every test is a test of that document too.
//!
//! `interface` is the specification row by row, `refusals` what is said no to, `lists` many
//! records, `worlds` what tenants and modes keep from each other, `batches` what is answered
//! together, `races` many callers and nodes at once, `neighbours` tenants beside a greedy one,
//! `model` random calls of which every answer must be explained, `clocks` nodes whose clocks
//! disagree, `connections` what clients do below the interface, `crashes` processes that end and
//! begin, `faults` disks that fail, `log` a log that cannot be written, `host` the commands of
//! `licd`, and `tidy` the rules that the sources keep. `plans` is how
//! PostgreSQL finds its rows, `copy`, `backup` and `migrate` are the commands that move whole
//! databases, `journey` is licctl with all of it, `nodes` several processes
//! on one database, and `cluster` what happens when PostgreSQL itself goes away.

#![cfg(test)]

mod backup;
mod batches;
mod clocks;
mod cluster;
mod connections;
mod copy;
mod crashes;
mod faults;
mod harness;
mod host;
mod idempotency;
mod interface;
mod journey;
mod lists;
mod log;
mod migrate;
mod model;
mod neighbours;
mod nodes;
mod plans;
mod races;
mod readme;
mod refusals;
mod tidy;
mod worlds;

//! Black-box tests of licd and licctl.
//!
//! Every test has a licd of its own, on a database of its own: an SQLite file, or, when
//! `LICD_TEST_DATABASE_URL` names a PostgreSQL server, a fresh database there. `tests/run` runs all
//! of this on SQLite, and on PostgreSQL what depends on the database. The client of `harness` checks
//! every answer against the OpenAPI document, so that every test is a test of that document too.
//!
//! `interface` covers the specification row by row, `operations` what the API does not offer,
//! `refusals` all errors, `lists` long lists, `worlds` the isolation of tenants and modes, `batches`
//! validations of one batch, `checks` the times of last checks, `races` concurrent callers and
//! nodes, `license_keys` claims and what a wrong key is told, `leases` licenses without the network,
//! `signing_keys` how they rotate,
//! `neighbours` tenants beside a greedy one, `model` random calls against a model, `clocks` nodes
//! whose clocks disagree, `sessions` the cookies of the dashboard and `pages` what its pages share,
//! `connections` clients below the interface, `tls` the same over TLS, `proxies` those that a proxy
//! names, `crashes` processes that stop and restart, `faults` disks that fail, `overload` storms of
//! public tools, `log` a log that cannot be written, `metrics` what monitors see, `host` the
//! commands of `licd`, `tenants` what they store, `doctor` what `licd doctor` finds, `secrets` where
//! keys must not be found, and `tidy` rules of the sources. `plans` covers how PostgreSQL finds its
//! rows, `copy`, `backup` and `migrate` the commands on whole databases, `journey` licctl with licd,
//! `book` the pages of the documentation, `dashboard` pages in a browser, `nodes` several processes
//! on one database, and `cluster` the loss of PostgreSQL.

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
mod shut_out;
mod signing_keys;
mod tenants;
mod terms;
mod tidy;
mod tls;
mod webhooks;
mod worlds;

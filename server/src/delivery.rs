//! Delivery of webhooks: chooses which webhooks to send, connects to their receivers, and writes
//! what follows from each attempt.
//!
//! - A *claim* makes one node deliver a webhook for up to 30 s.
//! - A *delivery* is the work under one claim: up to 10 s of sending to one webhook.
//! - A *batch* is what a delivery reads in one step: a page of events after the cursor, or the
//!   events of blocked subjects.
//! - A *lane* holds the events of one subject. They are sent one after another; lanes run in
//!   parallel.
//! - A *blocked subject* has an event that the receiver did not accept. Its later events wait
//!   behind that event, so the cursor can pass them, and other subjects are not delayed.
//! - A *probe* sends a failing receiver only the first events of a few subjects.
//!
//! [`sender`] claims webhooks, [`send`] runs a delivery, [`schedule`] decides what follows from its
//! attempts, and [`settle`] writes that down.

pub mod addresses;
mod batch;
pub mod client;
pub mod connect;
mod lookups;
mod schedule;
mod send;
pub mod sender;
pub mod settle;
mod test_deliveries;

pub use send::message;

//! The handlers, one file for each resource. They read downwards: who asks, what they send, what is
//! read or written, what is answered. Rules live in `common` and `validation`, SQL in `store`.

pub mod explain;
pub mod health;
pub mod keys;
pub mod licenses;
pub mod plans;
pub mod products;
pub mod refusals;
pub mod statistics;
pub mod usage;
pub mod users;
pub mod validate;

use std::fmt::Display;

use crate::error::Error;

/// Refuses an update that both sets and clears a field. Said before anything is looked up: a request
/// that contradicts itself is wrong whatever there is.
fn refuse_contradictions<F: Copy + PartialEq + Display>(
    clear: &[F],
    given: &[(F, bool)],
) -> Result<(), Error> {
    match given.iter().find(|(field, given)| *given && clear.contains(field)) {
        Some((field, _)) => {
            Err(Error::invalid("clear", format!("{field} cannot be both set and cleared")))
        }
        None => Ok(()),
    }
}

/// Applies an update to one field: `value` when given, null when it is to be cleared.
fn change<T>(field: &mut Option<T>, value: Option<T>, clear: bool) {
    if clear || value.is_some() {
        *field = value;
    }
}

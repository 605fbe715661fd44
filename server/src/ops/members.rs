//! Updates of single members: given, cleared, or left alone.

use std::fmt::Display;

use crate::error::Error;

/// Refuses an update that both sets and clears a member. It comes before any look-up: a request that
/// contradicts itself is wrong in every state.
pub fn refuse_contradictions<F: Copy + PartialEq + Display>(
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

/// Applies an update to one member: `value` when given, null when it is to be cleared.
pub fn update<T>(member: &mut Option<T>, value: Option<T>, clear: bool) {
    if clear || value.is_some() {
        *member = value;
    }
}

//! Updates of single members: set, cleared, or unchanged.

use std::fmt::Display;

use crate::error::Error;

/// Refuses an update that both sets and clears a member. Checked before any look-up, since a
/// contradictory request is invalid in every state.
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

/// Applies an update to one member: the value if given, null if it is to be cleared.
pub fn update<T>(member: &mut Option<T>, value: Option<T>, clear: bool) {
    if clear || value.is_some() {
        *member = value;
    }
}

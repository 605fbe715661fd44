//! The handlers, one file for each resource. They read downwards: who asks, what they send, what is
//! read or written, what is answered. Rules live in `common` and `validation`, SQL in `store`.

pub mod explain;
pub mod health;
pub mod keys;
pub mod licenses;
pub mod plans;
pub mod products;
pub mod usage;
pub mod users;
pub mod validate;

/// Applies an update to one field: `value` when given, null when `clear` names the field.
fn change<T>(
    name: &str,
    field: &mut Option<T>,
    value: Option<T>,
    clear: bool,
) -> Result<(), crate::error::Error> {
    match (value, clear) {
        (Some(_), true) => {
            let message = format!("{name} cannot be both set and cleared");
            return Err(crate::error::Error::invalid("clear", message));
        }
        (Some(value), false) => *field = Some(value),
        (None, true) => *field = None,
        (None, false) => {}
    }
    Ok(())
}

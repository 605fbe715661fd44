//! Updates of single members of a record: set, cleared, or unchanged.

use common::{MaxSeats, Metadata, MetadataPatch, SeatIdleMinutes, Terms};
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;

/// Fails if an update both sets and clears a member. Called before any lookup, because such a
/// request is invalid in every state.
pub fn refuse_contradictions(update: &impl Serialize) -> Result<(), Error> {
    let update = serde_json::to_value(update).map_err(|_| Error::Internal)?;
    let cleared = update["clear"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match cleared.into_iter().find(|field| !update[*field].is_null()) {
        Some(field) => {
            Err(Error::invalid("clear", format!("{field} cannot be both set and cleared")))
        }
        None => Ok(()),
    }
}

/// Applies an update to metadata: replaces, merges or clears it, or leaves it.
pub fn update_metadata(
    member: &mut Option<Metadata>,
    value: Option<Metadata>,
    merged: Option<MetadataPatch>,
    clear: bool,
) -> Result<(), Error> {
    const MERGED: &str = "mergeMetadata";
    let Some(patch) = merged else {
        update(member, value, clear);
        return Ok(());
    };
    if value.is_some() || clear {
        return Err(Error::invalid(
            MERGED,
            "Metadata can only be replaced, merged or cleared, not two of these",
        ));
    }
    if !patch.is_empty() {
        let merged = patch.apply(member.as_ref());
        *member = Some(merged.map_err(|rule| Error::invalid(MERGED, format!("The sum {rule}")))?);
    }
    Ok(())
}

/// Applies an update to one member: sets it to the value if given, or to null if it is cleared.
pub fn update<T>(member: &mut Option<T>, value: Option<T>, clear: bool) {
    if clear || value.is_some() {
        *member = value;
    }
}

/// Fails if a license would have more floating seats than a take-over can examine.
pub fn check_floating(
    idle: Option<SeatIdleMinutes>,
    max_seats: Option<MaxSeats>,
) -> Result<(), Error> {
    let too_many = max_seats.is_some_and(|max| max.get() > Terms::MAX_FLOATING_SEATS);
    match idle {
        Some(_) if too_many => Err(Error::invalid(
            "seatIdleMinutes",
            "At most 10,000 seats can be floating. Set maxSeats to at most 10000 too",
        )),
        _ => Ok(()),
    }
}

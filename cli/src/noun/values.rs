//! Values of flags that several commands share.

use std::collections::HashSet;
use std::str::FromStr;

use common::{ExternalId, Feature, Features};
use serde::{Serialize, Serializer};

use crate::error::{Error, Result};

/// The update of an optional field: it sets a value, or clears the field.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit<T> {
    Set(T),
    Clear,
}

impl<T> Edit<T> {
    /// The field's value in the request.
    pub fn value(change: &Option<Self>) -> Option<T>
    where
        T: Clone,
    {
        match change {
            Some(Self::Set(value)) => Some(value.clone()),
            _ => None,
        }
    }

    /// The field's entry in the request's `clear` list.
    pub fn clears<F>(change: &Option<Self>, field: F) -> Option<F> {
        matches!(change, Some(Self::Clear)).then_some(field)
    }
}

/// The external id in an item of a list.
pub fn external_id(text: &str) -> Result<ExternalId> {
    text.parse().map_err(|error| Error::usage(format!("The external id {error}.")))
}

/// `none` and `never` clear the field. Empty text does not: a script's unset variable must not
/// remove a limit.
impl<T: FromStr> FromStr for Edit<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> std::result::Result<Self, T::Err> {
        match text {
            "none" | "never" => Ok(Self::Clear),
            _ => text.parse().map(Self::Set),
        }
    }
}

/// A cleared field is null.
impl<T: Serialize> Serialize for Edit<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Set(value) => value.serialize(serializer),
            Self::Clear => serializer.serialize_none(),
        }
    }
}

/// A list of cleared fields for a request; none when nothing is cleared.
pub fn cleared<F>(fields: impl IntoIterator<Item = Option<F>>) -> Option<Vec<F>> {
    let fields: Vec<F> = fields.into_iter().flatten().collect();
    (!fields.is_empty()).then_some(fields)
}

/// Whether an update would change nothing.
pub fn is_empty(update: &impl Serialize) -> bool {
    let update = serde_json::to_value(update).unwrap_or_default();
    update.as_object().is_some_and(|fields| fields.values().all(serde_json::Value::is_null))
}

/// The features of the flags; none when no flag was given.
pub fn features(given: &[Feature]) -> Result<Option<Features>> {
    if given.is_empty() {
        return Ok(None);
    }
    // Duplicates are harmless.
    let mut seen = HashSet::new();
    let different = given.iter().filter(|feature| seen.insert(*feature)).cloned().collect();
    Features::new(different)
        .map(Some)
        .map_err(|_| Error::usage("At most 100 features are allowed."))
}

/// Parses features as [`features`] does, but a single `none` clears them.
pub fn changed_features(given: &[Feature]) -> Result<Option<Features>> {
    match given {
        [only] if only.as_str() == "none" => Ok(Some(Features::default())),
        _ => features(given),
    }
}

/// A key of a script, with which the service performs a request only once.
#[derive(Clone, Debug)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key of one of several requests, counted from 1.
    pub fn of(&self, number: u32) -> String {
        if number == 1 { self.0.clone() } else { format!("{}-{number}", self.0) }
    }
}

impl FromStr for IdempotencyKey {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        // The service accepts 255, and `of` adds a few.
        const MAX_LEN: usize = 200;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        match (1..=MAX_LEN).contains(&text.len()) && is_plain {
            true => Ok(Self(text.to_owned())),
            false => Err("must be 1 to 200 printable ASCII characters without spaces"),
        }
    }
}

#[cfg(test)]
mod tests {
    use common::MaxSeats;

    use super::*;

    #[test]
    fn none_and_never_clear_a_field() {
        assert_eq!("none".parse::<Edit<MaxSeats>>(), Ok(Edit::Clear));
        assert_eq!("5".parse(), Ok(Edit::Set(MaxSeats::new(5).unwrap())));
        assert!("0".parse::<Edit<MaxSeats>>().is_err());
    }
}

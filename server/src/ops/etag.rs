//! Entity tags of records, and conditional changes: two people who edit a record do not overwrite
//! each other's changes unknowingly.

use std::fmt;

use common::{Key, LicenseDetails, Plan, Product, Timestamp, User};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::store::keys::hex;

/// How many hexadecimal digits of the hash a tag has.
const LENGTH: usize = 32;

/// Identifies the state of a record: a hash of its members. HTTP puts it in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag(String);

impl ETag {
    fn of(record: &impl Serialize) -> Self {
        // Fails only for maps whose keys are not strings, and no record has one.
        let json = serde_json::to_vec(record).unwrap_or_default();
        let mut text = hex(&Sha256::digest(json).into());
        text.truncate(LENGTH);
        Self(text)
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A record whose state has a tag. The tag covers the stored record itself, not the seats that
/// validations take or the last use of a key.
pub trait Tagged {
    /// The kind of record, for messages.
    const KIND: &'static str;

    fn etag(&self) -> ETag;
}

macro_rules! tagged {
    ($($record:ty: $kind:literal;)*) => {$(
        impl Tagged for $record {
            const KIND: &'static str = $kind;

            fn etag(&self) -> ETag {
                ETag::of(self)
            }
        }
    )*};
}

tagged! {
    Product: "product";
    Plan: "plan";
    LicenseDetails: "license";
    User: "user";
}

impl Tagged for Key {
    const KIND: &'static str = "key";

    fn etag(&self) -> ETag {
        ETag::of(&Self { last_used_at: None, ..self.clone() })
    }
}

/// The state of the record that a change is based on. Handlers pass it to
/// [`Change::expecting`](super::change::Change::expecting): the API takes it from `If-Match`, a
/// page from a hidden field of its form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Any state.
    #[default]
    Anything,
    /// A state with one of these tags.
    OneOf(Vec<String>),
    /// The state last changed at this time.
    UpdatedAt(Timestamp),
}

impl Expected {
    /// The state of the record that a form showed, if it includes one.
    pub fn seen(updated_at: Option<Timestamp>) -> Self {
        updated_at.map_or(Self::Anything, Self::UpdatedAt)
    }

    /// Refuses the record, which is locked, if its state differs.
    pub(super) fn check<T: Tagged>(&self, record: &T, updated_at: Timestamp) -> Result<(), Error> {
        let is_as_seen = match self {
            Self::Anything => true,
            Self::OneOf(tags) => tags.contains(&record.etag().0),
            Self::UpdatedAt(seen) => *seen == updated_at,
        };
        if is_as_seen { Ok(()) } else { Err(Error::Changed(T::KIND)) }
    }
}

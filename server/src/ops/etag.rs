//! Entity tags of records, and conditional changes: two people who edit a record do not overwrite
//! each other's changes unknowingly.

use std::fmt;

use common::{Key, LicenseDetails, Plan, Product, Timestamp, User, Webhook};

use crate::error::Error;

/// Identifies the state of a record. HTTP puts it in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag(String);

impl ETag {
    /// The state of a record that was last changed then: that time strictly grows with each change,
    /// and a member of a later release changes no tag.
    fn of(updated_at: Timestamp) -> Self {
        Self(updated_at.millis().to_string())
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
                ETag::of(self.updated_at)
            }
        }
    )*};
}

tagged! {
    Product: "product";
    Plan: "plan";
    LicenseDetails: "license";
    User: "user";
    Webhook: "webhook";
}

impl Tagged for Key {
    const KIND: &'static str = "key";

    /// A key only ends, and may be given another end before.
    fn etag(&self) -> ETag {
        let [expires, revoked] =
            [self.expires_at, self.revoked_at].map(|end| end.map_or(0, Timestamp::millis));
        ETag(format!("{expires}-{revoked}"))
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
}

impl Expected {
    /// The state of the record that a form showed, if it includes one.
    pub fn seen(updated_at: Option<Timestamp>) -> Self {
        updated_at.map_or(Self::Anything, |at| Self::OneOf(vec![ETag::of(at).0]))
    }

    /// Refuses the record, which is locked, if its state differs.
    pub(super) fn check<T: Tagged>(&self, record: &T) -> Result<(), Error> {
        let is_as_seen = match self {
            Self::Anything => true,
            Self::OneOf(tags) => tags.contains(&record.etag().0),
        };
        if is_as_seen { Ok(()) } else { Err(Error::Changed(T::KIND)) }
    }
}

//! Entity tags of records, and conditional changes. With these, two people who edit a record do not
//! overwrite each other's changes by mistake.

use std::fmt;

use common::{Key, LicenseDetails, Plan, Product, Timestamp, User, Webhook};

use crate::error::Error;

/// Identifies the state of a record. HTTP headers show it in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag(String);

impl ETag {
    /// Returns the tag of a record by the time of its last change. This time strictly increases
    /// with each change, and a release that adds members does not change tags.
    fn of(updated_at: Timestamp) -> Self {
        Self(updated_at.millis().to_string())
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A record whose state has a tag. The tag covers only the stored record, not the seats that
/// validations take or the last use of a key.
pub trait Tagged {
    /// Kind of record, for messages.
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

    /// Tags a key by its end, which is all that can change.
    fn etag(&self) -> ETag {
        let [expires, revoked] =
            [self.expires_at, self.revoked_at].map(|end| end.map_or(0, Timestamp::millis));
        ETag(format!("{expires}-{revoked}"))
    }
}

/// State of the record that a change is based on. Handlers pass it to
/// [`Change::expecting`](super::change::Change::expecting). The API reads it from `If-Match`, a
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
    /// Returns the state of the record that a form showed, if the form includes it.
    pub fn seen(updated_at: Option<Timestamp>) -> Self {
        updated_at.map_or(Self::Anything, |at| Self::OneOf(vec![ETag::of(at).0]))
    }

    /// Fails if the state of the locked record differs.
    pub(super) fn check<T: Tagged>(&self, record: &T) -> Result<(), Error> {
        let is_as_seen = match self {
            Self::Anything => true,
            Self::OneOf(tags) => tags.contains(&record.etag().0),
        };
        if is_as_seen { Ok(()) } else { Err(Error::Changed(T::KIND)) }
    }
}

//! Identifiers: one type for each kind, so that a plan's id cannot be passed for a license's.
//!
//! The text form is a TypeID: a prefix, an underscore, and the UUID in 26 characters of Crockford's
//! base32. Callers treat it as opaque. The database stores the plain UUID.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The text is no identifier of the kind that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an id that begins with {prefix}_")]
pub struct MalformedId {
    prefix: &'static str,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// The default is the nil id, which nothing has.
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "server", derive(sqlx::Type), sqlx(transparent))]
        pub struct $name(Uuid);

        impl $name {
            /// A fresh id, later in order than all that this process has made up to `now`.
            #[cfg(feature = "server")]
            pub fn new(now: crate::Timestamp) -> Self {
                Self(generate::uuid(now))
            }

            pub fn uuid(self) -> Uuid {
                self.0
            }
        }

        #[cfg(feature = "server")]
        impl From<Uuid> for $name {
            /// An id as the database stores it.
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), Base32(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;

            fn from_str(text: &str) -> Result<Self, MalformedId> {
                text.strip_prefix(concat!($prefix, "_"))
                    .and_then(decode)
                    .map(Self)
                    .ok_or(MalformedId { prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Expected;
                impl Visitor<'_> for Expected {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("an id that begins with ", $prefix, "_"))
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(|_| {
                            E::invalid_value(serde::de::Unexpected::Str(text), &self)
                        })
                    }
                }
                deserializer.deserialize_str(Expected)
            }
        }

        #[cfg(feature = "server")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": concat!("^", $prefix, "_[0-7][0-9a-hjkmnp-tv-z]{25}$"),
                    "examples": [concat!($prefix, "_01h455vb4pex5vsknk084sn02q")],
                })
            }
        }
    )*};
}

ids! {
    /// A tenant: one customer of the service, with all that is theirs.
    TenantId = "ten";
    /// An API key (its record, not its secret).
    KeyId = "key";
    /// A product.
    ProductId = "prd";
    /// A plan of a product.
    PlanId = "pln";
    /// A license made from a plan.
    LicenseId = "lic";
    /// A user, inside the service. Callers have a name of their own for it: `ExternalId`.
    UserId = "usr";
    /// A license's assignment to a user.
    AssignmentId = "asg";
    /// A seat that a user holds on a license.
    ActivationId = "act";
}

struct Base32(Uuid);

impl fmt::Display for Base32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.as_u128();
        let text: [u8; 26] =
            std::array::from_fn(|at| ALPHABET[(bits >> (5 * (25 - at))) as usize & 31]);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// Exactly what [`Base32`] writes; upper case and look-alike letters are refused, so that an id has
/// one spelling.
fn decode(text: &str) -> Option<Uuid> {
    // 26 characters of 5 bits are 130: the first may only carry the three that are left over.
    if text.len() != 26 || !text.starts_with(|first| ('0'..='7').contains(&first)) {
        return None;
    }
    let mut bits = 0u128;
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|&known| known == letter)?;
        bits = bits << 5 | value as u128;
    }
    Some(Uuid::from_u128(bits))
}

#[cfg(feature = "server")]
mod generate {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use uuid::{Builder, Uuid};

    use crate::Timestamp;

    /// Counts the ids of this process from a random start, so that ids of one millisecond keep the
    /// order in which they were made and yet two processes do not meet.
    static SEQUENCE: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(u64::from_be_bytes(random()) >> 23));

    /// A UUIDv7: 48 bits of milliseconds, 42 of sequence, 32 of chance.
    pub(super) fn uuid(now: Timestamp) -> Uuid {
        let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed);
        let high = (sequence >> 30) as u16;
        let low = (sequence & 0x3fff_ffff) << 32 | u64::from(u32::from_be_bytes(random()));
        let mut tail = [0; 10];
        tail[..2].copy_from_slice(&high.to_be_bytes());
        tail[2..].copy_from_slice(&low.to_be_bytes());
        Builder::from_unix_timestamp_millis(now.millis(), &tail).into_uuid()
    }

    #[expect(clippy::expect_used, reason = "without randomness no id is safe to give out")]
    fn random<const N: usize>() -> [u8; N] {
        let mut bytes = [0; N];
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        bytes
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn ids_of_one_moment_keep_the_order_of_their_making() {
            let now = Timestamp::now();
            let made: Vec<Uuid> = (0..10_000).map(|_| uuid(now)).collect();
            assert!(made.is_sorted_by(|earlier, later| earlier < later));
            assert!(made.iter().all(|id| id.get_version_num() == 7));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn writes_the_example_of_the_typeid_specification() {
        let uuid = Uuid::parse_str("01890a5d-ac96-774b-bcce-b302099a8057").unwrap();
        assert_eq!(LicenseId(uuid).to_string(), "lic_01h455vb4pex5vsknk084sn02q");
    }

    #[test]
    fn refuses_what_is_not_its_own_spelling() {
        for text in [
            "",
            "lic_",
            "pln_01h455vb4pex5vsknk084sn02q",
            "lic_01H455VB4PEX5VSKNK084SN02Q",
            "lic_01h455vb4pex5vsknk084sn02",
            "lic_01h455vb4pex5vsknk084sn02qq",
            "lic_81h455vb4pex5vsknk084sn02q",
            "lic_01h455vb4pex5vsknk084sn0lq",
            "lic_01h455vb4pex5vsknk084sn0é",
        ] {
            assert!(text.parse::<LicenseId>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_it_writes(bits: u128) {
            let id = PlanId(Uuid::from_u128(bits));
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }
    }
}

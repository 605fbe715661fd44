//! Identifiers: one type for each kind, so that a plan's id cannot be passed for a license's.
//!
//! The text form is a TypeID: a prefix, an underscore, and the UUID in 26 characters of Crockford's
//! base32. Callers treat it as opaque. The database stores the plain UUID.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use uuid::Uuid;

pub(crate) const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The text is not an identifier of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an id that begins with {prefix}_")]
pub struct MalformedId {
    prefix: &'static str,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// The default is the nil id, which no record has.
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "server", derive(sqlx::Type), sqlx(transparent))]
        pub struct $name(Uuid);

        impl $name {
            /// Generates an id, greater than all ids of any kind that this process has generated,
            /// even if `now` is earlier.
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
            /// Converts an id of the database.
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

        $crate::text::read_as_text!($name, concat!("an id that begins with ", $prefix, "_"));

        $crate::inline_schema::inline_schema!($name, {
            "type": "string",
            "pattern": concat!("^", $prefix, "_[0-7][0-9a-hjkmnp-tv-z]{25}$"),
            "examples": [concat!($prefix, "_01h455vb4pex5vsknk084sn02q")],
        });
    )*};
}

ids! {
    /// A tenant: one customer of the service.
    TenantId = "ten";
    /// An API key (its record, not its secret).
    KeyId = "key";
    /// A session in the dashboard.
    SessionId = "ses";
    /// A product.
    ProductId = "prd";
    /// A plan of a product.
    PlanId = "pln";
    /// A license.
    LicenseId = "lic";
    /// A license key (its record, not the key itself).
    LicenseKeyId = "lky";
    /// A user, inside the service. The caller's own identifier is an `ExternalId`.
    UserId = "usr";
    /// A license's assignment to a user.
    AssignmentId = "asg";
    /// A seat that a user holds on a license.
    ActivationId = "act";
    /// An event.
    EventId = "evt";
    /// The refusals of a user for one reason in one hour.
    RefusalId = "ref";
    /// An endpoint to which events are sent.
    WebhookId = "whk";
    /// A failed attempt to send an event.
    WebhookFailureId = "whf";
    /// A key that signs leases.
    SigningKeyId = "sig";
    /// A lease.
    LeaseId = "lea";
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

/// Decodes exactly what [`Base32`] writes. Refuses upper case and similar letters, so that an id
/// has one spelling.
fn decode(text: &str) -> Option<Uuid> {
    // 26 characters of 5 bits are 130 bits, so the first character has only 3 bits.
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
pub use generate::advance_ids_past;

/// Ids grow with time, and never go back when the clock does.
#[cfg(feature = "server")]
mod generate {
    use std::sync::{Mutex, PoisonError};

    use uuid::{ContextV7, Timestamp as IdTime, Uuid};

    use crate::Timestamp;

    /// Generator of the process. All kinds of ids share it, so that they have one order.
    static IDS: Generator = Generator::new();

    pub(super) fn uuid(now: Timestamp) -> Uuid {
        IDS.next(now.millis())
    }

    /// Ensures that this process generates only ids greater than `newest`, a stored id that another
    /// process may have generated with a clock ahead of this one.
    pub fn advance_ids_past(newest: Uuid) {
        IDS.advance_past(newest);
    }

    /// Generates UUIDv7s, each greater than the one before. Within a millisecond, and while the
    /// clock is behind the last id, it counts up from a random number, so that two processes do not
    /// collide.
    struct Generator(Mutex<ContextV7>);

    impl Generator {
        const fn new() -> Self {
            Self(Mutex::new(ContextV7::new()))
        }

        fn next(&self, millis: u64) -> Uuid {
            Uuid::new_v7(self.tick(millis))
        }

        fn advance_past(&self, newest: Uuid) {
            // If this process is past it already, ids keep the time of the clock.
            if self.next(0) <= newest {
                // The first 48 bits are milliseconds. In the next millisecond, any count is greater.
                let millis = (newest.as_u128() >> 80) as u64;
                self.tick(millis + 1);
            }
        }

        fn tick(&self, millis: u64) -> IdTime {
            let context = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            IdTime::from_unix(&*context, millis / 1000, (millis % 1000) as u32 * 1_000_000)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const NOON: u64 = 1_800_000_000_000;
        const HOUR: u64 = 3_600_000;

        #[test]
        fn ids_of_one_moment_keep_the_order_of_their_making() {
            let ids = Generator::new();
            let made: Vec<Uuid> = (0..10_000).map(|_| ids.next(NOON)).collect();
            assert!(made.is_sorted_by(|earlier, later| earlier < later));
            assert!(made.iter().all(|id| id.get_version_num() == 7));
        }

        #[test]
        fn ids_go_on_when_the_clock_goes_back() {
            let ids = Generator::new();
            let clock = [NOON, NOON + 1, NOON - HOUR, 0, NOON - 1, NOON + 1, NOON + 2, NOON + HOUR];
            let made: Vec<Uuid> = clock.iter().map(|&millis| ids.next(millis)).collect();
            assert!(made.is_sorted_by(|earlier, later| earlier < later), "{made:?}");
        }

        #[test]
        fn ids_carry_the_time_again_once_the_clock_has_caught_up() {
            let ids = Generator::new();
            for (clock, carried) in [(NOON, NOON), (NOON - HOUR, NOON), (NOON + HOUR, NOON + HOUR)]
            {
                assert_eq!((ids.next(clock).as_u128() >> 80) as u64, carried);
            }
        }

        #[test]
        fn ids_go_on_after_one_that_another_process_made() {
            let ahead = Generator::new().next(NOON + HOUR);
            // Greatest id of that millisecond.
            let greatest = Uuid::from_u128(ahead.as_u128() | ((1 << 62) - 1) | (0xfff << 64));
            for newest in [ahead, greatest] {
                let ids = Generator::new();
                ids.advance_past(newest);
                assert!(ids.next(NOON) > newest);
                ids.advance_past(Uuid::nil());
                let next = ids.next(NOON);
                assert!(next > newest, "an older one does not take it back");
                ids.advance_past(newest);
                assert_eq!(ids.next(NOON).as_u128() >> 80, next.as_u128() >> 80);
            }
        }

        #[test]
        fn threads_never_share_an_id() {
            let ids = Generator::new();
            let made = std::thread::scope(|scope| {
                let make = || (0..2_000).map(|_| ids.next(NOON)).collect::<Vec<_>>();
                let threads = [(); 4].map(|()| scope.spawn(make));
                threads.map(|thread| thread.join().unwrap()).concat()
            });
            let distinct: std::collections::BTreeSet<Uuid> = made.iter().copied().collect();
            assert_eq!(distinct.len(), made.len());
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

        /// Pattern of the OpenAPI document.
        #[test]
        fn takes_what_the_pattern_describes(text in "pln_[0-7][0-9a-hjkmnp-tv-z]{25}") {
            prop_assert_eq!(text.parse::<PlanId>().unwrap().to_string(), text);
        }

        #[test]
        fn takes_one_spelling_of_an_id(text in "\\PC*|(pln_)?[0-9A-Za-z_]{24,28}") {
            if let Ok(id) = text.parse::<PlanId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}

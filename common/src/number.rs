//! Whole numbers with a minimum and a maximum.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::text::Invalid;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident from $min:literal to $max:literal, $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[cfg_attr(feature = "server", derive(sqlx::Type), sqlx(transparent))]
        #[serde(transparent)]
        pub struct $name(i32);

        impl $name {
            pub const MAX: i32 = $max;

            /// Creates a value from the minimum to [`Self::MAX`].
            pub fn new(number: i64) -> Result<Self, Invalid> {
                match i32::try_from(number) {
                    Ok(number @ $min..=$max) => Ok(Self(number)),
                    _ => Err(Invalid($what)),
                }
            }

            pub fn get(self) -> i32 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                text.parse().map_err(|_| Invalid($what)).and_then(Self::new)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Expected;
                impl Visitor<'_> for Expected {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }

                    fn visit_i64<E: Error>(self, number: i64) -> Result<$name, E> {
                        $name::new(number)
                            .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
                    }

                    fn visit_u64<E: Error>(self, number: u64) -> Result<$name, E> {
                        i64::try_from(number)
                            .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
                            .and_then(|number| self.visit_i64(number))
                    }

                    /// Accepts a zero fraction, because some programs write 5 as 5.0.
                    fn visit_f64<E: Error>(self, number: f64) -> Result<$name, E> {
                        let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
                        match is_whole {
                            true => self.visit_i64(number as i64),
                            false => Err(E::invalid_value(Unexpected::Float(number), &self)),
                        }
                    }
                }
                deserializer.deserialize_i64(Expected)
            }
        }

        $crate::inline_schema::inline_schema!($name, {
            "type": "integer",
            "format": "int32",
            "minimum": $min,
            "maximum": $max,
        });
    )*};
}

numbers! {
    /// Maximum number of users who hold a seat.
    MaxSeats from 1 to 1_000_000, "a whole number from 1 to 1000000";
    /// Maximum number of users who claim a license with one key.
    MaxUses from 1 to 1_000_000, "a whole number from 1 to 1000000";
    /// Validity of a license in days of 24 hours.
    ExpiresInDays from 1 to 36_500, "a whole number from 1 to 36500";
    /// Idle time of a floating seat in minutes, up to a year.
    SeatIdleMinutes from 5 to 525_600, "a whole number from 5 to 525600";
    /// Grace period in days of 24 hours.
    GraceDays from 1 to 365, "a whole number from 1 to 365";
    /// Maximum duration of a lease in seconds, up to 400 days.
    MaxLeaseSeconds from 300 to 34_560_000, "a whole number from 300 to 34560000";
    /// Duration of a lease in seconds, up to 400 days.
    TtlSeconds from 60 to 34_560_000, "a whole number from 60 to 34560000";
    /// Time in seconds for which a rolled key stays valid, up to 30 days.
    OverlapSeconds from 0 to 2_592_000, "a whole number from 0 to 2592000";
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn takes_the_bounds_and_refuses_what_lies_beyond() {
        for (json, taken) in [
            ("1", true),
            ("1000000", true),
            ("0", false),
            ("-1", false),
            ("1000001", false),
            ("4294967297", false),
            ("18446744073709551615", false),
            ("1e30", false),
            ("58.0", true),
            ("5.8e1", true),
            ("1e6", true),
            ("0.0", false),
            ("1.5", false),
            ("58.000001", false),
            ("-1e308", false),
            ("\"1\"", false),
            ("true", false),
        ] {
            assert_eq!(serde_json::from_str::<MaxSeats>(json).is_ok(), taken, "{json}");
        }
    }

    proptest! {
        #[test]
        fn takes_exactly_what_lies_within(number: i64) {
            let near = number % 2_000_000;
            for number in [number, near] {
                let within = (1..=1_000_000).contains(&number);
                let text = number.to_string();
                prop_assert_eq!(text.parse::<MaxSeats>().is_ok(), within);
                prop_assert_eq!(serde_json::from_str::<MaxSeats>(&text).is_ok(), within);
            }
        }

        #[test]
        fn takes_no_number_that_it_cannot_write(text in "\\PC*|[-+0-9.e]{1,12}") {
            if let Ok(number) = text.parse::<MaxSeats>() {
                prop_assert_eq!(number.to_string().parse(), Ok(number));
            }
        }
    }
}

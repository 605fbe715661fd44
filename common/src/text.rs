//! Texts of callers: names, user ids and features, each with its limits.

use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::inline_schema::inline_schema;

/// Rule that a value breaks, worded to follow "must be".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {0}")]
pub struct Invalid(pub &'static str);

/// Reads a type as it is parsed. An error says what is expected, and what came instead.
macro_rules! read_as_text {
    ($name:ident, $what:expr) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Expected;
                impl serde::de::Visitor<'_> for Expected {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($what)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        let wrong = serde::de::Unexpected::Str(text);
                        text.parse().map_err(|_| E::invalid_value(wrong, &self))
                    }
                }
                deserializer.deserialize_str(Expected)
            }
        }
    };
}

pub(crate) use read_as_text;

/// Pattern without control characters. Only the server checks U+0080 to U+009F, and all escapes are
/// valid in PCRE, because a generated PHP client compares bytes, and longer characters contain such
/// bytes too.
#[cfg(feature = "server")]
const PATTERN: &str = r"^[^\x00-\x1f\x7f]*$";
/// Pattern without control characters, and with a character other than a space.
#[cfg(feature = "server")]
const PATTERN_OF_TRIMMED: &str = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$";

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident to $max:literal $unit:ident, trimmed: $trimmed:literal, $what:literal;)*) =>
    {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[cfg_attr(feature = "server", derive(sqlx::Type), sqlx(transparent))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Creates a value from a text in the program.
            #[cfg(feature = "server")]
            pub fn from_static(text: &'static str) -> Self {
                Self(text.to_owned())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                let text = if $trimmed { text.trim() } else { text };
                if (1..=$max).contains(&text.$unit().count()) && !text.contains(char::is_control) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(Invalid($what))
                }
            }
        }

        read_as_text!($name, $what);

        inline_schema!($name, {
            "description": "Without control characters, also those from U+0080 to U+009F.",
            "type": "string",
            "minLength": 1,
            "maxLength": $max,
            "pattern": if $trimmed { PATTERN_OF_TRIMMED } else { PATTERN },
        });
    )*};
}

texts! {
    /// Name of a product, plan, key or tenant. Spaces around it are removed.
    Name to 255 chars, trimmed: true,
        "a string of 1 to 255 characters without control characters";
    /// A line of text, stored unchanged.
    Line to 255 chars, trimmed: false,
        "a string of 1 to 255 characters without control characters";
    /// External id: the caller's own identifier of a user. It is never trimmed or changed in case,
    /// so ids that differ in one byte are two users.
    ExternalId to 255 chars, trimmed: false,
        "a string of 1 to 255 characters without control characters";
    /// Name of a device, chosen by the caller.
    DeviceName to 255 bytes, trimmed: false,
        "a string of 1 to 255 bytes in UTF-8 without control characters";
    /// A feature flag.
    Feature to 100 chars, trimmed: false,
        "a string of 1 to 100 characters without control characters";
}

/// At most 100 feature flags without duplicates, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Features(Vec<Feature>);

impl Features {
    const MAX: usize = 100;
    const WHAT: &str = "an array of at most 100 different strings";

    pub fn new(features: Vec<Feature>) -> Result<Self, Invalid> {
        let different: HashSet<&Feature> = features.iter().collect();
        if different.len() == features.len() && features.len() <= Self::MAX {
            Ok(Self(features))
        } else {
            Err(Invalid(Self::WHAT))
        }
    }
}

// Without `uniqueItems`, because generated clients would use a set, which has no order.
inline_schema!(Features, generator, {
    "description": "Feature flags in their order: at most 100, no two alike.",
    "type": "array",
    "items": generator.subschema_for::<Feature>(),
    "maxItems": Self::MAX,
});

impl Deref for Features {
    type Target = [Feature];

    fn deref(&self) -> &[Feature] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Expected;
        impl<'de> Visitor<'de> for Expected {
            type Value = Features;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Features::WHAT)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Features, A::Error> {
                let mut features = Vec::new();
                while let Some(feature) = seq.next_element()? {
                    features.push(feature);
                }
                Features::new(features).map_err(|_| A::Error::invalid_value(Unexpected::Seq, &self))
            }
        }
        deserializer.deserialize_seq(Expected)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use serde_json::json;

    use super::*;

    #[test]
    fn counts_characters_and_of_devices_bytes() {
        assert!("é".repeat(255).parse::<ExternalId>().is_ok());
        assert!("é".repeat(256).parse::<ExternalId>().is_err());
        assert!("".parse::<ExternalId>().is_err());
        assert!("é".repeat(127).parse::<DeviceName>().is_ok());
        assert!("é".repeat(128).parse::<DeviceName>().is_err());
    }

    #[test]
    fn refuses_control_characters() {
        for text in ["a\0b", "a\nb", "a\u{85}b", "a\u{7f}"] {
            assert!(text.parse::<ExternalId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn trims_names_but_never_user_ids() {
        assert_eq!(" Studio\t".parse::<Name>().unwrap().as_str(), "Studio");
        assert!(" \n ".parse::<Name>().is_err());
        assert_eq!(" u ".parse::<ExternalId>().unwrap().as_str(), " u ");
    }

    #[test]
    fn keeps_features_in_order_and_refuses_a_repeat() {
        let read = |json| serde_json::from_value::<Features>(json);
        let features = read(json!(["sso", "export"])).unwrap();
        assert_eq!(serde_json::to_value(&features).unwrap(), json!(["sso", "export"]));
        assert!(read(json!(["sso", "sso"])).is_err());
        assert!(read(json!((0..101).map(|n| n.to_string()).collect::<Vec<_>>())).is_err());
        assert!(read(json!([""])).is_err());
        assert!(read(json!("sso")).is_err());
    }

    proptest! {
        #[test]
        fn takes_every_line_unchanged(text in "[^\\p{Cc}]{1,255}") {
            let user = text.parse::<ExternalId>().unwrap();
            prop_assert_eq!(user.as_str(), &text);
            let json = serde_json::to_string(&user).unwrap();
            prop_assert_eq!(serde_json::from_str::<ExternalId>(&json).unwrap(), user);
        }

        #[test]
        fn refuses_every_control_character(text in "[^\\p{Cc}]{0,20}\\p{Cc}[^\\p{Cc}]{1,20}") {
            prop_assert!(text.parse::<ExternalId>().is_err());
            let name = format!("a{text}");
            prop_assert!(name.parse::<Name>().is_err());
        }

        #[test]
        fn a_name_is_read_back_as_it_was_read(text: String) {
            if let Ok(name) = text.parse::<Name>() {
                let again = name.as_str().parse::<Name>();
                prop_assert_eq!(again, Ok(name));
            }
        }
    }
}

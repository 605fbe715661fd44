//! Enums whose variants are lower-case strings.

/// Defines an enum whose variants are the same strings on the wire, in a column and on a command
/// line. Reading accepts exactly these strings. An enum that shares words with another one is
/// `inline` in the OpenAPI document, because generated clients in Go have all named words in one
/// namespace. The rule for invalid strings lists all words, unless another one is given.
macro_rules! string_enum {
    (@rule [$rule:literal] $($word:literal),*) => { $rule };
    (@rule [] $only:literal) => { $only };
    (@rule [] $first:literal $(, $more:literal)+) => { concat!("one of ", $first $(, ", ", $more)+) };
    (
        $(#[doc = $doc:literal])*
        $name:ident $(, $rule:literal)? $(, $inline:ident)? {
            $($(#[doc = $variant_doc:literal])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "server", derive(sqlx::Type), sqlx(type_name = "text"))]
        pub enum $name {
            $($(#[doc = $variant_doc])* #[cfg_attr(feature = "server", sqlx(rename = $word))] $variant,)*
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),*];
            /// Strings of [`Self::ALL`], in the same order.
            pub const WORDS: &[&str] = &[$($word),*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::Invalid($crate::string_enum::string_enum!(@rule [$($rule)?] $($word),*))),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        $crate::text::read_as_text!(
            $name,
            $crate::string_enum::string_enum!(@rule [$($rule)?] $($word),*)
        );

        /// Command lines accept the same strings, and the help lists them.
        #[cfg(feature = "clap")]
        impl clap::builder::ValueParserFactory for $name {
            type Parser = clap::builder::ValueParser;

            fn value_parser() -> Self::Parser {
                use clap::builder::{PossibleValuesParser, TypedValueParser};
                PossibleValuesParser::new(Self::WORDS)
                    .try_map(|word: String| word.parse::<Self>())
                    .into()
            }
        }

        #[cfg(feature = "server")]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                false $(|| stringify!($inline) == "inline")?
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let words = [$(($word, concat!($($variant_doc),*))),*];
                schemars::json_schema!({
                    "description": $crate::string_enum::describe(concat!($($doc),*), &words),
                    "type": "string",
                    "enum": [$($word),*],
                })
            }
        }
    };
}

pub(crate) use string_enum;

/// Documentation of an enum and of its words.
#[cfg(feature = "server")]
pub(crate) fn describe(doc: &str, words: &[(&str, &str)]) -> String {
    let lines = words.iter().filter(|(_, doc)| !doc.is_empty());
    let lines: Vec<String> = lines.map(|(word, doc)| format!("\n- `{word}`:{doc}")).collect();
    let gap = if lines.is_empty() { "" } else { "\n" };
    format!("{}{gap}{}", doc.trim(), lines.concat())
}

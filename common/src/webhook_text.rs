//! The URL of a webhook and its secret.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;
use zeroize::Zeroizing;

use crate::inline_schema::inline_schema;
use crate::text::Invalid;

/// The URL of a receiver, `https` or `http`, in the form in which licd requests it. It may contain
/// a token, so events and log lines contain only its [`origin`](Self::origin).
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

const MAX_URL: usize = 2048;
const URL_RULE: &str =
    "an http or https URL of at most 2048 characters without a user, a password or a fragment";

impl WebhookUrl {
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the origin and the last four characters, because the rest may be a token. Returns
    /// only the origin if path and query have fewer than 12 characters.
    pub fn masked(&self) -> String {
        let rest = &self.0[url::Position::BeforePath..];
        let shown = if rest.len() < 12 { "" } else { &rest[rest.len() - 4..] };
        format!("{}/…{shown}", self.origin())
    }

    /// Returns scheme and host.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin())
    }
}

impl FromStr for WebhookUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let url = Url::parse(text).map_err(|_| Invalid(URL_RULE))?;
        let is_valid = matches!(url.scheme(), "https" | "http")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
            && url.as_str().len() <= MAX_URL;
        if is_valid { Ok(Self(url)) } else { Err(Invalid(URL_RULE)) }
    }
}

impl Serialize for WebhookUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for WebhookUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

inline_schema!(WebhookUrl, {
    "type": "string",
    "format": "uri",
    "maxLength": MAX_URL,
    "examples": ["https://example.com/licd"],
});

/// The secret of a webhook: 24 to 64 bytes, as text `whsec_` and base64. Like an API key, it has
/// no `Debug` or `Display`, so it cannot get into a log by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Zeroizing<Vec<u8>>);

const SECRET_MARK: &str = "whsec_";
const SECRET_RULE: &str = "whsec_ and 24 to 64 bytes in base64";
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

impl WebhookSecret {
    #[cfg(feature = "server")]
    #[expect(clippy::expect_used, reason = "without randomness no secret is safe to give out")]
    pub fn generate() -> Self {
        let mut bytes = Zeroizing::new(vec![0; *SECRET_LENGTHS.start()]);
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        Self(bytes)
    }

    /// Creates a secret from stored bytes.
    pub fn from_bytes(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }

    /// Returns the bytes that sign. The caller must not log or store them.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the secret as text. The caller must not log or store it.
    pub fn expose(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{SECRET_MARK}{}", *Zeroizing::new(STANDARD.encode(&*self.0))))
    }
}

impl FromStr for WebhookSecret {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let base64 = text.strip_prefix(SECRET_MARK).ok_or(Invalid(SECRET_RULE))?;
        let bytes = STANDARD_NO_PAD.decode(base64.trim_end_matches('='));
        let bytes = Zeroizing::new(bytes.map_err(|_| Invalid(SECRET_RULE))?);
        if SECRET_LENGTHS.contains(&bytes.len()) {
            Ok(Self(bytes))
        } else {
            Err(Invalid(SECRET_RULE))
        }
    }
}

impl Serialize for WebhookSecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.expose())
    }
}

impl<'de> Deserialize<'de> for WebhookSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::<String>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "server")]
impl schemars::JsonSchema for WebhookSecret {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WebhookSecret".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        // Whole groups, and the rest of a group, whose last character has bits that are always 0.
        let (group, one) = ("([A-Za-z0-9+/]{4})", "[A-Za-z0-9+/][AQgw](==)?");
        let two = "[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=?";
        let lengths = format!("({group}{{8,20}}({one}|{two})?|{group}{{21}}({one})?)");
        schemars::json_schema!({
            "type": "string",
            "pattern": format!("^whsec_{lengths}$"),
            "examples": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_in_the_form_in_which_it_is_asked() {
        for (given, taken) in [
            ("https://example.com", "https://example.com/"),
            ("HTTPS://Example.COM:443/a?b=c", "https://example.com/a?b=c"),
            ("http://0x7f.1:8080/", "http://127.0.0.1:8080/"),
            ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
            ("https://[::1]/", "https://[::1]/"),
        ] {
            assert_eq!(given.parse::<WebhookUrl>().unwrap().as_str(), taken);
        }
        let long = format!("https://example.com/{}", "a".repeat(2048));
        for refused in [
            "",
            "example.com",
            "ftp://example.com",
            "https://",
            "https://ada@example.com",
            "https://:secret@example.com",
            "https://example.com/#here",
            &long,
        ] {
            assert!(refused.parse::<WebhookUrl>().is_err(), "{refused}");
        }
        let url: WebhookUrl = "https://hooks.example/T0/secret?t=1".parse().unwrap();
        assert_eq!(format!("{url:?}"), "https://hooks.example");
    }

    #[test]
    fn what_may_be_a_token_is_masked() {
        for (url, masked) in [
            ("https://a.example/T0/secret?t=1", "https://a.example/…?t=1"),
            ("https://a.example:8443/0123456789ab", "https://a.example:8443/…89ab"),
            ("https://a.example/0123456789", "https://a.example/…"),
            ("https://a.example", "https://a.example/…"),
        ] {
            assert_eq!(url.parse::<WebhookUrl>().unwrap().masked(), masked);
        }
    }

    #[test]
    fn a_secret_is_taken_with_and_without_padding() {
        for length in [24, 25, 26, 32, 64] {
            let secret = WebhookSecret::from_bytes(Zeroizing::new(vec![7; length]));
            let text = secret.expose();
            assert!(text.parse::<WebhookSecret>().unwrap() == secret, "{length}");
            assert!(text.trim_end_matches('=').parse::<WebhookSecret>().unwrap() == secret);
        }
        for length in [0, 23, 65] {
            let secret = WebhookSecret::from_bytes(Zeroizing::new(vec![7; length]));
            assert!(secret.expose().parse::<WebhookSecret>().is_err(), "{length}");
        }
        for refused in ["", "whsec_", "whsec_ä", "sk_live_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
            assert!(refused.parse::<WebhookSecret>().is_err(), "{refused}");
        }
    }

    #[cfg(feature = "server")]
    #[test]
    fn secrets_differ() {
        assert!(WebhookSecret::generate() != WebhookSecret::generate());
        assert!(WebhookSecret::generate().expose().parse::<WebhookSecret>().is_ok());
    }
}

//! API keys: their records, and the secret itself.

use std::str::FromStr;

use chrono::Duration;
use serde::{Deserialize, Serialize, Serializer};
use zeroize::Zeroizing;

#[cfg(feature = "server")]
use crate::checked_text::checked_text;
use crate::checked_text::is_checked_text;
use crate::string_enum::string_enum;
use crate::{KeyId, Name, OverlapSeconds, TenantId, Timestamp};

string_enum! {
    /// Role of a key.
    Role {
        /// Validates users, claims licenses, gets leases and releases floating seats. The role for
        /// a key that you ship in an application.
        Validate = "validate",
        /// Reads everything and explains validations. Changes nothing.
        Read = "read",
        /// Reads and changes everything.
        Admin = "admin",
    }
}

string_enum! {
    /// Mode of a key: which of a tenant's two worlds it belongs to.
    Mode {
        Live = "live",
        Test = "test",
    }
}

/// The record of a key, without the key itself, because only its hash is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "server", schemars(rename = "Key"))]
pub struct Key<T = Role> {
    pub id: KeyId,
    pub name: Name,
    /// First 12 characters of the key.
    pub prefix: String,
    pub role: T,
    pub mode: Mode,
    pub created_at: Timestamp,
    /// Time from which the key is refused. Null if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// Time of the last use, with a delay of some seconds. Null if the key was never used.
    pub last_used_at: Option<Timestamp>,
    /// Time of the revocation. Null if the key is not revoked.
    pub revoked_at: Option<Timestamp>,
    /// Id of the key that created this one, by the API or in a session. Null if a command on the
    /// server's host created it.
    pub created_by: Option<KeyId>,
}

/// The body of a revocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeKey {
    /// Whether the keys that this key created, directly or through other keys, are revoked too.
    pub made: Option<bool>,
}

/// State of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    Valid,
    Expired,
    /// The key was revoked, even if it has expired since then.
    Revoked,
}

impl Key {
    /// Time without use after which a key is shown as unused.
    pub const LONG_UNUSED: Duration = Duration::days(90);
}

impl KeyState {
    /// Returns the state of a key with this time of revocation and this end.
    pub(crate) fn of(revoked: Option<Timestamp>, end: Option<Timestamp>, now: Timestamp) -> Self {
        match (revoked, end) {
            (Some(_), _) => Self::Revoked,
            (None, Some(end)) if end <= now => Self::Expired,
            (None, _) => Self::Valid,
        }
    }
}

impl<T> Key<T> {
    pub fn state(&self, now: Timestamp) -> KeyState {
        KeyState::of(self.revoked_at, self.expires_at, now)
    }

    /// Whether the key was not used for [`LONG_UNUSED`](Self::LONG_UNUSED), or not since its
    /// creation.
    pub fn is_long_unused(&self, now: Timestamp) -> bool {
        now.since(self.last_used_at.unwrap_or(self.created_at)) > Key::LONG_UNUSED
    }
}

/// The body of `POST /api/v1/admin/keys`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateKey {
    pub name: Name,
    pub role: Role,
    /// Mode. If absent, the mode of the calling key.
    pub mode: Option<Mode>,
    /// Expiry, in the future. If absent, the key does not expire.
    pub expires_at: Option<Timestamp>,
}

/// The body of `POST /api/v1/admin/keys/{id}/roll`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollKey {
    /// Seconds for which the old key stays valid. If absent, 86400 (a day).
    pub overlap_seconds: Option<OverlapSeconds>,
}

impl RollKey {
    /// Returns the old key after it is rolled at `now`. Without an overlap it is revoked, so that
    /// the clocks of other nodes cannot delay its end.
    pub fn retire(&self, key: Key, now: Timestamp) -> Key {
        match self.overlap_seconds {
            Some(seconds) if seconds.get() == 0 => Key { revoked_at: Some(now), ..key },
            _ => Key { expires_at: Some(self.end(now, key.expires_at)), ..key },
        }
    }

    /// Returns the time for which the old key stays valid.
    pub fn overlap(&self) -> Duration {
        let seconds = self.overlap_seconds.map(|seconds| Duration::seconds(seconds.get().into()));
        seconds.unwrap_or(Duration::days(1))
    }

    /// Returns the end of the old key: after the overlap, unless the key expires sooner.
    pub fn end(&self, now: Timestamp, expires_at: Option<Timestamp>) -> Timestamp {
        let end = now.plus(self.overlap());
        expires_at.map_or(end, |expiry| expiry.min(end))
    }
}

/// The record of a new key, with the key itself.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "server", schemars(rename = "CreatedKey"))]
pub struct CreatedKey<T = Role> {
    #[serde(flatten)]
    pub record: Key<T>,
    /// The key itself, which is not shown again.
    #[serde(serialize_with = "ApiKey::serialize_exposed")]
    #[cfg_attr(feature = "server", schemars(with = "String"))]
    pub key: ApiKey,
}

/// A tenant: one customer of the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
pub struct Tenant {
    pub id: TenantId,
    pub name: Name,
}

/// The response of `GET /api/v1/key`: the key of the request, and its tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "server", schemars(rename = "CurrentKey"))]
pub struct CurrentKey<T = Role> {
    pub id: KeyId,
    pub name: Name,
    pub prefix: String,
    pub role: T,
    pub mode: Mode,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub tenant: Tenant,
}

/// The text is not an API key. The error does not repeat it, because it may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an API key: sk_live_ or sk_test_ and 38 letters and digits, undamaged")]
pub struct MalformedKey;

/// An API key in the clear: `sk_live_` or `sk_test_`, 32 random letters and digits, and 6 more that
/// are the CRC-32 of everything before them, so that a damaged key is detected without a lookup.
///
/// `ApiKey` has no `Debug`, `Display` or `Serialize`, so it cannot get into a log by accident. Its
/// memory is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Zeroizing<String>);

const SECRET_LENGTH: usize = 32;
const SHOWN_LENGTH: usize = 12;

impl ApiKey {
    /// Generates a key from the system's source of randomness.
    #[cfg(feature = "server")]
    pub fn generate(mode: Mode) -> Self {
        Self(checked_text(mark(mode), SECRET_LENGTH))
    }

    /// Returns the key itself. The caller must not log or store it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the first 12 characters, which distinguish keys but are useless as a key.
    pub fn prefix(&self) -> &str {
        &self.0[..SHOWN_LENGTH]
    }

    pub fn mode(&self) -> Mode {
        if self.0.starts_with(mark(Mode::Live)) { Mode::Live } else { Mode::Test }
    }

    fn serialize_exposed<S: Serializer>(key: &Self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(key.expose())
    }
}

impl FromStr for ApiKey {
    type Err = MalformedKey;

    fn from_str(text: &str) -> Result<Self, MalformedKey> {
        let fits = |&mode: &Mode| is_checked_text(text, mark(mode), SECRET_LENGTH);
        if ![Mode::Live, Mode::Test].iter().any(fits) {
            return Err(MalformedKey);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }
}

impl<'de> Deserialize<'de> for ApiKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::<String>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn mark(mode: Mode) -> &'static str {
    match mode {
        Mode::Live => "sk_live_",
        Mode::Test => "sk_test_",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checked_text::checksum;

    const KNOWN: &str = "sk_live_00000000000000000000000000000000";

    #[test]
    fn takes_a_key_whose_checksum_fits_and_no_other() {
        let key = format!("{KNOWN}{}", checksum(KNOWN));
        assert!(key.parse::<ApiKey>().is_ok());
        for at in 0..key.len() {
            let mut damaged = key.clone().into_bytes();
            damaged[at] = if damaged[at] == b'1' { b'2' } else { b'1' };
            let damaged = String::from_utf8(damaged).unwrap();
            assert!(damaged.parse::<ApiKey>().is_err(), "{damaged}");
        }
        for text in ["", "sk_live_", KNOWN, &format!("{key}0"), &key.replace("0000", "é00")] {
            assert!(text.parse::<ApiKey>().is_err(), "{text}");
        }
    }

    #[cfg(feature = "server")]
    #[test]
    fn makes_keys_that_it_takes_and_that_differ() {
        for mode in [Mode::Live, Mode::Test] {
            let key = ApiKey::generate(mode);
            assert!(key.expose().parse::<ApiKey>().is_ok());
            assert_eq!(key.mode(), mode);
            assert_eq!(key.prefix().len(), 12);
            assert!(key != ApiKey::generate(mode));
        }
    }

    proptest! {
        #[test]
        fn takes_any_letters_and_digits_with_their_checksum(
            signed in "sk_(live|test)_[0-9A-Za-z]{32}",
        ) {
            let key = format!("{signed}{}", checksum(&signed));
            let parsed = key.parse::<ApiKey>().map_err(|error| error.to_string()).unwrap();
            prop_assert_eq!(parsed.expose(), &key);
            prop_assert_eq!(parsed.prefix(), &key[..12]);
        }

        #[test]
        fn takes_no_other_text(text in "\\PC*|sk_(live|test)_[0-9A-Za-z]{0,40}\\PC{0,4}") {
            if let Ok(key) = text.parse::<ApiKey>() {
                prop_assert_eq!(key.expose(), &text);
                prop_assert_eq!(checksum(&text[..40]), &text[40..]);
            }
        }
    }
}

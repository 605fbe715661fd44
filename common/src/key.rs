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
    /// What a key may do.
    Role, "one of validate, read, admin" {
        /// Validates users and nothing else. The role to ship in an application.
        Validate = "validate",
        /// Reads everything and explains; changes nothing.
        Read = "read",
        /// Everything.
        Admin = "admin",
    }
}

string_enum! {
    /// Which of a tenant's two separate worlds a key opens.
    Mode, "one of live, test" {
        Live = "live",
        Test = "test",
    }
}

/// The record of a key, without the key itself, of which only a hash is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "server", schemars(rename = "Key"))]
pub struct Key<T = Role> {
    pub id: KeyId,
    pub name: Name,
    /// The first 12 characters of the key.
    pub prefix: String,
    pub role: T,
    pub mode: Mode,
    pub created_at: Timestamp,
    /// The time from which the key is refused; null: no expiry.
    pub expires_at: Option<Timestamp>,
    /// The time of the last use, some seconds late; null: never used.
    pub last_used_at: Option<Timestamp>,
    /// The time of the revocation; null: not revoked.
    pub revoked_at: Option<Timestamp>,
    /// The key that created this one, itself or in a session of the dashboard; null: a command on
    /// the server's host created it.
    pub created_by: Option<KeyId>,
}

/// The body of a revocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokeKey {
    /// Also revokes the keys that this key created, and those that they created in turn.
    pub made: Option<bool>,
}

/// Whether a key can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    Valid,
    Expired,
    /// Whether or not it would have expired since.
    Revoked,
}

impl Key {
    /// A key unused for this long is flagged as stale.
    pub const LONG_UNUSED: Duration = Duration::days(90);
}

impl KeyState {
    /// The state of a key that was revoked then, or expires then.
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

    /// Whether it was not used for that long; one that was never used counts from when it was made.
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
    /// The mode; absent: that of the calling key.
    pub mode: Option<Mode>,
    /// In the future; absent: the key does not expire.
    pub expires_at: Option<Timestamp>,
}

/// The body of `POST /api/v1/admin/keys/{id}/roll`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollKey {
    /// How long the old key is still valid, in seconds; absent: 86400, which is a day.
    pub overlap_seconds: Option<OverlapSeconds>,
}

impl RollKey {
    /// The old key once it is rolled at `now`. Without an overlap it is revoked, which no clock of
    /// another node can delay.
    pub fn retire(&self, key: Key, now: Timestamp) -> Key {
        match self.overlap_seconds {
            Some(seconds) if seconds.get() == 0 => Key { revoked_at: Some(now), ..key },
            _ => Key { expires_at: Some(self.end(now, key.expires_at)), ..key },
        }
    }

    /// How long the old key is still valid.
    pub fn overlap(&self) -> Duration {
        let seconds = self.overlap_seconds.map(|seconds| Duration::seconds(seconds.get().into()));
        seconds.unwrap_or(Duration::days(1))
    }

    /// When the old key ends that is rolled at `now`: after the overlap, unless it expires sooner.
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
    /// The key itself. It is not shown again.
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

/// The answer of `GET /api/v1/key`: the key of the request, and its tenant.
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

/// The text is no API key. It is not repeated, as it may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an API key: sk_live_ or sk_test_ and 38 letters and digits, undamaged")]
pub struct MalformedKey;

/// An API key in the clear: `sk_live_` or `sk_test_`, 32 random letters and digits, and 6 more that
/// are the CRC-32 of all before them, so that a damaged key is recognized without a look-up.
///
/// It has neither `Debug` nor `Display` nor `Serialize`, so that it reaches no log by accident.
/// When it is dropped, its memory is overwritten.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Zeroizing<String>);

const SECRET_LENGTH: usize = 32;
const SHOWN_LENGTH: usize = 12;

impl ApiKey {
    /// Makes a key from the system's source of randomness.
    #[cfg(feature = "server")]
    pub fn generate(mode: Mode) -> Self {
        Self(checked_text(mark(mode), SECRET_LENGTH))
    }

    /// The key itself. Whoever calls this sees to it that it goes nowhere else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The first 12 characters: enough to tell keys apart, useless as a key.
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

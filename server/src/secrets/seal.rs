//! How a secret is sealed: with AES-256-GCM, and a key that HKDF-SHA256 derives for this one value
//! from a line of the file and a random salt. A value opens in its own place alone.
//!
//! A sealed value is a byte for the version, 4 for the id of the line, 32 of salt, and the encrypted
//! secret with its tag of 16.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use zeroize::Zeroizing;

const VERSION: u8 = 1;
const ID_LENGTH: usize = 4;
const SALT_LENGTH: usize = 32;
const INFO: &[&[u8]] = &[b"licd v1"];

/// The mark of a line, and how many random characters it has.
const MARK: &str = "licdsk_";
const RANDOM: usize = 43;

/// The first four bytes of the SHA-256 of a secret key, which tell keys apart and give nothing away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretKeyId([u8; ID_LENGTH]);

impl fmt::Display for SecretKeyId {
    /// In lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Where a sealed value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub table: &'static str,
    pub column: &'static str,
    pub world: i32,
    pub row: Uuid,
}

impl Place {
    fn associated(&self) -> Aad<String> {
        let Self { table, column, world, row } = self;
        Aad::from(format!("{table}/{column}/{world}/{}", row.simple()))
    }
}

/// A line of the file. Like an API key it reaches no log by accident.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<String>);

impl SecretKey {
    pub fn generate() -> Self {
        Self(common::checked_text(MARK, RANDOM))
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        common::is_checked_text(line, MARK, RANDOM).then(|| Self(Zeroizing::new(line.to_owned())))
    }

    /// The key itself. Whoever calls this sees to it that it goes nowhere else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn id(&self) -> SecretKeyId {
        let hash: [u8; 32] = Sha256::digest(self.0.as_bytes()).into();
        SecretKeyId([hash[0], hash[1], hash[2], hash[3]])
    }

    /// The key for one value, which is used once: so no nonce is used twice.
    fn derive(&self, salt: &[u8]) -> Option<(LessSafeKey, Nonce)> {
        let derived = Salt::new(HKDF_SHA256, salt).extract(self.0.as_bytes());
        let key = UnboundKey::from(derived.expand(INFO, &AES_256_GCM).ok()?);
        Some((LessSafeKey::new(key), Nonce::assume_unique_for_key([0; NONCE_LEN])))
    }

    /// None only if the system gives no random bytes.
    pub(super) fn seal(&self, secret: &[u8], place: &Place) -> Option<Vec<u8>> {
        let mut salt = [0; SALT_LENGTH];
        getrandom::fill(&mut salt).ok()?;
        let (key, nonce) = self.derive(&salt)?;
        // It grows by the tag, and a buffer that moves leaves the secret behind.
        let mut text = Vec::with_capacity(secret.len() + AES_256_GCM.tag_len());
        text.extend(secret);
        key.seal_in_place_append_tag(nonce, place.associated(), &mut text).ok()?;
        Some([&[VERSION][..], &self.id().0, &salt, &text].concat())
    }

    /// None if it was sealed for another place, or is damaged.
    pub(super) fn open(&self, sealed: &[u8], place: &Place) -> Option<Zeroizing<Vec<u8>>> {
        let (salt, text) = sealed.get(1 + ID_LENGTH..)?.split_at_checked(SALT_LENGTH)?;
        let (key, nonce) = self.derive(salt)?;
        let mut text = Zeroizing::new(text.to_vec());
        let length = key.open_in_place(nonce, place.associated(), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

/// The id of the key that a value was sealed with; none if it is no sealed value.
pub fn key_of(sealed: &[u8]) -> Option<SecretKeyId> {
    let id = sealed.strip_prefix(&[VERSION])?.first_chunk()?;
    Some(SecretKeyId(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { table: "webhooks", column: "secrets", world: 1, row: Uuid::from_u128(7) }
    }

    #[test]
    fn what_is_sealed_opens_in_its_place_alone() {
        let key = SecretKey::generate();
        let sealed = key.seal(b"a secret", &place()).unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"a secret"));
        assert_eq!(key_of(&sealed), Some(key.id()));
        assert_eq!(&**key.open(&sealed, &place()).unwrap(), b"a secret");
        assert_ne!(key.seal(b"a secret", &place()).unwrap(), sealed, "each has its own salt");
        for other in [
            Place { table: "signing_keys", ..place() },
            Place { column: "url", ..place() },
            Place { world: 2, ..place() },
            Place { row: Uuid::from_u128(8), ..place() },
        ] {
            assert!(key.open(&sealed, &other).is_none(), "{other:?}");
        }
        assert!(SecretKey::generate().open(&sealed, &place()).is_none());
    }

    #[test]
    fn what_is_damaged_does_not_open() {
        let key = SecretKey::generate();
        let sealed = key.seal(b"", &place()).unwrap();
        for at in 1 + ID_LENGTH..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert!(key.open(&damaged, &place()).is_none(), "{at}");
        }
        for length in 0..sealed.len() {
            assert!(key.open(&sealed[..length], &place()).is_none(), "{length}");
        }
        assert_eq!(key_of(&[]), None);
        assert_eq!(key_of(&[2, 0, 0, 0, 0]), None);
    }

    #[test]
    fn a_line_is_a_key_only_if_it_is_undamaged() {
        let line = SecretKey::generate();
        assert_eq!(line.expose().len(), "licdsk_".len() + 43 + 6);
        assert_eq!(SecretKey::parse(line.expose()).unwrap().id(), line.id());
        let cut = &line.expose()[..line.expose().len() - 1];
        for text in ["", "licdsk_", cut, "sk_live_0"] {
            assert!(SecretKey::parse(text).is_none(), "{text}");
        }
    }
}

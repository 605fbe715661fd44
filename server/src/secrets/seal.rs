//! The format of sealed values. HKDF-SHA256 derives a key for each value from a secret key and a
//! random salt, and AES-256-GCM encrypts the value. A value opens only in its own table, column,
//! world and row.
//!
//! A sealed value consists of a version (1 byte), the id of the secret key (4), the salt (32), and
//! the encrypted secret with its authentication tag (16).

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

/// Prefix of a secret key, and the number of random characters that follow.
const PREFIX: &str = "licdsk_";
const RANDOM: usize = 43;

/// Id of a secret key: the first four bytes of its SHA-256, which reveal nothing about the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretKeyId([u8; ID_LENGTH]);

impl fmt::Display for SecretKeyId {
    /// Formats the id as lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Place where a sealed value is stored. The value opens only in the same context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealContext {
    pub table: &'static str,
    pub column: &'static str,
    pub world: i32,
    pub row: Uuid,
}

impl SealContext {
    fn associated_data(&self) -> Aad<String> {
        let Self { table, column, world, row } = self;
        Aad::from(format!("{table}/{column}/{world}/{}", row.simple()))
    }
}

/// A secret key. It has no `Debug` or `Display`, so it cannot get into a log by accident.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<String>);

impl SecretKey {
    pub fn generate() -> Self {
        Self(common::checked_text(PREFIX, RANDOM))
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        common::is_checked_text(line, PREFIX, RANDOM).then(|| Self(Zeroizing::new(line.to_owned())))
    }

    /// Returns the key as text. The caller must not log or store it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn id(&self) -> SecretKeyId {
        let hash: [u8; 32] = Sha256::digest(self.0.as_bytes()).into();
        SecretKeyId([hash[0], hash[1], hash[2], hash[3]])
    }

    /// Derives the key for one value. It encrypts only once, so the nonce can be constant.
    fn derive(&self, salt: &[u8]) -> Option<(LessSafeKey, Nonce)> {
        let derived = Salt::new(HKDF_SHA256, salt).extract(self.0.as_bytes());
        let key = UnboundKey::from(derived.expand(INFO, &AES_256_GCM).ok()?);
        Some((LessSafeKey::new(key), Nonce::assume_unique_for_key([0; NONCE_LEN])))
    }

    /// Seals a secret. `None` only if the system provides no random bytes.
    pub(super) fn seal(&self, secret: &[u8], context: &SealContext) -> Option<Vec<u8>> {
        let mut salt = [0; SALT_LENGTH];
        getrandom::fill(&mut salt).ok()?;
        let (key, nonce) = self.derive(&salt)?;
        // Room for the tag, because a buffer that is reallocated leaves a copy of the secret in
        // memory.
        let mut text = Vec::with_capacity(secret.len() + AES_256_GCM.tag_len());
        text.extend(secret);
        key.seal_in_place_append_tag(nonce, context.associated_data(), &mut text).ok()?;
        Some([&[VERSION][..], &self.id().0, &salt, &text].concat())
    }

    /// None if it was sealed for another context, or is damaged.
    pub(super) fn open(&self, sealed: &[u8], context: &SealContext) -> Option<Zeroizing<Vec<u8>>> {
        let (salt, text) = sealed.get(1 + ID_LENGTH..)?.split_at_checked(SALT_LENGTH)?;
        let (key, nonce) = self.derive(salt)?;
        let mut text = Zeroizing::new(text.to_vec());
        let length = key.open_in_place(nonce, context.associated_data(), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

/// Returns the id of the key that sealed a value. `None` if it is not a sealed value.
pub fn key_of(sealed: &[u8]) -> Option<SecretKeyId> {
    let id = sealed.strip_prefix(&[VERSION])?.first_chunk()?;
    Some(SecretKeyId(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal_context() -> SealContext {
        SealContext { table: "webhooks", column: "secrets", world: 1, row: Uuid::from_u128(7) }
    }

    #[test]
    fn a_sealed_value_opens_only_in_its_context() {
        let key = SecretKey::generate();
        let sealed = key.seal(b"a secret", &seal_context()).unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"a secret"));
        assert_eq!(key_of(&sealed), Some(key.id()));
        assert_eq!(&**key.open(&sealed, &seal_context()).unwrap(), b"a secret");
        assert_ne!(
            key.seal(b"a secret", &seal_context()).unwrap(),
            sealed,
            "each has its own salt"
        );
        for other in [
            SealContext { table: "signing_keys", ..seal_context() },
            SealContext { column: "url", ..seal_context() },
            SealContext { world: 2, ..seal_context() },
            SealContext { row: Uuid::from_u128(8), ..seal_context() },
        ] {
            assert!(key.open(&sealed, &other).is_none(), "{other:?}");
        }
        assert!(SecretKey::generate().open(&sealed, &seal_context()).is_none());
    }

    #[test]
    fn a_damaged_value_does_not_open() {
        let key = SecretKey::generate();
        let sealed = key.seal(b"", &seal_context()).unwrap();
        for at in 1 + ID_LENGTH..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert!(key.open(&damaged, &seal_context()).is_none(), "{at}");
        }
        for length in 0..sealed.len() {
            assert!(key.open(&sealed[..length], &seal_context()).is_none(), "{length}");
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

//! Signing keys: licd signs leases with them, and applications verify leases.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{Invalid, SigningKeyId, Timestamp};

string_enum! {
    /// State of a signing key.
    SigningKeyState {
        /// The next rotation makes it active.
        Standby = "standby",
        /// licd signs leases with it.
        Active = "active",
        /// licd no longer signs with it. Leases that it has signed are still valid.
        Retired = "retired",
    }
}

/// A point of P-256 in the 65 bytes of X9.62: a 4, then both coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; 65]);

impl PublicKey {
    pub fn octets(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<Vec<u8>> for PublicKey {
    type Error = Invalid;

    fn try_from(octets: Vec<u8>) -> Result<Self, Invalid> {
        let octets: Option<[u8; 65]> = octets.try_into().ok();
        octets.filter(|octets| octets[0] == 4).map(Self).ok_or(Invalid("a point of P-256"))
    }
}

/// A public key as a JSON Web Key (RFC 7517), for ES256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Jwk {
    /// Always `EC`.
    pub kty: String,
    /// Always `P-256`.
    pub crv: String,
    /// First coordinate, 32 bytes in base64url.
    pub x: String,
    pub y: String,
    /// Thumbprint of RFC 7638, which is in the header of each lease.
    pub kid: String,
    /// Always `sig`.
    #[serde(rename = "use")]
    pub usage: String,
    /// Always `ES256`.
    pub alg: String,
}

impl Jwk {
    /// Returns the JSON Web Key of a public key.
    pub fn of(key: &PublicKey) -> Self {
        let (x, y) = key.0[1..].split_at(32);
        let [x, y] = [x, y].map(|octets| URL_SAFE_NO_PAD.encode(octets));
        // The members of RFC 7638, in its order, without spaces.
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        let kid = URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()));
        let [kty, crv, usage, alg] = ["EC", "P-256", "sig", "ES256"].map(str::to_owned);
        Self { kty, crv, x, y, kid, usage, alg }
    }

    /// Returns the public key. `None` if it has another purpose or is malformed.
    pub fn public_key(&self) -> Option<PublicKey> {
        let octets = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        let key = [vec![4], octets(&self.x)?, octets(&self.y)?].concat().try_into().ok()?;
        (*self == Self::of(&key)).then_some(key)
    }
}

/// A signing key of one mode of a tenant. Applications embed the whole set, so that they accept
/// leases that any of them has signed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "server", schemars(rename = "SigningKey"))]
#[serde(rename_all = "camelCase")]
pub struct SigningKey<S = SigningKeyState> {
    pub id: SigningKeyId,
    pub state: S,
    /// Time of creation. Applications that were built before do not know the key.
    pub created_at: Timestamp,
    /// Time of retirement. Null unless the key is retired.
    pub retired_at: Option<Timestamp>,
    pub jwk: Jwk,
}

/// Signing keys that are not retired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "server", schemars(rename = "SigningKeys"))]
pub struct SigningKeys<S = SigningKeyState> {
    /// Active key, which signs from now on. Applications that were built before its `createdAt`
    /// refuse its leases.
    pub active: SigningKey<S>,
    pub standby: SigningKey<S>,
}

/// The body of `POST /api/v1/admin/signing-keys/rotate`, with exactly one member.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RotateSigningKeys {
    /// Id of the standby key, which becomes active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standby: Option<SigningKeyId>,
    /// Whether both keys are replaced because the secret key is lost. Applications that were built
    /// before then refuse all new leases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abandon: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Coordinates from RFC 7515, appendix A.3.
    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";

    fn key() -> PublicKey {
        let octets = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        [vec![4], octets(X), octets(Y)].concat().try_into().unwrap()
    }

    #[test]
    fn a_key_reads_back_from_its_jwk() {
        let jwk = Jwk::of(&key());
        assert_eq!((&*jwk.x, &*jwk.y), (X, Y));
        assert_eq!(jwk.public_key(), Some(key()));
        // Computed with Python's hashlib.
        assert_eq!(jwk.kid, "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U");
    }

    #[test]
    fn coordinates_keep_their_leading_zeros() {
        let mut key = key();
        key.0[1] = 0;
        let jwk = Jwk::of(&key);
        assert_eq!(jwk.x.len(), 43);
        assert_eq!(jwk.public_key(), Some(key));
    }

    #[test]
    fn a_key_for_something_else_is_none() {
        let jwk = Jwk::of(&key());
        let wrong = [
            Jwk { kid: "another".into(), ..jwk.clone() },
            Jwk { alg: "none".into(), ..jwk.clone() },
            Jwk { x: jwk.x[..42].into(), ..jwk.clone() },
            Jwk { x: jwk.y.clone(), ..jwk.clone() },
        ];
        for jwk in wrong {
            assert_eq!(jwk.public_key(), None, "{jwk:?}");
        }
    }
}

//! The text of a lease: a compact JWS (RFC 7515) with ES256, which common libraries can verify.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{
    DeviceName, ExternalId, Features, Jwk, LeaseId, LicenseId, Mode, PlanId, ProductId, TenantId,
    Timestamp,
};

const ALGORITHM: &str = "ES256";
const TYPE: &str = "licd-lease+jwt";

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    typ: String,
    kid: String,
}

/// Claims of a lease, with the names of RFC 7519 where it has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseClaims {
    pub iss: TenantId,
    pub mode: Mode,
    /// External id of the user.
    pub sub: ExternalId,
    pub aud: ProductId,
    pub jti: LeaseId,
    /// Time of issue, and end, in seconds since 1970.
    pub iat: i64,
    pub exp: i64,
    pub license_id: LicenseId,
    pub plan_id: PlanId,
    pub features: Features,
    pub license_expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceName>,
}

/// Reason why a text is not a lease that one of the keys signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotALease {
    #[error("it is not a lease: not three parts in base64url, or not the claims of a lease")]
    Malformed,
    #[error("it is not a lease: its algorithm or its type is another")]
    OfAnotherKind,
    #[error("the key that signed it, {0}, is not among the given ones")]
    UnknownKey(String),
    #[error("its signature is wrong: it was changed, or another key signed it")]
    WrongSignature,
}

impl LeaseClaims {
    /// Seconds past its end for which verifiers accept a lease, because clocks differ.
    pub const TOLERANCE: i64 = 300;

    /// Returns the text without its signature.
    pub fn unsigned(&self, kid: &str) -> Result<String, serde_json::Error> {
        let [alg, typ, kid] = [ALGORITHM, TYPE, kid].map(str::to_owned);
        let header = serde_json::to_vec(&Header { alg, typ, kid })?;
        let [header, claims] =
            [header, serde_json::to_vec(self)?].map(|part| URL_SAFE_NO_PAD.encode(part));
        Ok(format!("{header}.{claims}"))
    }

    /// Returns the whole text. The signature has 64 bytes, as in RFC 7518.
    pub fn signed(unsigned: &str, signature: &[u8]) -> String {
        format!("{unsigned}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Returns the claims of a lease that one of `keys` signed. The caller must check user,
    /// product, device and end.
    pub fn verify(text: &str, keys: &[Jwk]) -> Result<Self, NotALease> {
        let (signed, signature) = text.rsplit_once('.').ok_or(NotALease::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(NotALease::Malformed)?;
        let header: Header = part(header)?;
        if header.alg != ALGORITHM || header.typ != TYPE {
            return Err(NotALease::OfAnotherKind);
        }
        let key = keys.iter().find(|key| key.kid == header.kid).and_then(Jwk::public_key);
        let key = key.ok_or(NotALease::UnknownKey(header.kid))?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| NotALease::Malformed)?;
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.octets())
            .verify(signed.as_bytes(), &signature)
            .map_err(|_| NotALease::WrongSignature)?;
        part(claims)
    }
}

fn part<T: DeserializeOwned>(text: &str) -> Result<T, NotALease> {
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| NotALease::Malformed)?;
    serde_json::from_slice(&json).map_err(|_| NotALease::Malformed)
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, KeyPair,
    };

    use super::*;

    fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(kind: &str) -> T {
        format!("{kind}_01h455vb4pex5vsknk084sn02q").parse().unwrap()
    }

    fn claims() -> LeaseClaims {
        LeaseClaims {
            iss: id("ten"),
            mode: Mode::Live,
            sub: "ada".parse().unwrap(),
            aud: id("prd"),
            jti: id("lea"),
            iat: 1_801_483_200,
            exp: 1_804_075_200,
            license_id: id("lic"),
            plan_id: id("pln"),
            features: Features::default(),
            license_expires_at: None,
            device: Some("desk".parse().unwrap()),
        }
    }

    fn document() -> Vec<u8> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap().as_ref().to_vec()
    }

    fn pair_of(algorithm: &'static EcdsaSigningAlgorithm, document: &[u8]) -> EcdsaKeyPair {
        EcdsaKeyPair::from_pkcs8(algorithm, document, &SystemRandom::new()).unwrap()
    }

    fn jwk(pair: &EcdsaKeyPair) -> Jwk {
        Jwk::of(&pair.public_key().as_ref().to_vec().try_into().unwrap())
    }

    fn pair() -> (EcdsaKeyPair, Jwk) {
        let pair = pair_of(&ECDSA_P256_SHA256_FIXED_SIGNING, &document());
        let key = jwk(&pair);
        (pair, key)
    }

    fn sign(pair: &EcdsaKeyPair, text: &str) -> String {
        let signature = pair.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        LeaseClaims::signed(text, signature.as_ref())
    }

    #[test]
    fn a_signed_lease_reads_back_and_no_changed_one_does() {
        let (pair, key) = pair();
        let text = sign(&pair, &claims().unsigned(&key.kid).unwrap());
        let keys = [self::pair().1, key];
        assert_eq!(LeaseClaims::verify(&text, &keys), Ok(claims()));
        for at in 0..text.len() {
            for other in [b'A', b'_', b'.', b'='] {
                let mut changed = text.clone().into_bytes();
                if changed[at] != other {
                    changed[at] = other;
                    let changed = String::from_utf8(changed).unwrap();
                    assert!(LeaseClaims::verify(&changed, &keys).is_err(), "{at}: {changed}");
                }
            }
        }
        for length in 0..text.len() {
            assert!(LeaseClaims::verify(&text[..length], &keys).is_err(), "{length}");
        }
    }

    #[test]
    fn the_header_decides_nothing() {
        let (pair, key) = pair();
        let claims = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims()).unwrap());
        let keys = [key.clone()];
        for (alg, typ) in [("none", TYPE), ("HS256", TYPE), ("ES384", TYPE), (ALGORITHM, "JWT")] {
            let header = format!(r#"{{"alg":"{alg}","typ":"{typ}","kid":"{}"}}"#, key.kid);
            let text = sign(&pair, &format!("{}.{claims}", URL_SAFE_NO_PAD.encode(header)));
            assert_eq!(LeaseClaims::verify(&text, &keys), Err(NotALease::OfAnotherKind), "{alg}");
        }
    }

    #[test]
    fn a_signature_is_of_this_key_and_in_this_form() {
        let document = document();
        let pair = pair_of(&ECDSA_P256_SHA256_FIXED_SIGNING, &document);
        let key = jwk(&pair);
        let text = claims().unsigned(&key.kid).unwrap();
        let (keys, wrong) = ([key], Err(NotALease::WrongSignature));
        let zeros = LeaseClaims::signed(&text, &[0; 64]);
        assert_eq!(LeaseClaims::verify(&zeros, &keys), wrong);
        assert_eq!(LeaseClaims::verify(&sign(&self::pair().0, &text), &keys), wrong);
        assert_eq!(LeaseClaims::verify(&format!("{text}."), &keys), wrong);
        let der = pair_of(&ECDSA_P256_SHA256_ASN1_SIGNING, &document);
        assert_eq!(LeaseClaims::verify(&sign(&der, &text), &keys), wrong, "in DER");
        let unknown = claims().unsigned("another").unwrap();
        let unknown = LeaseClaims::verify(&sign(&pair, &unknown), &keys);
        assert_eq!(unknown, Err(NotALease::UnknownKey("another".to_owned())));
    }
}

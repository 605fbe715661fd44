//! Signatures of Standard Webhooks 1.0.0, so that receivers can use its libraries: `v1,` and, in
//! base64, HMAC-SHA256 over the id, the time of the attempt in seconds, and the body, joined by
//! full stops.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac::{self, Context, HMAC_SHA256};
use zeroize::Zeroizing;

use crate::{ApiKey, WebhookSecret};

/// Returns the header `webhook-signature`: a signature for each secret, separated by spaces,
/// because there are several during a roll. The timestamp is in seconds.
pub fn sign_webhook(secrets: &[WebhookSecret], id: &str, timestamp: u64, body: &[u8]) -> String {
    let signed = secrets.iter().map(|secret| {
        let mut context = Context::with_key(&hmac::Key::new(HMAC_SHA256, secret.bytes()));
        context.update(format!("{id}.{timestamp}.").as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    });
    signed.collect::<Vec<_>>().join(" ")
}

impl WebhookSecret {
    /// Returns the secret for a receiver on the machine of the key's user. It is the same each
    /// time, so that the receiver is set up once.
    pub fn of_key(key: &ApiKey) -> Self {
        let key = hmac::Key::new(HMAC_SHA256, key.expose().as_bytes());
        let tag = hmac::sign(&key, b"the secret of licctl webhooks listen");
        Self::from_bytes(Zeroizing::new(tag.as_ref().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example of the specification.
    #[test]
    fn signs_as_the_specification_does() {
        let secret: WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let body = br#"{"test": 2432232314}"#;
        let sign = |secrets: &[WebhookSecret]| {
            sign_webhook(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)
        };
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(sign(std::slice::from_ref(&secret)), expected);
        let other = WebhookSecret::generate();
        let both = sign(&[other, secret]);
        assert!(
            both.ends_with(&format!(" {expected}")) && both.matches("v1,").count() == 2,
            "{both}"
        );
    }
}

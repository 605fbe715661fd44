//! Signatures by Standard Webhooks 1.0.0, so that receivers can use its libraries: `v1,` and, in
//! base64, HMAC-SHA256 over the id, the second of the attempt, and the body, joined by full stops.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::WebhookSecret;
use ring::hmac::{Context, HMAC_SHA256, Key};

/// One signature for each secret, separated by spaces: during a roll there are several.
pub fn sign(secrets: &[WebhookSecret], id: &str, timestamp: u64, body: &[u8]) -> String {
    let signed = secrets.iter().map(|secret| {
        let mut context = Context::with_key(&Key::new(HMAC_SHA256, secret.bytes()));
        context.update(format!("{id}.{timestamp}.").as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    });
    signed.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn signs_as_the_specification_does() {
        let secret: WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let body = br#"{"test": 2432232314}"#;
        let sign = |secrets: &[WebhookSecret]| {
            sign(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)
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

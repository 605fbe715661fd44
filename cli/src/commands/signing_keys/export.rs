//! `licctl signing-keys export`: the set that applications embed, in the forms that libraries read.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use serde_json::json;

use crate::client::SigningKey;
use crate::commands::prelude::*;

/// Bytes before a point of P-256 in a SubjectPublicKeyInfo (RFC 5480).
const SPKI_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Print the public keys for your application to embed
///
/// Embed them when you build it. Keys that it fetches when it runs, or reads from a file or a
/// setting, are no check at all.
#[derive(Args)]
pub struct ExportArgs {
    /// The form: JSON Web Keys, PEM blocks, or an array for C
    #[arg(long, value_enum, default_value = "jwks")]
    format: Form,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Jwks,
    Pem,
    C,
}

pub async fn run(ctx: &Context, args: ExportArgs) -> Result<View> {
    let keys = ctx.client().await?.signing_keys().list(Query::default()).await?;
    if keys.is_empty() {
        return Err(Error::not_found("There are no signing keys yet.")
            .fix("run licctl signing-keys create"));
    }
    match args.format {
        Form::Jwks => {
            let all: Vec<_> = keys.iter().map(|key| &key.jwk).collect();
            Ok(View::new(json!({ "keys": all }), Vec::new())?.json_only())
        }
        Form::Pem => keys.iter().map(pem).collect::<Result<String>>().map(View::text),
        Form::C => {
            let all = keys.iter().map(c).collect::<Result<String>>()?;
            Ok(View::text(format!(
                "static const unsigned char licd_signing_keys[][65] = {{\n{all}}};\n"
            )))
        }
    }
}

fn octets(key: &SigningKey) -> Result<Vec<u8>> {
    let octets = key.jwk.public_key().map(|key| key.octets().to_vec());
    octets.ok_or_else(|| Error::internal(format!("{} is no key for ES256.", key.id)))
}

fn pem(key: &ApiRecord<SigningKey>) -> Result<String> {
    let encoded = STANDARD.encode([&SPKI_HEAD[..], &octets(key)?].concat());
    let (first, second) = encoded.split_at(64);
    let kid = &key.jwk.kid;
    Ok(format!("{kid}\n-----BEGIN PUBLIC KEY-----\n{first}\n{second}\n-----END PUBLIC KEY-----\n"))
}

fn c(key: &ApiRecord<SigningKey>) -> Result<String> {
    let mut text = format!("    /* {} */\n    {{", key.jwk.kid);
    for (at, octet) in octets(key)?.iter().enumerate() {
        let space = if at % 13 == 0 { "\n        " } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{space}0x{octet:02x},");
    }
    Ok(text + "\n    },\n")
}
